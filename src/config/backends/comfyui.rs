//! The keys of kind `comfyui`.

use std::path::PathBuf;

use super::readers::{DEFAULT_MAX_PIXELS, max_pixels};
use crate::config::section::settings;
use crate::config::values::{free_name, or_empty, path, text};

settings! {
    pub struct ComfyUiSettings {
        /// For tiers that name no model. `None`: the first checkpoint that the server lists.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub checkpoint: Option<String> = text(or_empty(free_name)), None;
        /// For text-to-image. `None`: the built-in workflow.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_text: Option<PathBuf> = text(or_empty(path)), None;
        /// For image-to-image. `None`: the built-in workflow.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_image: Option<PathBuf> = text(or_empty(path)), None;
        /// Pixels that a workflow generates at most. Larger images are upscaled.
        pub max_pixels: u64 = max_pixels, DEFAULT_MAX_PIXELS;
    }
}
