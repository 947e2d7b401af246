//! What a back end of kind `comfyui` takes besides its address: which model, which workflows, and how large at a time.

use std::path::PathBuf;

use super::local::{MAX_PIXELS, max_pixels};
use super::section::settings;
use super::values::{free_name, or_empty, path, text};

settings! {
    /// The settings of ComfyUI.
    pub struct ComfyUiSettings {
        /// The checkpoint where a tier names none; `None`: the first one that the server lists.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoint: Option<String> = text(or_empty(free_name)), None;
        /// The workflow for text-to-image; `None`: the shipped one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_text: Option<PathBuf> = text(or_empty(path)), None;
        /// The workflow for image-to-image; `None`: the shipped one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_image: Option<PathBuf> = text(or_empty(path)), None;
        /// Most pixels that a workflow is asked for; a larger picture is enlarged from that.
        pub max_pixels: u64 = max_pixels, MAX_PIXELS;
    }
}
