//! Maps error responses of the OpenAI API. Their codes are more specific than the status.

use super::super::upstream::{Fault, Response, Upstream, for_caller};
use super::size::Family;
use serde_json::Value;
use tintype_actors::ports::GenerateError;

/// Codes that refuse the content; the last two are Azure's.
const BLOCKED: [&str; 5] = [
    "moderation_blocked",
    "content_policy_violation",
    "content_filter",
    "contentFilter",
    "ResponsibleAIPolicyViolation",
];
/// Codes that refuse the key or its account.
const ACCOUNT_ERRORS: [&str; 6] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "account_deactivated",
    "invalid_api_key",
    "unsupported_country_region_territory",
];
const MODEL_ERRORS: [&str; 1] = ["model_not_found"];

/// Values of `error.param` for fields that the caller does not control.
const OPERATOR_FIELDS: [&str; 6] = ["model", "quality", "size", "response_format", "n", "seed"];

/// What other servers say if they run another model than the requested one.
const NO_SUCH_MODEL: [&str; 4] = ["mismatch", "not found", "does not exist", "no such model"];

/// The error of a response that is no success.
///
/// OpenAI refuses a request because of its content. Other servers have limits of their own, and tell a missing model only in the text.
pub fn to_generate_error(
    upstream: &Upstream,
    family: Family,
    response: &Response,
) -> GenerateError {
    if let Some(known) = by_code(upstream, response) {
        return known;
    }
    let message = upstream.message(&response.body);
    if family == Family::Any && matches!(response.status.as_u16(), 400 | 422) {
        if lacks_model(&message) {
            return upstream.noted(Fault::ModelRejected(message)).into();
        }
        return match upstream.refusal(response, None).into() {
            GenerateError::Refused(reason) => GenerateError::BackendLimit(reason),
            other => other,
        };
    }
    upstream.refusal(response, None).into()
}

fn lacks_model(message: &str) -> bool {
    let text = message.to_ascii_lowercase();
    text.contains("model") && NO_SUCH_MODEL.iter().any(|it| text.contains(it))
}

/// The error of a known code; `None` if only the status tells.
pub fn by_code(upstream: &Upstream, response: &Response) -> Option<GenerateError> {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let codes = codes(&body);
    let has_code = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
    let message = upstream.message(&response.body);
    if has_code(&BLOCKED) {
        return Some(GenerateError::Blocked(match for_caller(message) {
            text if text.is_empty() => "the image generator refused the content".into(),
            text => text,
        }));
    }
    if has_code(&ACCOUNT_ERRORS) {
        return Some(upstream.noted(Fault::AccountRejected(message)).into());
    }
    let param = body.pointer("/error/param").and_then(Value::as_str);
    let is_setting = param.is_some_and(|it| OPERATOR_FIELDS.contains(&it));
    (has_code(&MODEL_ERRORS) || is_setting)
        .then(|| upstream.noted(Fault::ModelRejected(message)).into())
}

/// `error.code`, `error.type` and the code of Azure's filter; servers use the same codes in either.
fn codes(body: &Value) -> Vec<String> {
    let places = ["/error/code", "/error/type", "/error/inner_error/code"];
    let word = |place: &&str| body.pointer(place)?.as_str().map(str::to_owned);
    places.iter().filter_map(word).collect()
}
