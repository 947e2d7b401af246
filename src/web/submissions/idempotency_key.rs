//! The `Idempotency-Key` header, and responses to replayed calls.

use crate::web::headers::single;
use crate::web::problem::FieldFault;
use actix_web::http::header::{HeaderMap, HeaderName};
use actix_web::{HttpResponse, HttpResponseBuilder};

pub const HEADER: &str = "Idempotency-Key";
const NAME: HeaderName = HeaderName::from_static("idempotency-key");
/// Marks the response to a replayed call.
pub const REPLAYED: (&str, &str) = ("Idempotent-Replayed", "true");
const MAX_CHARS: usize = 255;

/// 201
pub fn creation_response(is_replay: bool) -> HttpResponseBuilder {
    let mut response = HttpResponse::Created();
    if is_replay {
        response.insert_header(REPLAYED);
    }
    response
}

pub fn is_given(headers: &HeaderMap) -> bool {
    headers.contains_key(&NAME)
}

/// Parses the header; `None` without it.
///
/// Strips one pair of double quotes: the IETF draft requires them, most clients omit them.
pub fn key(headers: &HeaderMap) -> Result<Option<String>, FieldFault> {
    let value = single(headers, &NAME).map_err(|it| it.fault(HEADER))?;
    let Some(value) = value else {
        return Ok(None);
    };
    let expected = "must be 1 to 255 visible ASCII characters";
    let fault = || FieldFault::new(HEADER, expected);
    let text = value.to_str().map_err(|_| fault())?;
    let bare = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(text);
    let fits =
        (1..=MAX_CHARS).contains(&bare.len()) && bare.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        Ok(Some(bare.to_owned()))
    } else {
        Err(fault())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    fn read(values: &[&[u8]]) -> Result<Option<String>, FieldFault> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(
                HeaderName::from_static("idempotency-key"),
                HeaderValue::from_bytes(value).unwrap(),
            );
        }
        key(&headers)
    }

    #[test]
    fn hostile_51_sizes_and_characters() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[b"a"]), Ok(Some("a".into())));
        assert_eq!(read(&[b"\"a b\""]).unwrap_err().field, HEADER);
        assert_eq!(read(&[b"\"ab\""]), Ok(Some("ab".into())));
        assert_eq!(read(&[b"\"ab"]), Ok(Some("\"ab".into())));
        assert_eq!(read(&[&[b'x'; 255]]), Ok(Some("x".repeat(255))));
        for bad in [
            &b""[..],
            b"\"\"",
            &[b'x'; 256],
            &[b'x'; 65_536],
            "é".as_bytes(),
            b"a b",
        ] {
            assert!(read(&[bad]).is_err(), "{bad:?}");
        }
        assert!(read(&[b"a", b"a"]).is_err());
    }
}
