//! Why a ComfyUI back end cannot be driven as it is configured.

use super::templates::TemplateError;
use crate::backends::upstream::UpstreamSetupError;

/// Why a ComfyUI back end cannot be driven as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum ComfyUiSetupError {
    /// It cannot be spoken to.
    #[error(transparent)]
    Upstream(#[from] UpstreamSetupError),
    /// A workflow.
    #[error("the back end `{name}`: {source}")]
    Template {
        /// The back end.
        name: String,
        /// What is wrong with it.
        source: TemplateError,
    },
}
