//! Signs and verifies the download URLs of locally stored files:
//! `{public_url}/files/<key>?expires=<unix>&signature=<hex hmac-sha256>`.
//!
//! [`super::signing_key`] defines the signed text. All functions are pure; the time is an argument.

use super::signing_key::{FileSigningKey, SIGNATURE_BYTES};
use super::{ObjectStorage, key};
use chrono::{DateTime, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;
use url::{Position, Url};

/// Escapes everything except the unreserved characters of RFC 3986, section 2.3, and the slash.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// `u64::MAX` has 20 digits.
const MAX_EXPIRES_DIGITS: usize = 20;

/// Signs a URL that is valid for at least `lifetime_seconds` from `now`, and at most one second
/// longer: a fraction of a second of `now` is rounded up.
pub(crate) fn write(
    public_url: &str,
    signing_key: &FileSigningKey,
    key: &str,
    now: DateTime<Utc>,
    lifetime_seconds: u64,
) -> String {
    let started =
        u64::try_from(now.timestamp()).unwrap_or(0) + u64::from(now.timestamp_subsec_nanos() > 0);
    let expires = started.saturating_add(lifetime_seconds);
    let signature = hex::encode(signing_key.sign(key, expires));
    let path = utf8_percent_encode(key, ESCAPED);
    format!("{public_url}/files/{path}?expires={expires}&signature={signature}")
}

/// Why a download URL is refused.
#[derive(Debug, thiserror::Error)]
pub enum UrlFault {
    #[error("this server did not sign this URL, or it was changed")]
    InvalidSignature,
    /// The signature is valid.
    #[error("the URL has expired; get the job again for a new one")]
    Expired,
}

/// The permission that a valid URL grants.
#[derive(Debug, PartialEq, Eq)]
pub struct Grant {
    pub key: String,
    /// Whole seconds until the URL expires.
    pub remaining_seconds: u64,
}

/// Verifies a URL: `raw_key` is the path after `/files/`, still escaped, and `query` the text after
/// the question mark.
///
/// # Errors
/// First `UrlFault::InvalidSignature` for any URL that this server cannot have signed (invalid
/// key, other query parameters, wrong signature), and only then `UrlFault::Expired`: without a
/// valid signature a caller cannot learn whether a URL has expired.
pub(crate) fn read(
    signing_key: &FileSigningKey,
    raw_key: &str,
    query: &str,
    now: DateTime<Utc>,
) -> Result<Grant, UrlFault> {
    let object = unescape(raw_key).ok_or(UrlFault::InvalidSignature)?;
    let (expires, signature) = parameters(query).ok_or(UrlFault::InvalidSignature)?;
    if key::location(&object).is_err() || !signing_key.verify(&object, expires, &signature) {
        return Err(UrlFault::InvalidSignature);
    }
    let now = u64::try_from(now.timestamp()).unwrap_or(0);
    if now >= expires {
        return Err(UrlFault::Expired);
    }
    Ok(Grant {
        key: object.into_owned(),
        remaining_seconds: expires - now,
    })
}

impl ObjectStorage {
    /// Verifies a URL if it has the form of those that [`Self::presign`] writes for the local store; `None` for any other URL.
    pub fn read_own_url(&self, url: &Url, now: DateTime<Utc>) -> Option<Result<Grant, UrlFault>> {
        if !self.is_local() {
            return None;
        }
        // Parsed as the caller's URL was, so that both have one spelling.
        let files = Url::parse(&format!("{}/files/", self.inner.public_url)).ok()?;
        let rest = url[..Position::AfterQuery].strip_prefix(files.as_str())?;
        let (raw_key, query) = rest.split_once('?').unwrap_or((rest, ""));
        // A parameter of a view leads to another image.
        let is_signed = |it: &str| it.starts_with("expires=") || it.starts_with("signature=");
        let has_form = query.is_empty() || query.split('&').all(is_signed);
        has_form.then(|| self.read_url(raw_key, query, now))
    }
}

/// Decodes the escapes once. Rejects an escaped slash, backslash or NUL even though the signature
/// would have to match: no signed URL holds one, and proxies treat them differently.
fn unescape(raw_key: &str) -> Option<Cow<'_, str>> {
    let lower = raw_key.to_ascii_lowercase();
    if ["%2f", "%5c", "%00"]
        .iter()
        .any(|code| lower.contains(code))
    {
        return None;
    }
    percent_decode_str(raw_key).decode_utf8().ok()
}

