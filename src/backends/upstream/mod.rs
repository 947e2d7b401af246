//! HTTP to back ends: one client per back end, and one set of faults for all kinds.
//!
//! The operator names the addresses, so they do not pass the gate that callers' URLs pass. The answers are not trusted all the
//! same: they are bounded, and no text of one reaches a caller unsanitized.
//!
//! The client is reqwest, which the object store brings along. The client of `tintype-egress` looks a name up and judges its
//! addresses before each request, and has neither `multipart/form-data` nor protocol upgrades, which back ends need.
//!
//! A kind's client reads like this:
//!
//! ```text
//! let answer = upstream.post_json("/sdapi/v1/txt2img", body).await?;      // a Fault is a GenerateError by `?`
//! let answer = upstream.expect_success(answer)?;                          // after looking at a status of its own, if any
//! let answer: Txt2Img = upstream.json(answer).await?;                     // parsed on the blocking pool
//! ```

mod answer;
mod blocking;
mod client;
mod error_message;
mod fault;
mod redaction;
mod socket;

pub use answer::Answer;
pub use blocking::{blocking, decoding};
pub use client::{Auth, MAX_ANSWER, Upstream, UpstreamSetupError};
pub use error_message::error_message;
pub use fault::{Fault, not_set_up};
/// Fields and files of a `multipart/form-data` body.
pub use reqwest::multipart::{Form, Part};
pub use socket::Socket;
