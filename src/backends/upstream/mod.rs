//! HTTP to back ends: one client per back end, and one reading of what can go wrong for all kinds.
//!
//! The addresses are the operator's own, so they do not pass the gate that callers' URLs do. What comes back is not trusted
//! all the same: it is bounded, and no text of it reaches a caller uncleaned.
//!
//! A kind's client reads like this:
//!
//! ```text
//! let answer = upstream.post_json("/sdapi/v1/txt2img", body).await?;      // a Fault is a GenerateError by `?`
//! let answer = upstream.expect_success(answer)?;                          // after looking at a status of its own, if any
//! let answer: Txt2Img = upstream.json(answer).await?;                     // parsed on the blocking pool
//! ```

mod answer;
mod client;
mod fault;
mod hidden;
mod message;
pub(crate) mod retry_after;
mod socket;
mod spool;

pub use answer::Answer;
pub use client::{Auth, MAX_ANSWER, Upstream, UpstreamSetupError};
pub use fault::{Fault, not_set_up};
pub use message::told_in;
/// Fields and files of a `multipart/form-data` body.
pub use reqwest::multipart::{Form, Part};
pub use socket::Socket;
pub use spool::{blocking, decoding};
