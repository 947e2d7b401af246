//! Lookups that wait: `?wait=SECONDS`, or `Prefer: wait=N` (RFC 7240, section 4.3).

use crate::web::problem::Problem;
use crate::web::query;
use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

const PARAMETER: &str = "wait";
const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
/// Seconds that a caller may wait.
const MOST: u64 = 60;

/// For how long a caller is ready to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    seconds: u64,
    is_preference: bool,
}

impl Patience {
    pub fn span(self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// Says in the answer that a preference was honoured.
    pub fn tell(self, headers: &mut HeaderMap) {
        let applied = HeaderValue::from_str(&format!("wait={}", self.seconds));
        if let (true, Ok(value)) = (self.is_preference, applied) {
            headers.insert(PREFERENCE_APPLIED, value);
        }
    }
}

/// What a request says of waiting. The parameter counts before the header.
pub fn asked(request: &HttpRequest) -> Result<Option<Patience>, Problem> {
    let fault = |fault| Problem::validation(vec![fault]);
    if let Some(text) = query::value(request, PARAMETER).map_err(fault)? {
        let seconds = query::number(&text, PARAMETER, 0, MOST).map_err(fault)?;
        return Ok(Some(Patience {
            seconds,
            is_preference: false,
        }));
    }
    Ok(preferred(request.headers()))
}

/// The first `wait` of the `Prefer` headers. What cannot be read is no preference, and more than may be is the most.
fn preferred(headers: &HeaderMap) -> Option<Patience> {
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
    // A number of any length is one, and too long a one is more than the most.
    let seconds = is_number.then(|| text.parse().unwrap_or(MOST).min(MOST))?;
    Some(Patience {
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
        preferred(request.to_http_request().headers()).map(|it| it.seconds)
    }

    #[test]
    fn preferences_are_read_as_rfc_7240_writes_them() {
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
