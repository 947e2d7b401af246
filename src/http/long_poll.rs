//! Long polling: `?wait=SECONDS`, or `Prefer: wait=N` (RFC 7240, section 4.3).

use crate::web::problem::Problem;
use crate::web::queries::query;
use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

const PARAMETER: &str = "wait";
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Seconds.
const MAX_WAIT: u64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    seconds: u64,
    is_preference: bool,
}

impl Wait {
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Confirms an honoured preference.
    pub fn write_header(self, headers: &mut HeaderMap) {
        let applied = HeaderValue::from_str(&format!("wait={}", self.seconds));
        if let (true, Ok(value)) = (self.is_preference, applied) {
            headers.insert(PREFERENCE_APPLIED, value);
        }
    }
}

/// The parameter takes precedence over the header.
pub fn requested_wait(request: &HttpRequest) -> Result<Option<Wait>, Problem> {
    let seconds = |name: &str, text: &str| query::number(name, text, 0, MAX_WAIT);
    Ok(match query::parsed(request, PARAMETER, seconds)? {
        Some(seconds) => Some(Wait {
            seconds,
            is_preference: false,
        }),
        None => preferred_wait(request.headers()),
    })
}

/// The first `wait` of the `Prefer` headers. Ignores an invalid value and caps a larger one.
fn preferred_wait(headers: &HeaderMap) -> Option<Wait> {
    let values = headers
        .get_all(PREFER)
        .filter_map(|value| value.to_str().ok());
    let preferences = values.flat_map(|value| value.split(','));
    let mut waits = preferences.filter_map(|preference| {
        let bare = preference.split(';').next()?;
        let (name, value) = bare.split_once('=')?;
        let is_wait = name.trim().eq_ignore_ascii_case(PARAMETER);
        is_wait.then(|| value.trim().trim_matches('"'))
    });
    let text = waits.next()?;
    let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    // A number too long to parse exceeds the maximum.
    let seconds = is_number.then(|| text.parse().unwrap_or(MAX_WAIT).min(MAX_WAIT))?;
    Some(Wait {
        seconds,
        is_preference: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::TestRequest;

    fn seconds(headers: &[&str]) -> Option<u64> {
        let mut request = TestRequest::default();
        for header in headers {
            request = request.append_header((PREFER, *header));
        }
        preferred_wait(request.to_http_request().headers()).map(|it| it.seconds)
    }

    #[test]
    fn preferences_follow_rfc_7240() {
        for (headers, expected) in [
            (&["wait=5"][..], Some(5)),
            (&["respond-async, wait=5"], Some(5)),
            (&["respond-async", "Wait = \"7\"; foo=1"], Some(7)),
            (&["wait=3, wait=9"], Some(3)),
            (&["wait=0"], Some(0)),
            (&["wait=61"], Some(60)),
            (&["wait=99999999999999999999999"], Some(60)),
            (&["wait"], None),
            (&["wait="], None),
            (&["wait=-1"], None),
            (&["wait=+1"], None),
            (&["wait=1.5"], None),
            (&["wait=\u{e9}"], None),
            (&["awaits=4", "handling=lenient"], None),
            (&[",,;=,"], None),
            (&[], None),
        ] {
            assert_eq!(seconds(headers), expected, "{headers:?}");
        }
    }
}
