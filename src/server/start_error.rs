//! Why an instance could not start.

use crate::backends::kinds::BackendSetupError;
use crate::images::ImagesError;
use crate::observability::traces::TraceSetupError;
use crate::webhooks::VaultError;
use std::io;
use std::path::PathBuf;
use tintype_egress::SetupError;
use tintype_storage::engine::EngineError;
use tintype_storage::store::StoreError;

/// Why an instance could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be used.
    #[error("the data directory {}: {source}", .path.display())]
    DataDir {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A node has no secret in common with others.
    #[error(
        "several processes may use this database, and `[cluster] secret` is not set; set the environment variable TINTYPE_SECRET to \
         the output of `openssl rand -hex 32`, the same for all of them"
    )]
    NoCommonSecret,
    /// The process could not become a node.
    #[error("this process could not join the nodes: {0}")]
    Join(String),
    /// The engine could not be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The records are not as they must be.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store cannot be used.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// Outgoing connections cannot be set up.
    #[error(transparent)]
    Egress(#[from] SetupError),
    /// The secrets of webhooks cannot be kept.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// A back end cannot be driven as it is configured.
    #[error(transparent)]
    Backend(#[from] BackendSetupError),
    /// Traces cannot be sent.
    #[error(transparent)]
    Traces(#[from] TraceSetupError),
}
