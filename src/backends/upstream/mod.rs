//! HTTP to backends: one client per backend, and one set of faults for all kinds.
//!
//! The operator configures the addresses, so they do not pass the egress check for callers' URLs. Responses are still untrusted:
//! their size is limited, and no text of a response reaches a caller unsanitized.
//!
//! The client is reqwest, which the object store already depends on. The client of `tintype-egress` resolves and checks addresses
//! before each request, and lacks `multipart/form-data` and protocol upgrades, which backends need.
//!
//! A typical call:
//!
//! ```text
//! let response = upstream.post_json("/sdapi/v1/txt2img", body).await?;    // `?` converts a Fault into a GenerateError
//! let response = upstream.expect_success(response)?;                      // after handling special statuses, if any
//! let response: Txt2Img = upstream.json(response).await?;                 // parsed on the blocking pool
//! ```

mod blocking;
mod cleanup;
mod client;
mod error_message;
mod fault;
mod redaction;
mod response;
mod socket;

pub use blocking::{blocking, decoding};
pub use cleanup::CleanupGuard;
pub use client::{Auth, MAX_RESPONSE, Upstream};
pub use error_message::{error_message, for_caller};
pub use fault::{Fault, misconfigured, without_refusal};
pub use reqwest::multipart::{Form, Part};
pub use response::Response;
pub use socket::Socket;
