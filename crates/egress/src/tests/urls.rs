//! Tests of URLs from callers and from redirects.

use url::Url;

use super::addresses::rows;
use crate::{AddressGate, MAX_URL_CHARS, UrlError, parse_url, resolve_location};

fn verdict(text: &str) -> &'static str {
    match parse_url(text) {
        Ok(url) if AddressGate::default().check_host(&url).is_err() => "refused",
        Ok(url) if matches!(url.host(), Some(url::Host::Domain(_))) => "name",
        Ok(_) => "public",
        Err(UrlError::Length) => "length",
        Err(UrlError::Scheme) => "scheme",
        Err(UrlError::Character) => "character",
        Err(UrlError::Credentials) => "credentials",
        Err(UrlError::Host(_)) => "host",
        Err(UrlError::Port) => "port",
        Err(UrlError::Syntax(_)) => "syntax",
    }
}

#[test]
fn every_url_of_the_table_is_classified_as_listed() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (expected, quoted) in rows(include_str!("urls.txt")) {
        let text: String = serde_json::from_str(quoted).unwrap();
        let found = verdict(&text);
        if found != expected {
            wrong.push(format!(
                "{quoted} should be {expected}, is {found}: {:?}",
                parse_url(&text)
            ));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count >= 150, "the table has only {count} URLs");
}

#[test]
fn length_is_counted_in_characters() {
    let of = |chars: usize, fill: &str| {
        let head = "http://example.com/";
        format!("{head}{}", fill.repeat(chars - head.len()))
    };
    assert_eq!(verdict(&of(MAX_URL_CHARS, "a")), "name");
    assert_eq!(verdict(&of(MAX_URL_CHARS + 1, "a")), "length");
    assert_eq!(verdict(&of(MAX_URL_CHARS, "ü")), "name");
    assert_eq!(verdict(&of(1 << 16, "a")), "length");
}

#[test]
fn every_fault_reads_as_a_sentence_about_a_field() {
    let of = |text: &str| format!("input_images_urls[0] {}", parse_url(text).unwrap_err());
    insta::assert_snapshot!(
        ["", "ftp://x", "http://a b", "http://u@x", "http:///x", "http://[fe80::1%25eth0]/", "http://x:0", "http://x:y"]
            .map(of)
            .join("\n"),
        @r"
    input_images_urls[0] must be 1 to 2048 characters long
    input_images_urls[0] must start with http:// or https://
    input_images_urls[0] must not contain spaces, control characters or backslashes (percent-encode them)
    input_images_urls[0] must not contain a user name or password
    input_images_urls[0] has no valid host: it is empty
    input_images_urls[0] has no valid host: zone identifiers are valid on one machine only
    input_images_urls[0] must not name port 0
    input_images_urls[0] is not a valid URL: invalid port number
    "
    );
}

#[test]
fn redirect_locations_are_resolved_and_checked_like_urls() {
    let base = Url::parse("https://example.com/a/b.png?c").unwrap();
    let good = [
        ("d.png", "https://example.com/a/d.png"),
        ("/d", "https://example.com/d"),
        ("?d", "https://example.com/a/b.png?d"),
        ("//other.example/d", "https://other.example/d"),
        ("http://other.example/d", "http://other.example/d"),
        ("HTTPS://OTHER.example/d", "https://other.example/d"),
        ("", "https://example.com/a/b.png?c"),
        ("/ü", "https://example.com/%C3%BC"),
    ];
    for (location, target) in good {
        assert_eq!(
            resolve_location(&base, location).unwrap().as_str(),
            target,
            "{location}"
        );
    }
    let bad = [
        ("file:///etc/passwd", UrlError::Scheme),
        ("ftp://example.com/", UrlError::Scheme),
        ("javascript:alert(1)", UrlError::Scheme),
        ("data:image/png,", UrlError::Scheme),
        ("//user@other.example/", UrlError::Credentials),
        ("https://:pw@other.example/", UrlError::Credentials),
        ("\\\\other.example", UrlError::Character),
        ("/a b", UrlError::Character),
        ("//other.example:0/", UrlError::Port),
    ];
    for (location, fault) in bad {
        assert_eq!(resolve_location(&base, location), Err(fault), "{location}");
    }
    assert_eq!(
        resolve_location(&base, &"x".repeat(4_000)),
        Err(UrlError::Length)
    );
    let refused = resolve_location(&base, "//0x7f.1/").unwrap();
    assert!(AddressGate::default().check_host(&refused).is_err());
}

#[test]
fn localhost_is_reachable_if_loopback_is_allowed() {
    let localhost = parse_url("http://localhost:1/").unwrap();
    for allow in ["127.0.0.0/8", "::1/128"] {
        let gate = AddressGate::new(vec![allow.parse().unwrap()], vec![]);
        assert!(gate.check_host(&localhost).is_ok(), "{allow}");
    }
    assert!(
        AddressGate::new(vec!["10.0.0.0/8".parse().unwrap()], vec![])
            .check_host(&localhost)
            .is_err()
    );
}
