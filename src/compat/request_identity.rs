//! The identity of a request without an idempotency key.

use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::request::Fingerprint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIdentity {
    pub key: KeyId,
    pub fingerprint: Fingerprint,
}
