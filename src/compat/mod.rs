//! The synchronous APIs: the Gemini API for the google-genai SDKs and the Images API for the OpenAI SDKs. The response to a request
//! contains the image.
//!
//! A request becomes an ordinary job, and the caller waits for it. The application decides about money and order. Both APIs submit
//! jobs through [`jobs::submission`].

mod auth;
mod base64_body;
mod conversation;
mod deadline;
mod dialect;
mod disconnect;
mod gemini;
mod job_stream;
mod jobs;
mod models;
mod openai;
mod preflight;
mod recent_calls;
mod refusal;
pub(crate) mod request_body;
mod response_head;
mod routes;
mod state;
mod usage;
mod wrong_base_url;

pub use dialect::Dialect;
pub use openai::object_ids::parse_batch_id as parse_openai_batch_id;
pub use refusal::Refusal;
pub use routes::{configure, dialect_of};
pub use state::CompatState;
pub use wrong_base_url::error as error_for_wrong_base_url;
