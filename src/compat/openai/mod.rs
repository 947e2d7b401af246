//! OpenAI's interface as its SDKs speak it: images, and files and batches of them.

mod answer;
pub mod batches;
mod counted_body;
pub mod edits;
mod expires_after;
pub mod files;
pub mod generations;
mod list_query;
mod multipart;
mod object_calls;
mod object_ids;
mod options;
mod size;
pub mod unknown_paths;
