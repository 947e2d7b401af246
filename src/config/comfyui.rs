//! What a back end of kind `comfyui` takes besides its address: which model, which workflows, and how large at a time.

use std::path::PathBuf;

use serde::Serialize;

use super::local::{MAX_PIXELS, max_pixels};
use super::reader::Section;
use super::values::{free_name, or_empty, text};

/// The settings of ComfyUI.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComfyUiSettings {
    /// The checkpoint where a tier names none; `None`: the first one that the server lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The workflow for text-to-image; `None`: the shipped one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_text: Option<PathBuf>,
    /// The workflow for image-to-image; `None`: the shipped one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_image: Option<PathBuf>,
    /// Most pixels that a workflow is asked for; a larger picture is enlarged from that.
    pub max_pixels: u64,
}

impl Default for ComfyUiSettings {
    fn default() -> Self {
        Self {
            checkpoint: None,
            workflow_text: None,
            workflow_image: None,
            max_pixels: MAX_PIXELS,
        }
    }
}

impl ComfyUiSettings {
    /// Reads the keys of this kind from the section of a back end.
    pub(super) fn read(s: &mut Section<'_>) -> Self {
        Self {
            checkpoint: name(s, "checkpoint"),
            workflow_text: name(s, "workflow_text").map(PathBuf::from),
            workflow_image: name(s, "workflow_image").map(PathBuf::from),
            max_pixels: max_pixels(s),
        }
    }
}

fn name<'t>(s: &mut Section<'t>, key: &'t str) -> Option<String> {
    s.optional(key, text(or_empty(free_name))).flatten()
}
