//! The rates of the API key behind a call and of its account: counted when the call comes, told in the headers of its answer.

use crate::application::rate_limit::Counted;
use crate::application::state::AppState;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest};
use tintype_storage::domain::api_key::{ApiKey, RateLimit};

/// The headers of the IETF's draft on rate limits (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4).
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Counts a call against the rates of its key and its account, and keeps the outcome for the headers of the answer.
pub fn count(
    request: &HttpRequest,
    state: &AppState,
    key: &ApiKey,
    account_rate: Option<RateLimit>,
) -> Counted {
    let of_key = state.limits.keys.count(key);
    let counted = Counted::new(of_key, key.account, account_rate, &state.limits.accounts);
    request.extensions_mut().insert(counted);
    counted
}

/// The answer is to tell nothing of the rates.
pub fn forget(request: &HttpRequest) {
    request.extensions_mut().remove::<Counted>();
}

/// How the key and the account of a call stand, once the call has been counted.
pub fn counted(request: &HttpRequest) -> Counted {
    request.extensions().get().copied().unwrap_or_default()
}

/// Adds the headers: a member for each limit that there is.
pub fn write(counted: &Counted, headers: &mut HeaderMap) {
    let limits = [("key", counted.key), ("account", counted.account)];
    let limits = limits.map(|(name, state)| Some((name, state?)));
    let (mut policies, mut states) = (Vec::new(), Vec::new());
    for (name, it) in limits.into_iter().flatten() {
        let (burst, window) = (it.burst(), it.window_seconds());
        policies.push(format!("\"{name}\";q={burst};w={window}"));
        let (remaining, reset) = (it.remaining(), it.reset_seconds());
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
