//! The error of setting up a backend.

use std::error::Error;
use tintype_egress::SetupError;

/// Why a backend cannot be set up as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum BackendSetupError {
    #[error("backend `{name}`: {what}")]
    InvalidConfig { name: String, what: &'static str },
    #[error(transparent)]
    Tls(#[from] SetupError),
    #[error("backend `{name}`: the HTTP client cannot be set up: {source}")]
    Client {
        name: String,
        source: reqwest::Error,
    },
    /// A workflow of ComfyUI. Boxed, because its type is above this module.
    #[error("backend `{name}`: {source}")]
    Template {
        name: String,
        source: Box<dyn Error + Send + Sync>,
    },
}
