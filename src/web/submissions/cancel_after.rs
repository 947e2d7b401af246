//! The `Cancel-After` header: how long a job may stay queued.

use crate::web::headers::single;
use crate::web::problem::FieldFault;
use actix_web::http::header::{HeaderMap, HeaderName};
use std::time::Duration;

pub const HEADER: &str = "Cancel-After";
const NAME: HeaderName = HeaderName::from_static("cancel-after");
const MAX: Duration = Duration::from_secs(7 * 86_400);

/// The time after which a queued job fails; `None` without the header.
pub fn span(headers: &HeaderMap) -> Result<Option<Duration>, FieldFault> {
    let value = single(headers, &NAME).map_err(|it| it.fault(HEADER))?;
    let Some(value) = value else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let span = parse(text).filter(|it| (Duration::from_secs(1)..=MAX).contains(it));
    let expected =
        "must be a number of seconds, minutes or hours, such as 30s, 5m or 1h, up to 168h";
    span.map(Some)
        .ok_or_else(|| FieldFault::new(HEADER, expected))
}

fn parse(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let number = text.strip_suffix(unit)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    let number: u64 = number.parse().ok().filter(|_| is_number)?;
    Some(Duration::from_secs(number.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    fn read(values: &[&str]) -> Result<Option<u64>, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(
                HeaderName::from_static("cancel-after"),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        let span = span(&headers).map_err(|fault| fault.message)?;
        Ok(span.map(|it| it.as_secs()))
    }

    #[test]
    fn seconds_minutes_and_hours_are_read() {
        for (text, seconds) in [("30s", 30), ("5m", 300), ("1h", 3_600), ("168h", 604_800)] {
            assert_eq!(read(&[text]), Ok(Some(seconds)), "{text}");
        }
        assert_eq!(read(&[]), Ok(None));
    }

    #[test]
    fn other_values_are_rejected() {
        for bad in [
            "",
            "s",
            "5",
            "0s",
            "-1s",
            "+1s",
            "1.5h",
            "1 h",
            "1d",
            "169h",
            "99999999999999999999h",
        ] {
            assert!(read(&[bad]).is_err(), "{bad:?}");
        }
        assert!(read(&["1s", "1s"]).unwrap_err().contains("twice"));
    }
}
