//! Shared by the self-hosted backends (ComfyUI, `/sdapi/v1`): native model sizes, input images, and enlarging of results.

pub mod crop;
pub mod finish;
pub mod originals;
pub mod size;

use std::time::Duration;
use tintype_actors::ports::GenerateError;

/// The error of a server whose graphics card ran out of memory. The server then frees its memory, so a retry may succeed.
pub fn out_of_memory(retry_after: Option<Duration>) -> GenerateError {
    GenerateError::Transient {
        reason: "the image generator ran out of memory".into(),
        retry_after,
    }
}
