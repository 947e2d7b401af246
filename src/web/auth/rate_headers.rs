//! Counts a call against the rate limits of its API key and account, and writes the `RateLimit` headers of the response.

use crate::application::limits::rate_limit::RateStates;
use crate::application::services::AccountService;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest};
use tintype_storage::domain::api_key::{ApiKey, RateLimit};

/// The headers of the IETF's draft on rate limits (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4).
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Counts a call and stores the outcome for [`states_of`].
pub fn count(
    request: &HttpRequest,
    accounts: &AccountService,
    key: &ApiKey,
    account_rate: Option<RateLimit>,
) -> RateStates {
    let of_key = accounts.limits.keys.count(key);
    let counted = RateStates::new(of_key, key.account, account_rate, &accounts.limits.accounts);
    request.extensions_mut().insert(counted);
    counted
}

/// Omits the headers from the response.
pub fn omit(request: &HttpRequest) {
    request.extensions_mut().remove::<RateStates>();
}

/// The outcome of [`count`].
pub fn states_of(request: &HttpRequest) -> RateStates {
    request.extensions().get().copied().unwrap_or_default()
}

/// Adds the headers, with one member per limit.
pub fn write(counted: &RateStates, headers: &mut HeaderMap) {
    let limits = [("key", counted.key), ("account", counted.account)];
    let limits = limits.map(|(name, state)| Some((name, state?)));
    let (mut policies, mut states) = (Vec::new(), Vec::new());
    for (name, it) in limits.into_iter().flatten() {
        let (burst, window) = (it.rate.burst, it.window_seconds());
        policies.push(format!("\"{name}\";q={burst};w={window}"));
        let (remaining, reset) = (it.remaining, it.reset_seconds());
        states.push(format!("\"{name}\";r={remaining};t={reset}"));
    }
    for (name, members) in [(POLICY, policies), (LIMIT, states)] {
        if members.is_empty() {
            continue;
        }
        if let Ok(value) = HeaderValue::from_str(&members.join(", ")) {
            headers.insert(name, value);
        }
    }
}
