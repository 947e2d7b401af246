//! The synchronous interfaces: the Gemini API as the google-genai SDKs speak it, and the Images API as OpenAI's do. One call,
//! one picture, in the answer.
//!
//! A call becomes a job like any other; what differs is that its caller waits. Neither interface decides anything about money
//! or order: that is the application's. What both share is [`submission`].

mod abandoned;
mod assembled;
mod auth;
mod base64;
mod body;
mod dialect;
mod drain;
mod early;
mod gemini;
mod job_waiter;
mod models;
mod openai;
mod orphans;
mod pace;
mod patience;
mod refusal;
mod routes;
pub(crate) mod scanner;
mod state;
mod submission;
mod usage;

pub use abandoned::{Heard, Line, run as cancel_abandoned};
pub use dialect::Dialect;
pub use orphans::Orphans;
pub use routes::{configure, dialect_of};
pub use state::CompatState;
