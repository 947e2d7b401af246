//! The synchronous interfaces: the Gemini API as the google-genai SDKs speak it, and the Images API as OpenAI's do. One call,
//! one picture, in the answer.
//!
//! A call becomes a job like any other; what differs is that its caller waits. Neither interface decides anything about money
//! or order: that is the application's. What both share is [`submission`].

mod auth;
mod base64;
mod base64_body;
mod body;
mod body_timeouts;
mod deadline;
mod detached_jobs;
mod dialect;
mod disconnect;
mod drain;
mod gemini;
mod job_waiter;
mod models;
mod openai;
mod preflight;
mod refusal;
mod routes;
pub(crate) mod scanner;
mod state;
mod submission;
mod usage;

pub use detached_jobs::DetachedJobs;
pub use dialect::Dialect;
pub use disconnect::{DisconnectReceiver, DisconnectSender, run as cancel_disconnected};
pub use routes::{configure, dialect_of};
pub use state::CompatState;
