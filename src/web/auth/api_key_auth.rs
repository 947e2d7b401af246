//! Authenticates API keys, for every interface that accepts them.

use super::client_address::client_address;
use super::rate_headers;
use crate::application::caller::payer::Payer;
use crate::application::credentials::api_key_cache::{FoundKey, Reading};
use crate::application::error::Error;
use crate::application::limits::rate_limit::RateStates;
use crate::application::services::AccountService;
use crate::application::submission::admission::CachedPayer;
use crate::observability::request_log;
use actix_web::HttpRequest;
use actix_web::http::Method;
use ipnet::IpNet;
use tintype_storage::domain::caller::{CallerRefusal, PresentedKey};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;

/// Why a call was not authenticated.
#[derive(Debug, thiserror::Error)]
pub enum AuthFailure {
    #[error(transparent)]
    Refused(#[from] CallerRefusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AuthFailure> for Error {
    fn from(failure: AuthFailure) -> Self {
        match failure {
            AuthFailure::Refused(refusal) => refusal.into(),
            AuthFailure::Store(error) => error.into(),
        }
    }
}

/// Authenticates a call by its key, records the use of the key and counts the call.
pub async fn authenticate(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
) -> Result<Payer, AuthFailure> {
    let reading = match *request.method() {
        Method::POST => Reading::BeforeJobs,
        _ => Reading::Key,
    };
    let key = find(request, accounts, text, reading).await?;
    Ok(count_call(request, accounts, key))
}

/// Authenticates a call by the cached key. `None` if there is none, or if it refuses the call: another node may have changed the key.
pub fn authenticate_unchecked(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
) -> Option<CachedPayer> {
    let now = accounts.core.now();
    let found = accounts.auth.api_keys.find_unchecked(text, now)?;
    let key = admit(request, accounts, found, now).ok()?;
    Some(CachedPayer::new(count_call(request, accounts, key)))
}

/// Reads the key of a call that was authenticated from the cache. Counts the call again if a rate limit has changed.
pub async fn reauthenticate(
    request: &HttpRequest,
    accounts: &AccountService,
    text: &str,
    cached: &CachedPayer,
) -> Result<Payer, AuthFailure> {
    let key = find(request, accounts, text, Reading::BeforeJobs).await;
    // A refusal must not reveal the limits of the key.
    let key = key.inspect_err(|_| rate_headers::omit(request))?;
    let (rate_limit, counted) = cached.counted();
    let account_rate = counted.account.map(|it| it.rate);
    let has_same_limits =
        key.found.key.rate_limit == rate_limit && key.found.account_rate_limit == account_rate;
    match has_same_limits {
        true => Ok(key.payer(counted)),
        false => Ok(count_call(request, accounts, key)),
    }
}

/// Checks the key of a long call again: the operator may have revoked or restricted it since the call began.
pub async fn recheck(accounts: &AccountService, caller: &Payer) -> Result<(), AuthFailure> {
    let Some(shown) = &caller.shown else {
        return Ok(());
    };
    let (keys, core) = (&accounts.auth.api_keys, &accounts.core);
    let now = core.now();
    let found = keys
        .find_by_hash(&core.store, shown.hash, now, Reading::Key)
        .await?;
    let found = found.ok_or(CallerRefusal::Unknown)?;
    Ok(found.admit_from(shown.address, now)?)
}

struct AuthenticatedKey {
    found: FoundKey,
    address: Option<IpNet>,
}

impl AuthenticatedKey {
    fn payer(self, counted: RateStates) -> Payer {
        let shown = PresentedKey {
            hash: self.found.hash,
            address: self.address,
            rate_limit: self.found.key.rate_limit,
        };
        Payer {
            key: self.found.key,
            shown: Some(shown),
            counted,
            before_jobs: self.found.before_jobs,
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
) -> Result<AuthenticatedKey, AuthFailure> {
    let now = accounts.core.now();
    let keys = &accounts.auth.api_keys;
    let found = keys.find(&accounts.core.store, text, now, reading).await?;
    let found = found.ok_or(CallerRefusal::Unknown)?;
    Ok(admit(request, accounts, found, now)?)
}

fn admit(
    request: &HttpRequest,
    accounts: &AccountService,
    found: FoundKey,
    now: Timestamp,
) -> Result<AuthenticatedKey, CallerRefusal> {
    let address = client_address(request, accounts).map(IpNet::from);
    found.admit_from(address, now)?;
    found.record_use(now);
    request_log::record_account(request, found.key.account);
    Ok(AuthenticatedKey { found, address })
}
