//! Error answers of the Gemini API: what its details say beyond the status.

use super::super::upstream::{Answer, Fault, Upstream};
use serde_json::Value;
use std::time::Duration;

/// The fault of an answer without success.
pub fn of(upstream: &Upstream, answer: &Answer) -> Fault {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    // Some servers put the envelope into a list of one.
    let error = body.get(0).unwrap_or(&body).get("error");
    if answer.status.as_u16() == 400 && error.is_some_and(is_the_operators) {
        let told = super::super::upstream::error_message(&answer.body).unwrap_or_default();
        return upstream.logged("", Fault::Unusable(upstream.clean(&told)));
    }
    upstream.refusal(answer, error.and_then(retry_delay))
}

/// Google answers a bad key, a place that it does not serve and an account without a plan with 400, as if the request were
/// at fault.
fn is_the_operators(error: &Value) -> bool {
    let reasons = details(error).filter_map(|it| it.get("reason")?.as_str());
    let mut bad_key = reasons.filter(|it| it.starts_with("API_KEY_"));
    error.get("status").and_then(Value::as_str) == Some("FAILED_PRECONDITION")
        || bad_key.next().is_some()
}

/// `RetryInfo.retryDelay`: seconds, perhaps with a fraction, and an `s`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let text = details(error).find_map(|it| it.get("retryDelay")?.as_str())?;
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    if seconds.is_nan() {
        return None;
    }
    Duration::try_from_secs_f64(seconds.min(86_400.0)).ok()
}

fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_delay_is_found_among_the_details() {
        let delay = |text: &str| {
            retry_delay(&json!({"code": 429, "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": text}]}))
        };
        assert_eq!(delay("37s"), Some(Duration::from_secs(37)));
        assert_eq!(delay("0.25s"), Some(Duration::from_millis(250)));
        assert_eq!(delay("1e99s"), Some(Duration::from_secs(86_400)));
        for bad in ["", "s", "-1s", "5", "NaNs"] {
            assert_eq!(delay(bad), None, "{bad}");
        }
        assert_eq!(retry_delay(&json!({"code": 503})), None);
    }

    #[test]
    fn a_bad_key_and_a_place_that_is_not_served_are_the_operators() {
        let key = json!({"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]});
        let place = json!({"status": "FAILED_PRECONDITION", "message": "User location"});
        let request = json!({"status": "INVALID_ARGUMENT", "details": [{"fieldViolations": []}]});
        assert!(is_the_operators(&key) && is_the_operators(&place));
        assert!(!is_the_operators(&request));
    }
}
