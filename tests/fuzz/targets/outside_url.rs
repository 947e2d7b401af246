//! The URL of an input image or a webhook, and the `Location` of a redirect: an accepted URL survives a round trip, and names
//! a host that the address gate can judge.

use std::net::IpAddr;
use std::sync::LazyLock;
use tintype_egress::{AddressGate, MAX_URL_CHARS, parse_url, resolve_location};
use url::{Host, Url};

static BASE: LazyLock<Url> = LazyLock::new(|| Url::parse("https://example.com/a/b.png?c").unwrap());

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Ok(url) = parse_url(text) {
        assert!(text.chars().count() <= MAX_URL_CHARS);
        assert!(!text.contains(['\\', '\t', '\r', '\n', ' ', '\0']));
        assert_sound(&url);
    }
    if let Ok(url) = resolve_location(&BASE, text) {
        assert_sound(&url);
    }
}

fn assert_sound(url: &Url) {
    assert!(matches!(url.scheme(), "http" | "https"));
    assert!(url.username().is_empty() && url.password().is_none());
    assert_ne!(url.port(), Some(0));
    let again = Url::parse(url.as_str()).unwrap();
    assert_eq!(&again, url);
    assert_eq!(again.host(), url.host());
    let gate = AddressGate::default();
    let judged = gate.check_host(url).is_ok();
    let host = url.host_str().unwrap();
    match url.host().unwrap() {
        Host::Ipv4(ip) => assert_eq!(judged, gate.check(IpAddr::V4(ip)).is_ok()),
        Host::Ipv6(ip) => assert_eq!(judged, gate.check(IpAddr::V6(ip)).is_ok()),
        Host::Domain(name) => {
            // A host that a resolver might read as an address in an older spelling was parsed as an address.
            let last = name.trim_end_matches('.').rsplit('.').next().unwrap();
            let numeric = last.bytes().all(|byte| byte.is_ascii_digit());
            let hexadecimal = last
                .strip_prefix("0x")
                .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            assert!(!numeric && !hexadecimal, "{host}");
            assert!(
                host.bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
            );
        }
    }
}
