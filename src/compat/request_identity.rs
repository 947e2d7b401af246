//! The identity of a request without an idempotency key.

use super::expiring_queue::OwnedByKey;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::request::Fingerprint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestIdentity {
    pub key: KeyId,
    pub fingerprint: Fingerprint,
}

impl OwnedByKey for RequestIdentity {
    fn owner(&self) -> KeyId {
        self.key
    }
}
