//! The Images API as the OpenAI SDKs speak it: `POST /v1/images/generations` and `/v1/images/edits`.

mod answer;
pub mod edits;
pub mod generations;
mod multipart;
mod options;
mod size;
