//! Redacts texts from a backend's messages and paths: its credentials, whole and in parts, its address, and tokens in its path.

use crate::config::{Remote, Secret};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::collections::BTreeSet;
use url::{Position, Url};

/// Authentication schemes: each precedes a credential in a header (RFC 9110, 11).
const SCHEMES: [&str; 5] = ["basic", "bearer", "digest", "negotiate", "token"];

/// Shorter texts are not redacted: they occur in ordinary sentences.
const MIN_REDACTED_BYTES: usize = 6;
/// A segment of a path that is shorter is no token.
const MIN_TOKEN_BYTES: usize = 20;

pub fn redact(text: &str, redactions: &[String]) -> String {
    let long = redactions
        .iter()
        .filter(|it| it.len() >= MIN_REDACTED_BYTES);
    long.fold(text.to_owned(), |text, it| text.replace(it, "[removed]"))
}

/// The longest text comes first, because removing a part first would leave the rest of the whole visible.
pub fn redactions(remote: &Remote, base: &Url) -> Vec<String> {
    let mut texts = BTreeSet::new();
    let secrets = remote.headers.values().chain(&remote.api_key);
    for secret in secrets.map(Secret::expose) {
        texts.insert(secret.to_owned());
        // The form in `Authorization: Basic`.
        texts.insert(BASE64_STANDARD.encode(secret));
        // A server may echo the password without the user, or the key without the scheme.
        let parts = secret.split(|it: char| it.is_whitespace() || it == ':');
        let parts = parts.filter(|it| !SCHEMES.contains(&it.to_ascii_lowercase().as_str()));
        texts.extend(parts.map(str::to_owned));
    }
    texts.insert(base[Position::BeforeHost..Position::AfterPort].to_owned());
    // A host name without a dot may be an ordinary word.
    let host = base.host_str().filter(|it| it.contains('.'));
    texts.extend(host.map(str::to_owned));
    // Some gateways take a token as a part of the path.
    let segments = base.path_segments().into_iter().flatten();
    texts.extend(segments.filter(|it| is_token(it)).map(str::to_owned));
    let mut texts: Vec<String> = texts.into_iter().collect();
    texts.sort_by_key(|it| std::cmp::Reverse(it.len()));
    texts
}

/// Is the segment of a path long, and of letters and digits?
fn is_token(segment: &str) -> bool {
    let has = |of: fn(&u8) -> bool| segment.bytes().any(|it| of(&it));
    segment.len() >= MIN_TOKEN_BYTES && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::super::error_message::sanitize;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn credentials_are_removed_whole_in_parts_and_as_they_are_sent() {
        let header = |value: &str| ("authorization".to_owned(), Secret::new(value));
        let remote = Remote {
            base_url: "http://gpu.example:7860".into(),
            timeout_seconds: 1,
            retries: 0,
            api_key: Some(Secret::new("tintype:correct-horse")),
            api_key_env: None,
            headers: BTreeMap::from([header("Bearer sk-very-secret")]),
        };
        let base = Url::parse(&remote.base_url).unwrap();
        let redactions = redactions(&remote, &base);
        let clean = |text: &str| sanitize(text, &redactions);
        for (message, shown) in [
            ("user tintype:correct-horse", "user [removed]"),
            (
                "the password correct-horse is wrong",
                "the password [removed] is wrong",
            ),
            (
                "got Basic dGludHlwZTpjb3JyZWN0LWhvcnNl",
                "got Basic [removed]",
            ),
            ("key sk-very-secret, Bearer", "key [removed], Bearer"),
            ("header Bearer sk-very-secret", "header [removed]"),
            ("no gpu.example here", "no [removed] here"),
        ] {
            assert_eq!(clean(message), shown);
        }
    }

    #[test]
    fn a_token_in_the_path_of_the_address_is_removed() {
        let remote = Remote {
            base_url: "https://gateway.example/v1/8e5d1f0c9b7a46d2a3/openai/images".into(),
            timeout_seconds: 1,
            retries: 0,
            api_key: None,
            api_key_env: None,
            headers: BTreeMap::new(),
        };
        let base = Url::parse(&remote.base_url).unwrap();
        let path = format!("{}/generations", base.path());
        let shown = redact(&path, &redactions(&remote, &base));
        assert_eq!(shown, path, "too short for a token");
        let base = Url::parse("https://gateway.example/v1/8e5d1f0c9b7a46d2a3ff/openai").unwrap();
        let path = format!("{}/images/generations", base.path());
        let shown = redact(&path, &redactions(&remote, &base));
        assert_eq!(shown, "/v1/[removed]/openai/images/generations");
    }
}
