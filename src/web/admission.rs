//! Whether the text of an API key opens the door, for every interface that takes one.

use super::client_address::client_address;
use super::rate_headers;
use crate::application::api_key_cache::{Found, Reading};
use crate::application::payer::Payer;
use crate::application::rate_limit::Counted;
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
    #[error("the API key may not be used from {}", .0.map_or_else(|| "an unknown address".to_owned(), |it| it.to_string()))]
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
    let reading = match *request.method() {
        Method::POST => Reading::BeforeJobs,
        _ => Reading::Key,
    };
    let admitted = find(request, state, text, reading).await?;
    Ok(payer(request, state, admitted))
}

/// The same by what is remembered of the key, if anything is, for a call whose decision reads the key anew.
pub async fn recognize(
    request: &HttpRequest,
    state: &AppState,
    text: &str,
) -> Result<Payer, NotAdmitted> {
    let admitted = match find(request, state, text, Reading::Nothing).await {
        Ok(admitted) => admitted,
        // Another node may have changed that.
        Err(_) => find(request, state, text, Reading::BeforeJobs).await?,
    };
    Ok(payer(request, state, admitted))
}

/// Reads the key of a call anew that was recognized. The call is counted once more where the key's or the account's rate is another one.
pub async fn read_anew(
    request: &HttpRequest,
    state: &AppState,
    text: &str,
    recognized: &Payer,
) -> Result<Payer, NotAdmitted> {
    let admitted = find(request, state, text, Reading::BeforeJobs).await;
    // An answer that refuses the key tells nothing of its rates.
    let admitted = admitted.inspect_err(|_| rate_headers::forget(request))?;
    let counted = recognized.counted;
    let account_rate = counted.account.map(|it| it.rate());
    let is_as_before = admitted.found.key.rate_limit == recognized.key.rate_limit
        && admitted.found.account_rate_limit == account_rate;
    match is_as_before {
        true => Ok(admitted.payer(counted)),
        false => Ok(payer(request, state, admitted)),
    }
}

/// A key that may be used.
struct AdmittedKey {
    found: Found,
    address: Option<IpAddr>,
}

impl AdmittedKey {
    fn payer(self, counted: Counted) -> Payer {
        let shown = ShownKey {
            hash: self.found.hash,
            address: self.address.map(Into::into),
            rate_limit: self.found.key.rate_limit,
        };
        Payer {
            key: self.found.key,
            shown: Some(shown),
            counted,
            before_jobs: self.found.before_jobs,
            is_remembered: self.found.is_remembered,
            audit: None,
        }
    }
}

/// Counts the call.
fn payer(request: &HttpRequest, state: &AppState, admitted: AdmittedKey) -> Payer {
    let AdmittedKey { found, .. } = &admitted;
    let counted = rate_headers::count(request, state, &found.key, found.account_rate_limit);
    admitted.payer(counted)
}

async fn find(
    request: &HttpRequest,
    state: &AppState,
    text: &str,
    reading: Reading,
) -> Result<AdmittedKey, NotAdmitted> {
    let now = state.now();
    let keys = &state.auth.api_keys;
    let found = keys.find(&state.store, text, now, reading).await?;
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
    Ok(AdmittedKey { found, address })
}
