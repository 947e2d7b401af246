//! Error answers of the OpenAI API: what its codes say beyond the status.

use super::super::upstream::{Answer, Fault, Upstream, error_message};
use serde_json::Value;
use tintype_actors::ports::GenerateError;

/// Refusals of the content.
const BLOCKED: [&str; 3] = [
    "moderation_blocked",
    "content_policy_violation",
    "content_filter",
];
/// What only the operator can mend, and no waiting does.
const OPERATORS: [&str; 5] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "model_not_found",
    "invalid_api_key",
];

/// Fields that are not of the caller's making, as `error.param` names them.
const OPERATORS_FIELDS: [&str; 5] = ["model", "quality", "size", "response_format", "n"];

/// Why there is no picture, of an answer without success.
pub fn of(upstream: &Upstream, answer: &Answer) -> GenerateError {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let words = codes(&body);
    let said = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let told = || upstream.clean(&error_message(&answer.body).unwrap_or_default());
    if said(&BLOCKED) {
        return GenerateError::Blocked(match told() {
            told if told.is_empty() => "the image generator refused the content".into(),
            told => told,
        });
    }
    let param = body.pointer("/error/param").and_then(Value::as_str);
    if said(&OPERATORS) || param.is_some_and(|it| OPERATORS_FIELDS.contains(&it)) {
        return upstream.logged("", Fault::Unusable(told())).into();
    }
    upstream.refusal(answer, None).into()
}

/// `error.code` and `error.type`; servers put the same words into either.
fn codes(body: &Value) -> Vec<String> {
    let error = body.get("error");
    let word = |key: &str| error?.get(key)?.as_str().map(str::to_owned);
    [word("code"), word("type")].into_iter().flatten().collect()
}