/// The two parameters, in either order, each exactly once, in canonical spelling.
fn parameters(query: &str) -> Option<(u64, [u8; SIGNATURE_BYTES])> {
    let (first, second) = query.split_once('&')?;
    let (expires, signature) = match (first.split_once('=')?, second.split_once('=')?) {
        (("expires", expires), ("signature", signature))
        | (("signature", signature), ("expires", expires)) => (expires, signature),
        _ => return None,
    };
    Some((plain_number(expires)?, lower_hex(signature)?))
}

/// Decimal digits without sign, space or leading zero, so that each number has one spelling.
fn plain_number(text: &str) -> Option<u64> {
    let plain = (1..=MAX_EXPIRES_DIGITS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// Exactly 64 lower-case hexadecimal digits.
fn lower_hex(text: &str) -> Option<[u8; SIGNATURE_BYTES]> {
    let mut bytes = [0; SIGNATURE_BYTES];
    let lower = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (lower && hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    const DAY: u64 = 86_400;
    const KEY: &str = "results/0198c0de-0000-7000-8000-000000000001.png";

    fn signing_key() -> FileSigningKey {
        FileSigningKey::from_bytes(&[7; 32])
    }

    fn signed_at() -> DateTime<Utc> {
        DateTime::from_timestamp(1_790_000_000, 250_000_000).unwrap()
    }

    /// The escaped key and the query of a URL signed for `key`.
    fn split(key: &str) -> (String, String) {
        let url = write(
            "https://pictures.example",
            &signing_key(),
            key,
            signed_at(),
            DAY,
        );
        let rest = url.strip_prefix("https://pictures.example/files/").unwrap();
        let (path, query) = rest.split_once('?').unwrap();
        (path.to_owned(), query.to_owned())
    }

    fn read_at(path: &str, query: &str, after: TimeDelta) -> Result<Grant, UrlFault> {
        read(&signing_key(), path, query, signed_at() + after)
    }

    fn assert_invalid(path: &str, query: &str) {
        let outcome = read_at(path, query, TimeDelta::zero());
        assert!(
            matches!(outcome, Err(UrlFault::InvalidSignature)),
            "{path:?} with {query:?} gave {outcome:?}"
        );
    }

    #[test]
    fn an_address_is_valid_for_its_lifetime_and_no_longer() {
        let (path, query) = split(KEY);
        let day = TimeDelta::days(1);
        let second = TimeDelta::seconds(1);
        let grant = read_at(&path, &query, TimeDelta::zero()).unwrap();
        assert_eq!(grant.key, KEY);
        assert_eq!(grant.remaining_seconds, DAY + 1);
        assert_eq!(
            read_at(&path, &query, day - second)
                .unwrap()
                .remaining_seconds,
            2
        );
        assert!(read_at(&path, &query, day).is_ok());
        for after in [day + second, day * 400] {
            assert!(matches!(
                read_at(&path, &query, after),
                Err(UrlFault::Expired)
            ));
        }
    }

    #[test]
    fn a_time_on_the_second_is_not_rounded() {
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        let url = write("", &signing_key(), "a", now, 10);
        assert!(url.contains("expires=1010&"), "{url}");
    }

    #[test]
    fn a_clock_before_1970_or_a_boundless_lifetime_does_no_harm() {
        let early = DateTime::from_timestamp(-5, 0).unwrap();
        assert!(write("", &signing_key(), "a", early, 10).contains("expires=10&"));
        let url = write("", &signing_key(), "a", signed_at(), u64::MAX);
        let query = url.split_once('?').unwrap().1.to_owned();
        assert!(read_at("a", &query, TimeDelta::days(36_500)).is_ok());
    }

    #[test]
    fn the_two_parameters_may_be_in_either_order() {
        let (path, query) = split(KEY);
        let (expires, signature) = query.split_once('&').unwrap();
        assert!(read_at(&path, &format!("{signature}&{expires}"), TimeDelta::zero()).is_ok());
    }

    #[test]
    fn a_changed_query_is_refused() {
        let (path, query) = split(KEY);
        let (expires, signature) = query.split_once('&').unwrap();
        let hex = signature.strip_prefix("signature=").unwrap();
        let digits = expires.strip_prefix("expires=").unwrap();
        let later = digits.parse::<u64>().unwrap() + 1;
        let mut flipped = hex.to_owned();
        let last = if hex.ends_with('0') { "1" } else { "0" };
        flipped.replace_range(63..64, last);
        for changed in [
            String::new(),
            expires.to_owned(),
            signature.to_owned(),
            format!("{expires}&signature="),
            format!("{expires}&signature"),
            format!("{expires}&signature={}", &hex[..62]),
            format!("{expires}&signature={}", &hex[..63]),
            format!("{expires}&signature={hex}00"),
            format!("{expires}&signature={}", hex.to_uppercase()),
            format!("{expires}&signature={flipped}"),
            format!("{expires}&signature=%30{}", &hex[1..]),
            format!("{expires}&signature={}", "g".repeat(64)),
            format!("{expires}&signature={}", "é".repeat(32)),
            format!("expires={later}&{signature}"),
            format!("expires=+{digits}&{signature}"),
            format!("expires=0{digits}&{signature}"),
            format!("expires={digits}.0&{signature}"),
            format!("expires=&{signature}"),
            format!("expires=-1&{signature}"),
            format!("expires=99999999999999999999&{signature}"),
            format!("expires=999999999999999999999999&{signature}"),
            format!("{query}&{expires}"),
            format!("{query}&{signature}"),
            format!("{query}&utm_source=x"),
            format!("{query}&"),
            format!("&{query}"),
            format!("{expires}&{expires}"),
            format!("{signature}&{signature}"),
            format!("Expires={digits}&{signature}"),
        ] {
            assert_invalid(&path, &changed);
        }
    }

    #[test]
    fn a_signature_is_for_one_key_only() {
        let (_, query) = split(KEY);
        for other in [
            "results/0198c0de-0000-7000-8000-000000000002.png",
            "results/0198c0de-0000-7000-8000-000000000001.webp",
            "results/0198c0de-0000-7000-8000-000000000001.pn",
            "results/0198C0DE-0000-7000-8000-000000000001.png",
            "",
            "results",
        ] {
            assert_invalid(other, &query);
        }
    }

    #[test]
    fn another_server_s_signature_is_refused() {
        let (path, query) = split(KEY);
        let other = FileSigningKey::from_bytes(&[8; 32]);
        assert!(matches!(
            read(&other, &path, &query, signed_at()),
            Err(UrlFault::InvalidSignature)
        ));
    }

    /// Even a valid signature over such a key grants nothing.
    #[test]
    fn a_key_that_could_leave_the_store_is_refused_despite_a_valid_signature() {
        let expires = 1_800_000_000;
        for (signed, raw) in [
            ("../secret", "../secret"),
            ("../secret", "%2e%2e/secret"),
            ("../secret", "..%2Fsecret"),
            ("results/../../secret", "results/%2E%2E/%2e%2e/secret"),
            ("/etc/passwd", "/etc/passwd"),
            ("/etc/passwd", "%2Fetc/passwd"),
            ("a\0.png", "a%00.png"),
            ("a\\b", "a%5Cb"),
            ("a\\b", "a\\b"),
            ("a/b", "a%2fb"),
            ("results//a", "results//a"),
            ("%2e%2e/secret", "%252e%252e/secret"),
            ("a\u{fffd}", "a%ff"),
        ] {
            let signature = hex::encode(signing_key().sign(signed, expires));
            assert_invalid(raw, &format!("expires={expires}&signature={signature}"));
        }
    }

    #[test]
    fn spaces_and_unicode_round_trip() {
        for key in ["results/a b+c&d=e;f.png", "bilder/größe 画像 🙂.png"] {
            let (path, query) = split(key);
            assert!(path.is_ascii() && !path.contains(' '));
            assert_eq!(read_at(&path, &query, TimeDelta::zero()).unwrap().key, key);
        }
    }
}
