//! Texts that are redacted from a backend's messages: its credentials, whole and in parts, and its address.

use crate::config::{Remote, Secret};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::collections::BTreeSet;
use url::{Position, Url};

/// Authentication schemes: each precedes a credential in a header (RFC 9110, 11).
const SCHEMES: [&str; 5] = ["basic", "bearer", "digest", "negotiate", "token"];

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
    let mut texts: Vec<String> = texts.into_iter().collect();
    texts.sort_by_key(|it| std::cmp::Reverse(it.len()));
    texts
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
}
