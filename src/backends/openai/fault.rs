//! Maps error answers of the OpenAI API. Their codes are more specific than the status.

use super::super::upstream::{Answer, Fault, Upstream, error_message};
use serde_json::Value;
use tintype_actors::ports::GenerateError;

/// Codes that refuse the content.
const BLOCKED: [&str; 3] = [
    "moderation_blocked",
    "content_policy_violation",
    "content_filter",
];
/// Codes for problems that only the operator can fix.
const OPERATOR_ERRORS: [&str; 5] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "model_not_found",
    "invalid_api_key",
];

/// Values of `error.param` for fields that the caller does not control.
const OPERATOR_FIELDS: [&str; 5] = ["model", "quality", "size", "response_format", "n"];

pub fn to_generate_error(upstream: &Upstream, answer: &Answer) -> GenerateError {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let codes = codes(&body);
    let has_code = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
    let message = || upstream.clean(&error_message(&answer.body).unwrap_or_default());
    if has_code(&BLOCKED) {
        return GenerateError::Blocked(match message() {
            text if text.is_empty() => "the image generator refused the content".into(),
            text => text,
        });
    }
    let param = body.pointer("/error/param").and_then(Value::as_str);
    if has_code(&OPERATOR_ERRORS) || param.is_some_and(|it| OPERATOR_FIELDS.contains(&it)) {
        return upstream.logged("", Fault::Unusable(message())).into();
    }
    upstream.refusal(answer, None).into()
}

/// `error.code` and `error.type`; servers use the same codes in either.
fn codes(body: &Value) -> Vec<String> {
    let error = body.get("error");
    let word = |key: &str| error?.get(key)?.as_str().map(str::to_owned);
    [word("code"), word("type")].into_iter().flatten().collect()
}
