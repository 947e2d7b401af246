//! Why the address gate refuses an address.

/// The refusal of an address.
///
/// The text contains no address and no range, so that callers cannot learn what a name resolves to inside the operator's network. The
/// fields are for the operator's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address is not a public one")]
pub struct RefusedAddress {
    /// The purpose of the refused range, for example `loopback`.
    pub purpose: &'static str,
    /// The document that reserves the range, for example `RFC 1122`.
    pub authority: &'static str,
}
