//! What all requests have in common that this program sends.

use reqwest::{Client, ClientBuilder, redirect};
use tintype_egress::{SetupError, tls};

pub const USER_AGENT: &str = concat!("tintype/", env!("CARGO_PKG_VERSION"));

/// A client for servers that the operator has configured: it uses no proxy and follows no redirect.
///
/// # Errors
/// The TLS configuration is invalid.
pub fn client_builder() -> Result<ClientBuilder, SetupError> {
    Ok(Client::builder()
        .tls_backend_preconfigured(tls::client_config(None)?)
        // One lost HTTP/2 connection would fail all requests that use it.
        .http1_only()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .user_agent(USER_AGENT))
}
