//! Whether the text of an API key opens the door, for every interface that takes one.

use super::client_address::client_address;
use super::request_log;
use super::state::AppState;
use actix_web::HttpRequest;
use std::net::IpAddr;
use std::sync::Arc;
use tintype_storage::domain::api_key::{ApiKey, KeyRefusal};
use tintype_storage::store::StoreError;

/// Why it does not.
#[derive(Debug, thiserror::Error)]
pub enum NotAdmitted {
    /// Malformed, or nobody's.
    #[error("the API key is not valid; check that it was copied whole")]
    Unknown,
    /// Switched off, by itself or with its account, or past its end.
    #[error(transparent)]
    Key(#[from] KeyRefusal),
    /// The key may not be used from where the call comes.
    #[error("the API key may not be used from {}", .0.map_or_else(|| "an address that is not known".to_owned(), |it| it.to_string()))]
    Address(Option<IpAddr>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The key of this text, if it may be used now and from where the call comes. Notes the use.
pub fn admit(
    request: &HttpRequest,
    state: &AppState,
    text: &str,
) -> Result<Arc<ApiKey>, NotAdmitted> {
    let now = state.now();
    let found = state.key_ring.find(&state.store, text, now)?;
    let found = found.ok_or(NotAdmitted::Unknown)?;
    found.admit(now)?;
    if !found.key.allowed_ips.is_empty() {
        let address = client_address(request, &state.config.server.trusted_proxies);
        if !address.is_some_and(|it| found.key.admits_from(it.into())) {
            return Err(NotAdmitted::Address(address));
        }
    }
    found.note_use(now);
    request_log::note_account(request, found.key.account);
    Ok(found.key)
}
