//! The error of a failed start.

use super::service_marks::MarkError;
use crate::backends::setup_error::BackendSetupError;
use crate::data_dir;
use crate::objects::ObjectError;
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
    #[error("{}", data_dir::fault(.path, .error))]
    DataDir { path: PathBuf, error: io::Error },
    /// The file of the operator's token cannot be used.
    #[error("cannot use the operator token in {}: {error}{}", .path.display(), token_advice(.error))]
    Token { path: PathBuf, error: io::Error },
    /// See `Setup::resumes_work`.
    #[error(
        "the server of this data directory has work to finish (unfinished jobs: {jobs}, pending webhook deliveries: {deliveries})"
    )]
    UnfinishedWork { jobs: usize, deliveries: usize },
    /// A node has no cluster secret.
    #[error(
        "several processes may use this database, and `[cluster] secret` is not set; set the environment variable TINTYPE_SECRET to \
         the output of `openssl rand -hex 32`, the same for all of them"
    )]
    NoClusterSecret,
    #[error("this process could not join the cluster: {0}")]
    Join(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    ObjectStorage(#[from] ObjectError),
    #[error(transparent)]
    ServiceMark(#[from] MarkError),
    #[error(transparent)]
    Egress(#[from] SetupError),
    #[error(transparent)]
    Vault(#[from] VaultError),
    #[error(transparent)]
    Backend(#[from] BackendSetupError),
    #[error(transparent)]
    Traces(#[from] TraceSetupError),
}

fn token_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; make the file readable for this user",
        io::ErrorKind::InvalidData => "; remove the file, and the next start creates a new token",
        _ => "",
    }
}
