//! Shared by the self-hosted backends (ComfyUI, `/sdapi/v1`): native model sizes, input images, and enlarging of results.

pub mod finish;
pub mod originals;
pub mod size;
