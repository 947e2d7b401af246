//! Maps error responses of the Gemini API. Their `details` are more specific than the status.

use super::super::upstream::{Fault, Response, Upstream};
use serde_json::Value;
use std::time::Duration;

pub fn to_fault(upstream: &Upstream, response: &Response) -> Fault {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    // Some servers wrap the envelope in a list of one.
    let error = body.get(0).unwrap_or(&body).get("error");
    let rejects_account = match response.status.as_u16() {
        400 | 403 => error.is_some_and(rejects_account),
        429 => error.is_some_and(is_daily_quota),
        _ => false,
    };
    if rejects_account {
        let message = upstream.message(&response.body);
        return upstream.noted(Fault::AccountRejected(message));
    }
    upstream.refusal(response, error.and_then(retry_delay))
}

/// The fault in a success: some gateways wrap the error response of the API in one. `body` is that of a response without an image.
pub fn in_success(upstream: &Upstream, mut response: Response) -> Option<Fault> {
    let body: Value = serde_json::from_slice(&response.body).ok()?;
    let code = body.pointer("/error/code")?.as_u64()?;
    response.status = u16::try_from(code).ok()?.try_into().ok()?;
    let is_error = response.status.is_client_error() || response.status.is_server_error();
    is_error.then(|| to_fault(upstream, &response))
}

/// Google answers 400 to a bad key, an unsupported location and an account without a plan, as if the request were at fault, and 403
/// to a key or an account that is suspended.
fn rejects_account(error: &Value) -> bool {
    let reasons = details(error).filter_map(|it| it.get("reason")?.as_str());
    let mut bad_key = reasons.filter(|it| it.starts_with("API_KEY_"));
    let status = error.get("status").and_then(Value::as_str);
    matches!(status, Some("FAILED_PRECONDITION" | "PERMISSION_DENIED")) || bad_key.next().is_some()
}

/// Is the quota of a day used up? Google answers 429 with a short delay then too. `QuotaFailure` names the quota.
fn is_daily_quota(error: &Value) -> bool {
    let violations = details(error).filter_map(|it| it.get("violations")?.as_array());
    let quotas = violations.flatten().filter_map(|it| it.get("quotaId"));
    quotas
        .filter_map(Value::as_str)
        .any(|it| it.contains("PerDay"))
}

/// `RetryInfo.retryDelay`: seconds, with an optional fraction, and the suffix `s`.
fn retry_delay(error: &Value) -> Option<Duration> {
    let text = details(error).find_map(|it| it.get("retryDelay")?.as_str())?;
    tintype_egress::seconds(text.strip_suffix('s')?)
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
    fn the_quota_of_a_day_is_told_from_that_of_a_minute() {
        let exhausted = |quota: &str| {
            is_daily_quota(&json!({"code": 429, "details": [
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"},
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}]}))
        };
        assert!(exhausted(
            "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
        ));
        assert!(!exhausted("GenerateRequestsPerMinutePerProjectPerModel"));
        assert!(!is_daily_quota(&json!({"code": 429})));
    }

    #[test]
    fn a_bad_key_an_unsupported_location_and_a_suspended_account_reject_all_requests() {
        let key = json!({"status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]});
        let place = json!({"status": "FAILED_PRECONDITION", "message": "User location"});
        let request = json!({"status": "INVALID_ARGUMENT", "details": [{"fieldViolations": []}]});
        let suspended = json!({"status": "PERMISSION_DENIED", "message": "suspended"});
        assert!([key, place, suspended].iter().all(rejects_account));
        assert!(!rejects_account(&request));
    }
}
