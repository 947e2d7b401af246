//! Authenticates API keys, for every interface that accepts them.

use super::client_address::client_address;
use super::rate_headers;
use crate::application::api_key_cache::{FoundKey, Reading};
use crate::application::payer::Payer;
use crate::application::rate_limit::RateStates;
use crate::application::services::AccountService;
use crate::observability::request_log;
use actix_web::HttpRequest;
use actix_web::http::Method;
use std::net::IpAddr;
use tintype_storage::domain::api_key::KeyRefusal;
use tintype_storage::domain::caller::ShownKey;
use tintype_storage::store::StoreError;

/// Why a key was rejected.
#[derive(Debug, thiserror::Error)]
pub enum KeyRejected {
    /// Malformed or unknown.
    #[error("the API key is not valid; check that you copied all of it")]
    Unknown,
    /// The key or its account is deactivated, or the key has expired.
    #[error(transparent)]
    Key(#[from] KeyRefusal),
    /// The key does not allow the address of the call.
    #[error("the API key may not be used from {}", .0.map_or_else(|| "an unknown address".to_owned(), |it| it.to_string()))]
    Address(Option<IpAddr>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Authenticates a call by its key, records the use of the key and counts the call.
pub async fn authenticate(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
) -> Result<Payer, KeyRejected> {
    let reading = match *request.method() {
        Method::POST => Reading::BeforeJobs,
        _ => Reading::Key,
    };
    let key = find(request, accounts, text, reading).await?;
    Ok(count_call(request, accounts, key))
}

/// Authenticates a call by the cached key, if there is one, because the account's decision reads the key again.
pub async fn authenticate_cached(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
) -> Result<Payer, KeyRejected> {
    let key = match find(request, accounts, text, Reading::Nothing).await {
        Ok(key) => key,
        // Another node may have changed the key since.
        Err(_) => find(request, accounts, text, Reading::BeforeJobs).await?,
    };
    Ok(count_call(request, accounts, key))
}

/// Reads the key of a call that was authenticated from the cache. Counts the call again if a rate limit has changed.
pub async fn reauthenticate(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
    cached: &Payer,
) -> Result<Payer, KeyRejected> {
    let key = find(request, accounts, text, Reading::BeforeJobs).await;
    // A refusal must not reveal the limits of the key.
    let key = key.inspect_err(|_| rate_headers::forget(request))?;
    let counted = cached.counted;
    let account_rate = counted.account.map(|it| it.rate);
    let has_same_limits = key.found.key.rate_limit == cached.key.rate_limit
        && key.found.account_rate_limit == account_rate;
    match has_same_limits {
        true => Ok(key.payer(counted)),
        false => Ok(count_call(request, accounts, key)),
    }
}

struct AuthenticatedKey {
    found: FoundKey,
    address: Option<IpAddr>,
}

impl AuthenticatedKey {
    fn payer(self, counted: RateStates) -> Payer {
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
            is_cached: self.found.is_cached,
            audit: None,
            person: None,
        }
    }
}

fn count_call(request: &HttpRequest, accounts: &AccountService, key: AuthenticatedKey) -> Payer {
    let AuthenticatedKey { found, .. } = &key;
    let counted = rate_headers::count(request, accounts, &found.key, found.account_rate_limit);
    key.payer(counted)
}

async fn find(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
    reading: Reading,
) -> Result<AuthenticatedKey, KeyRejected> {
    let now = accounts.core.now();
    let keys = &accounts.auth.api_keys;
    let found = keys.find(&accounts.core.store, text, now, reading).await?;
    let found = found.ok_or(KeyRejected::Unknown)?;
    found.admit(now)?;
    let address = client_address(request, accounts);
    if !found.key.allowed_ips.is_empty()
        && !address.is_some_and(|it| found.key.admits_from(it.into()))
    {
        return Err(KeyRejected::Address(address));
    }
    found.note_use(now);
    request_log::note_account(request, found.key.account);
    Ok(AuthenticatedKey { found, address })
}
