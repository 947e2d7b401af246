//! HTTP to backends: one client per backend, and one set of faults for all kinds.
//!
//! The operator configures the addresses, so they do not pass the egress check for callers' URLs. Answers are still untrusted:
//! their size is limited, and no text of an answer reaches a caller unsanitized.
//!
//! The client is reqwest, which the object store already depends on. The client of `tintype-egress` resolves and checks addresses
//! before each request, and lacks `multipart/form-data` and protocol upgrades, which backends need.
//!
//! A typical call:
//!
//! ```text
//! let answer = upstream.post_json("/sdapi/v1/txt2img", body).await?;      // `?` converts a Fault into a GenerateError
//! let answer = upstream.expect_success(answer)?;                          // after handling special statuses, if any
//! let answer: Txt2Img = upstream.json(answer).await?;                     // parsed on the blocking pool
//! ```

mod answer;
mod blocking;
mod cleanup;
mod client;
mod error_message;
mod fault;
mod redaction;
mod socket;

pub use answer::Answer;
pub use blocking::{blocking, decoding};
pub use client::{Auth, MAX_ANSWER, Upstream, UpstreamSetupError};
pub use error_message::{error_message, for_caller};
pub use fault::{Fault, misconfigured, without_refusal};
pub use reqwest::multipart::{Form, Part};
pub use socket::Socket;
