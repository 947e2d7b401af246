//! Who calls: by `x-goog-api-key`, `?key=`, or `Authorization: Bearer`.

use super::refusal::{Kind, Refusal};
use crate::application::payer::Payer;
use crate::application::state::AppState;
use crate::web::api_key_auth::{self, KeyRejected};
use crate::web::bearer::{self, NoBearer};
use actix_web::HttpRequest;
use actix_web::dev::RequestHead;
use actix_web::http::header;

const HEADER: &str = "x-goog-api-key";
const PARAMETER: &str = "key";

/// The key that a call has shown.
///
/// # Errors
/// `MissingKey` and `InvalidKey`. What was sent is never repeated. The call is counted against the key's rate; that it was one
/// too many is told later, in its order.
pub async fn authenticate(request: &HttpRequest, state: &AppState) -> Result<Payer, Refusal> {
    let shown = shown(request)?.ok_or_else(|| {
        Refusal::new(
            Kind::MissingKey,
            "send an API key: in the header x-goog-api-key, as ?key=, or as Authorization: Bearer",
        )
    })?;
    let admitted = api_key_auth::authenticate(request, state, &shown).await;
    admitted.map_err(|refused| match refused {
        KeyRejected::Unknown => invalid(
            "API key not valid. Please pass a valid API key; check that it was copied whole.",
        ),
        KeyRejected::Key(_) => invalid(&format!("API key not valid: {refused}")),
        KeyRejected::Address(_) => Refusal::new(Kind::WrongAddress, refused.to_string()),
        KeyRejected::Store(error) => error.into(),
    })
}

/// Was the key sent as the OpenAI SDKs send it, and in no other way?
pub fn is_bearer_alone(request: &HttpRequest) -> bool {
    request.headers().contains_key(header::AUTHORIZATION) && !is_of_google(request.head())
}

/// Was a key sent as Google's SDKs send it?
pub fn is_of_google(head: &RequestHead) -> bool {
    head.headers.contains_key(HEADER) || parameter(head).is_some()
}

fn invalid(message: &str) -> Refusal {
    Refusal::new(Kind::InvalidKey, message)
}

fn shown(request: &HttpRequest) -> Result<Option<String>, Refusal> {
    let headers = request.headers();
    let twice = || invalid("API key not valid: its header stands twice; send it once");
    let mut of_google = headers.get_all(HEADER);
    if let Some(value) = of_google.next() {
        if of_google.next().is_some() {
            return Err(twice());
        }
        let text = value.to_str().unwrap_or("?");
        return Ok(Some(text.to_owned()).filter(|text| !text.is_empty()));
    }
    if let Some(key) = parameter(request.head()) {
        return Ok(Some(key).filter(|key| !key.is_empty()));
    }
    match bearer::read(headers) {
        Ok(token) => Ok(Some(token.to_owned())),
        Err(NoBearer::Missing) => Ok(None),
        Err(NoBearer::Repeated) => Err(twice()),
        Err(NoBearer::Malformed) => Err(invalid(
            "API key not valid: the Authorization header must be `Bearer <API_KEY>`",
        )),
    }
}

fn parameter(head: &RequestHead) -> Option<String> {
    let query = head.uri.query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == PARAMETER)
        .map(|(_, value)| value.into_owned())
}
