//! Generators: one module for each kind of backend.

mod base64;
pub mod builtin;
pub mod comfyui;
pub mod damaged_inputs;
pub mod gemini;
mod image_background;
pub mod inputs;
pub mod kinds;
pub mod local;
mod luma_mask;
pub mod openai;
mod preview;
pub mod probe;
mod prompt;
pub mod readiness;
pub mod sdapi;
pub mod setup_error;
pub mod tier_use;
pub mod upstream;

pub use base64::image_bytes;
pub use prompt::without_directives;
