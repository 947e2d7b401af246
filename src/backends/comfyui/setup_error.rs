//! The error of setting up a ComfyUI backend.

use super::templates::TemplateError;
use crate::backends::upstream::UpstreamSetupError;

#[derive(Debug, thiserror::Error)]
pub enum ComfyUiSetupError {
    #[error(transparent)]
    Upstream(#[from] UpstreamSetupError),
    #[error("backend `{name}`: {source}")]
    Template { name: String, source: TemplateError },
}
