//! Where a restored or imported service finds the key that decrypts its webhook secrets.

use tintype_storage::store::{Store, StoreError};

/// For records whose [`VaultKeySource`] is the cluster secret.
pub const CLUSTER_SECRET_ADVICE: &str = "the webhook secrets are encrypted with the TINTYPE_SECRET of the nodes that these records come from: \
     start the server with this environment variable";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaultKeySource {
    /// `TINTYPE_SECRET` of the nodes that wrote the records.
    ClusterSecret,
    /// The file `secrets-key` of a data directory.
    KeyFile,
    /// The records need no key yet: there are no webhooks.
    Unused,
}

impl VaultKeySource {
    /// # Errors
    /// The store fails.
    pub async fn of(store: &Store) -> Result<Self, StoreError> {
        if store.vault_key().await?.is_some() {
            return Ok(Self::ClusterSecret);
        }
        Ok(match store.any_webhook().await? {
            Some(_) => Self::KeyFile,
            None => Self::Unused,
        })
    }
}
