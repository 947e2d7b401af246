//! HTTP requests to URLs that strangers name: input images to fetch, webhooks to call.
//!
//! Only public addresses are reached, and the ranges that the operator opened ([`ClientOptions::allow`]), but never those that
//! the operator closed ([`ClientOptions::deny`]). The [`Client`] resolves a name once per request, the [`AddressGate`] judges
//! every address of the answer, and the request goes over a connection to the very address that passed. There is no second
//! look-up that could answer differently. Literal addresses, redirects and pooled connections take the same way.

mod address_gate;
mod client;
mod connection;
mod connection_pool;
mod connector;
mod error;
mod ranges;
mod request_progress;
mod resolver;
mod response;
mod retry_after;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod tls;
mod url_rules;

pub use address_gate::{AddressGate, Refused};
pub use client::{Client, ClientOptions};
pub use error::Error;
pub use hyper::{HeaderMap, Method, StatusCode, header};
pub use resolver::{Resolve, SystemResolver};
pub use response::Response;
pub use retry_after::retry_after;
pub use tls::SetupError;
pub use url_rules::{MAX_URL_CHARS, UrlError, parse_url, resolve_location};
