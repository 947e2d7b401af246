//! The rate of the API key behind a call: counted when the call comes, told in the headers of its answer.

use crate::application::rate_limit::Standing;
use crate::application::state::AppState;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpMessage as _, HttpRequest};
use tintype_storage::domain::api_key::ApiKey;

/// The headers of the IETF's draft on rate limits (draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4).
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Counts a call against its key's rate, and keeps the outcome for the headers of the answer.
pub fn count(request: &HttpRequest, state: &AppState, key: &ApiKey) -> Option<Standing> {
    let standing = state.rates.count(key)?;
    request.extensions_mut().insert(standing);
    Some(standing)
}

/// How the key of a call stands, once the call has been counted.
pub fn standing(request: &HttpRequest) -> Option<Standing> {
    request.extensions().get().copied()
}

/// Adds the headers.
pub fn write(standing: &Standing, headers: &mut HeaderMap) {
    let policy = format!(
        "\"key\";q={};w={}",
        standing.burst(),
        standing.window_seconds()
    );
    let limit = format!(
        "\"key\";r={};t={}",
        standing.remaining(),
        standing.reset_seconds()
    );
    for (name, text) in [(POLICY, policy), (LIMIT, limit)] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(name, value);
        }
    }
}
