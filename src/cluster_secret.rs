//! Keys that all nodes of a cluster derive from the secret they share.

use crate::config::Secret;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Derives a key for one purpose from the cluster secret: HMAC-SHA256 (RFC 2104) of the purpose's name.
pub fn derive_key(secret: &Secret, purpose: &str) -> [u8; 32] {
    let keyed = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes());
    let mut keyed = keyed.expect("HMAC takes a key of any length");
    keyed.update(b"tintype ");
    keyed.update(purpose.as_bytes());
    keyed.finalize().into_bytes().into()
}
