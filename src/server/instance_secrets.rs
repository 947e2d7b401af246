//! The secrets of an instance: those of its data directory, or those that all nodes derive from the secret that they have in common.

use super::object_store::{open_images, open_images_with};
use super::start_error::StartError;
use crate::config::{Config, Secret};
use crate::images::{FileSigningKey, Images};
use crate::secrets::{self, AdminToken, derived};
use crate::webhooks::Vault;
use tintype_storage::store::Store;

/// Where the secrets of an instance come from.
pub enum InstanceSecrets {
    /// Files of the data directory, which are made at the first start.
    DataDir,
    /// What the nodes have in common.
    Common(Secret),
}

impl InstanceSecrets {
    /// Of a process that is a node, or that has its store for itself.
    ///
    /// # Errors
    /// A node has no secret.
    pub fn of(config: &Config, is_node: bool) -> Result<Self, StartError> {
        match (is_node, &config.cluster.secret) {
            (false, _) => Ok(Self::DataDir),
            (true, Some(common)) => Ok(Self::Common(common.clone())),
            (true, None) => Err(StartError::NoCommonSecret),
        }
    }

    /// The operator's token.
    ///
    /// # Errors
    /// The data directory cannot be used.
    pub fn admin_token(&self, config: &Config) -> Result<AdminToken, StartError> {
        let token = match self {
            Self::DataDir => secrets::admin_token(config),
            Self::Common(common) => secrets::admin_token_of_node(config, common),
        };
        token.map_err(|source| StartError::DataDir {
            path: config.storage.data_dir.clone(),
            source,
        })
    }

    /// The object store.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn open_images(&self, config: &Config, public_url: &str) -> Result<Images, StartError> {
        match self {
            Self::DataDir => open_images(config, public_url),
            Self::Common(common) => {
                let key = FileSigningKey::from_bytes(&derived(common, "file-signing-key"));
                open_images_with(config, public_url, key)
            }
        }
    }

    /// What seals the secrets of webhooks.
    ///
    /// # Errors
    /// It does not open those that are on record.
    pub async fn open_vault(&self, config: &Config, store: &Store) -> Result<Vault, StartError> {
        let data_dir = &config.storage.data_dir;
        let is_sealed = store.vault_key().await?.is_some();
        let vault = match (self, &config.cluster.secret) {
            (Self::Common(common), _) => Vault::of_nodes(store, common, data_dir).await,
            // The records come from nodes.
            (Self::DataDir, Some(common)) if is_sealed => {
                Vault::of_nodes(store, common, data_dir).await
            }
            (Self::DataDir, _) => {
                let known = store.any_webhook().await?;
                Vault::load_or_create(data_dir, known.as_ref())
            }
        };
        Ok(vault?)
    }
}
