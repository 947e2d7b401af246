//! The credentials that a path asks for.

/// Who may call a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Nobody.
    Anyone,
    /// Clients, by an API key.
    Client,
    /// The operator, by the token.
    Operator,
}
