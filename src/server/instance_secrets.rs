//! The secrets of an instance: stored in its data directory, or derived from the cluster secret that all nodes share.

use super::object_store;
use super::start_error::StartError;
use crate::admin_token;
use crate::cluster_secret::derive_key;
use crate::config::{Config, Secret};
use crate::objects::{FileSigningKey, ObjectStorage};
use crate::webhooks::{Vault, VaultError};
use tintype_storage::store::Store;
use tintype_storage::store::tables::VAULT_KEY;

/// Where the secrets of an instance come from.
pub enum InstanceSecrets {
    /// Files in the data directory, created at the first start.
    DataDir,
    /// `[cluster] secret`.
    Cluster(Secret),
}

impl InstanceSecrets {
    /// # Errors
    /// A node has no cluster secret.
    pub fn new(config: &Config, is_cluster: bool) -> Result<Self, StartError> {
        match (is_cluster, &config.cluster.secret) {
            (false, _) => Ok(Self::DataDir),
            (true, Some(secret)) => Ok(Self::Cluster(secret.clone())),
            (true, None) => Err(StartError::NoClusterSecret),
        }
    }

    /// # Errors
    /// The file of the token cannot be used.
    pub fn admin_token(&self, config: &Config) -> Result<Secret, StartError> {
        let token = match self {
            Self::DataDir => admin_token::load(config),
            Self::Cluster(secret) => admin_token::load_of_node(config, secret),
        };
        token.map_err(|error| StartError::Token {
            path: admin_token::token_file(&config.storage.data_dir),
            error,
        })
    }

    /// # Errors
    /// The object store cannot be used.
    pub fn open_objects(
        &self,
        config: &Config,
        public_url: &str,
    ) -> Result<ObjectStorage, StartError> {
        let signing_key = match self {
            Self::DataDir => FileSigningKey::load_or_create(&config.storage.data_dir)?,
            Self::Cluster(secret) => {
                FileSigningKey::from_bytes(&derive_key(secret, "file-signing-key"))
            }
        };
        object_store::open(config, public_url, signing_key)
    }

    /// # Errors
    /// The vault's key does not open the webhook secrets on record.
    pub async fn open_vault(&self, config: &Config, store: &Store) -> Result<Vault, StartError> {
        let data_dir = &config.storage.data_dir;
        let has_vault_key = VAULT_KEY.get(store, &()).await?.is_some();
        let vault = match (self, &config.cluster.secret) {
            (Self::Cluster(secret), _) => Vault::of_nodes(store, secret, data_dir).await,
            // The records were moved here from a cluster.
            (Self::DataDir, Some(secret)) if has_vault_key => {
                Vault::of_nodes(store, secret, data_dir).await
            }
            (Self::DataDir, _) => {
                let known = store.any_webhook().await?;
                match Vault::load_or_create(data_dir, known.as_ref()) {
                    // Advice about the key file would not help: these records never had one.
                    Err(VaultError::Key { .. }) if has_vault_key => Err(VaultError::NoSecret),
                    opened => opened,
                }
            }
        };
        Ok(vault?)
    }
}
