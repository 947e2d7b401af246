//! HTTP requests to untrusted URLs: input images and webhooks of callers.
//!
//! The client connects only to public addresses and to ranges that the operator allows ([`ClientOptions::allow`]), but never to
//! denied ranges ([`ClientOptions::deny`]). The [`Client`] resolves a name once per request, the [`AddressGate`] checks every address,
//! and the request uses a connection to an address that passed. There is no second lookup that could return other addresses.
//! Literal addresses, redirects and pooled connections pass the same checks.

mod address_gate;
mod client;
mod connection;
mod connection_pool;
mod connector;
mod error;
mod ranges;
mod refused_address;
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

pub use address_gate::AddressGate;
pub use client::{Client, ClientOptions};
pub use error::Error;
pub use hyper::{HeaderMap, Method, StatusCode, header};
pub use refused_address::RefusedAddress;
pub use resolver::{Resolve, SystemResolver};
pub use response::Response;
pub use retry_after::{retry_after, seconds};
pub use tls::SetupError;
pub use url_rules::{MAX_URL_CHARS, UrlError, parse_url, resolve_location};
