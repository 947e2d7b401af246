//! Parses the delay that a server requests: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110 10.2.3).

use hyper::header::{HeaderMap, RETRY_AFTER};
use std::time::{Duration, SystemTime};

/// Limits the delay, so that adding it to a time cannot overflow.
const MAX_DELAY: Duration = Duration::from_secs(86_400);

/// Returns the delay, if the headers contain a valid one. A date in the past means no delay.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|it| delay(it, 1_000.0));
    let wait = millis.or_else(|| {
        let value = text(RETRY_AFTER.as_str())?;
        seconds(value).or_else(|| {
            let date = httpdate::parse_http_date(value).ok()?;
            Some(date.duration_since(now).unwrap_or_default())
        })
    })?;
    Some(wait.min(MAX_DELAY))
}

/// Parses a delay in seconds. Accepts fractions: some servers send them, although the standard does not allow them.
pub fn seconds(text: &str) -> Option<Duration> {
    delay(text, 1.0)
}

fn delay(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok().filter(|it: &f64| !it.is_nan())?;
    let bounded = (number / per_second).min(MAX_DELAY.as_secs_f64());
    Duration::try_from_secs_f64(bounded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    fn wait(fields: &[(&'static str, &str)]) -> Option<u128> {
        let headers: HeaderMap = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        // 1994-11-06 08:49:37 UTC, the example date of RFC 9110.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        retry_after(&headers, now).map(|it| it.as_millis())
    }

    #[test]
    fn seconds_milliseconds_and_dates_are_read() {
        let at = "Sun, 06 Nov 1994 08:49:47 GMT";
        assert_eq!(wait(&[("retry-after", "3")]), Some(3_000));
        assert_eq!(wait(&[("retry-after", "0.25")]), Some(250));
        assert_eq!(wait(&[("retry-after", at)]), Some(10_000));
        assert_eq!(wait(&[("retry-after-ms", "1500")]), Some(1_500));
        assert_eq!(
            wait(&[("retry-after", "9"), ("retry-after-ms", "20")]),
            Some(20)
        );
    }

    #[test]
    fn invalid_delays_are_ignored_and_long_ones_bounded() {
        let past = "Sun, 06 Nov 1994 08:49:00 GMT";
        assert_eq!(wait(&[("retry-after", past)]), Some(0));
        assert_eq!(wait(&[("retry-after", "1e300")]), Some(86_400_000));
        for bad in ["", "-1", "NaN", "soon", "-inf"] {
            assert_eq!(wait(&[("retry-after", bad)]), None, "{bad}");
        }
        assert_eq!(wait(&[]), None);
    }
}
