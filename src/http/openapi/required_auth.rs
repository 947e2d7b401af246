//! The credentials that a path requires.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredAuth {
    None,
    ApiKey,
    AdminToken,
}
