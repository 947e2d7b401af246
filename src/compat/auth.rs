//! Authenticates callers by `x-goog-api-key`, `?key=` or `Authorization: Bearer`.

use super::refusal::{Kind, Refusal};
use crate::application::caller::payer::Payer;
use crate::application::error::Error;
use crate::application::services::AccountService;
use crate::web::auth::api_key_auth::{self, AuthFailure};
use crate::web::auth::bearer::{self, NoBearer};
use crate::web::headers::single;
use actix_web::HttpRequest;
use actix_web::dev::RequestHead;
use actix_web::http::header::{self, HeaderName};
use tintype_storage::domain::caller::CallerRefusal;

const HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");
const PARAMETER: &str = "key";

/// Counts the request against the rate limit of the key. `Payer::check_rate` refuses it later, in the published order of checks.
///
/// # Errors
/// `MissingKey`, `InvalidKey`, `WrongAddress`, or the store fails. A message never contains the key.
pub async fn authenticate(
    request: &HttpRequest,
    accounts: &AccountService,
) -> Result<Payer, Refusal> {
    let sent_key = sent_key(request)?.ok_or_else(|| {
        Refusal::new(
            Kind::MissingKey,
            "send an API key: in the header x-goog-api-key, as ?key=, or as Authorization: Bearer",
        )
    })?;
    let admitted = api_key_auth::authenticate(request, accounts, &sent_key).await;
    admitted.map_err(|failure| match failure {
        AuthFailure::Refused(CallerRefusal::Unknown) => invalid(
            "API key not valid. Please pass a valid API key; check that it was copied completely.",
        ),
        AuthFailure::Refused(CallerRefusal::Key(refusal)) => {
            invalid(&format!("API key not valid: {refusal}"))
        }
        other => Error::from(other).into(),
    })
}

/// Whether the request has a key in the way of the OpenAI SDKs only.
pub fn has_only_bearer_key(request: &HttpRequest) -> bool {
    request.headers().contains_key(header::AUTHORIZATION) && !has_google_key(request.head())
}

/// Whether the request has a key in the way of Google's SDKs.
pub fn has_google_key(head: &RequestHead) -> bool {
    head.headers.contains_key(&HEADER) || key_parameter(head).is_some()
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(Kind::InvalidKey, message)
}

fn sent_key(request: &HttpRequest) -> Result<Option<String>, Refusal> {
    let headers = request.headers();
    let given_twice = || invalid("API key not valid: its header is given twice; send it once");
    if let Some(value) = single(headers, &HEADER).map_err(|_| given_twice())? {
        let text = value.to_str().unwrap_or("?");
        return Ok(Some(text.to_owned()).filter(|text| !text.is_empty()));
    }
    if let Some(key) = key_parameter(request.head()) {
        return Ok(Some(key).filter(|key| !key.is_empty()));
    }
    match bearer::read(headers) {
        Ok(token) => Ok(Some(token.to_owned())),
        Err(NoBearer::Missing) => Ok(None),
        Err(NoBearer::Repeated) => Err(given_twice()),
        Err(NoBearer::Malformed) => Err(invalid(
            "API key not valid: the Authorization header must be `Bearer <API_KEY>`",
        )),
    }
}

fn key_parameter(head: &RequestHead) -> Option<String> {
    let query = head.uri.query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == PARAMETER)
        .map(|(_, value)| value.into_owned())
}
