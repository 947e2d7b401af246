//! The OpenAI API: images, responses, files and batches.

pub mod batches;
mod edit_body;
pub mod edits;
mod expires_after;
pub mod files;
pub mod generations;
mod image_background;
mod limited_body;
mod list_query;
mod mask;
mod metadata;
mod multipart;
mod object_calls;
pub(super) mod object_ids;
mod options;
mod response;
pub mod responses;
mod sdk_call;
mod size;
mod stream;
pub mod unknown_paths;
