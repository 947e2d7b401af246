//! The deadline of a request.

use crate::application::settings::Settings;
use crate::observability::request_log;
use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;
use std::time::Duration;
use tokio::time::Instant;

/// Timeout of the caller in seconds, sent by Google's SDKs.
const HEADER: &str = "x-server-timeout";
/// Timeouts of OpenAI's SDKs in seconds. They begin again with each part of a response in Python, and end with its head in JavaScript.
const READ_TIMEOUTS: [&str; 2] = ["x-stainless-read-timeout", "x-stainless-timeout"];
/// The time that an error needs to reach the caller before its timeout, unless that is short.
const MARGIN: Duration = Duration::from_secs(1);
/// The margin is at most this part of the timeout.
const MARGIN_DIVISOR: u32 = 10;

/// The deadline of a request that starts now: the configured timeout, or the caller's if that is shorter.
pub fn of_request(request: &HttpRequest, settings: &Settings) -> Instant {
    let limit = settings.config.compat.timeout();
    let now = Instant::now();
    match seconds(request.headers(), HEADER).map(less_margin) {
        Some(requested) if requested < limit => callers(request, now + requested),
        _ => now + limit,
    }
}

/// The deadline of a request that has arrived and whose response is not a stream: `deadline`, or the caller's read timeout if that ends
/// before. Keep-alives restart this timeout in a stream.
pub fn before_read_timeout(request: &HttpRequest, deadline: Instant) -> Instant {
    let now = Instant::now();
    let left = deadline.saturating_duration_since(now);
    match max_wait(request.headers()) {
        wait if wait < left => callers(request, now + wait),
        _ => now + left,
    }
}

/// A deadline that the caller has chosen. When it passes, the service is not at fault.
fn callers(request: &HttpRequest, deadline: Instant) -> Instant {
    request_log::record_callers_deadline(request, deadline);
    deadline
}

/// How long the response may take.
fn max_wait(headers: &HeaderMap) -> Duration {
    let timeouts = READ_TIMEOUTS.iter().filter_map(|it| seconds(headers, it));
    timeouts.min().map_or(Duration::MAX, less_margin)
}

fn less_margin(timeout: Duration) -> Duration {
    timeout - MARGIN.min(timeout / MARGIN_DIVISOR)
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    let value = headers.get(name)?.to_str().ok()?;
    let seconds = value.trim().parse::<f64>().ok()?;
    let positive = Some(seconds).filter(|it| *it > 0.0)?;
    Duration::try_from_secs_f64(positive).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn wait(headers: &[(&'static str, &str)]) -> Duration {
        let request = TestRequest::default();
        let request = headers
            .iter()
            .fold(request, |it, header| it.insert_header(*header));
        max_wait(request.to_http_request().headers())
    }

    #[test]
    fn a_response_precedes_the_read_timeout_of_the_caller() {
        let millis = |headers: &[(&'static str, &str)]| wait(headers).as_millis();
        assert_eq!(millis(&[("x-stainless-read-timeout", "60")]), 59_000);
        assert_eq!(millis(&[("x-stainless-read-timeout", "2.5")]), 2_250);
        assert_eq!(millis(&[("x-stainless-timeout", "60")]), 59_000);
        let both = [
            ("x-stainless-read-timeout", "60"),
            ("x-stainless-timeout", "30"),
        ];
        assert_eq!(millis(&both), 29_000);
        for ignored in ["", "0", "-1", "soon", "NaN", "1e999"] {
            let headers = [("x-stainless-read-timeout", ignored)];
            assert_eq!(wait(&headers), Duration::MAX, "{ignored}");
        }
        assert_eq!(wait(&[]), Duration::MAX);
    }

    #[test]
    fn a_long_read_timeout_leaves_the_deadline() {
        let deadline = Instant::now() + Duration::from_secs(280);
        for seconds in ["600", "1e15"] {
            let request = TestRequest::default().insert_header((READ_TIMEOUTS[0], seconds));
            let request = request.to_http_request();
            assert_eq!(before_read_timeout(&request, deadline), deadline);
        }
    }
}
