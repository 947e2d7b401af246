//! Whether the text of an API key opens the door, for every interface that takes one.

use super::client_address::client_address;
use super::rate_headers;
use crate::application::payer::Payer;
use crate::application::state::AppState;
use crate::observability::request_log;
use actix_web::HttpRequest;
use actix_web::http::Method;
use std::net::IpAddr;
use tintype_storage::domain::api_key::KeyRefusal;
use tintype_storage::domain::caller::ShownKey;
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

/// The holder of the key of this text, if it may be used now and from where the call comes. Notes the use, and counts the call.
pub async fn admit(
    request: &HttpRequest,
    state: &AppState,
    text: &str,
) -> Result<Payer, NotAdmitted> {
    let now = state.now();
    let asks_for_jobs = request.method() == Method::POST;
    let keys = &state.auth.api_keys;
    let found = keys.find(&state.store, text, now, asks_for_jobs).await?;
    let found = found.ok_or(NotAdmitted::Unknown)?;
    found.admit(now)?;
    let address = client_address(request, state);
    if !found.key.allowed_ips.is_empty()
        && !address.is_some_and(|it| found.key.admits_from(it.into()))
    {
        return Err(NotAdmitted::Address(address));
    }
    found.note_use(now);
    request_log::note_account(request, found.key.account);
    let shown = ShownKey {
        hash: found.hash,
        address: address.map(Into::into),
        rate_limit: found.key.rate_limit,
    };
    let counted = rate_headers::count(request, state, &found.key, found.account_rate_limit);
    Ok(Payer {
        key: found.key,
        shown: Some(shown),
        counted,
        before_jobs: found.before_jobs,
        audit: None,
    })
}
