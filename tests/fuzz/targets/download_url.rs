//! The URL of an image: the path after `/files/`, a question mark, and the query. An altered URL is rejected, unless it is
//! another spelling of the same object and time.

use chrono::{DateTime, Utc};
use percent_encoding::percent_decode_str;
use tintype::fuzzing::{open_url, write_url};
use tintype::objects::{FileSigningKey, UrlFault};

/// The object of the genuine URL in the corpus. The target asserts that the corpus contains that URL.
const OBJECT: &str = "results/0198c0de-0000-7000-8000-000000000001.png";
const MADE_AT: i64 = 1_790_000_000;
const LIFETIME: u64 = 86_400;

fn key() -> FileSigningKey {
    FileSigningKey::from_bytes(&[7; 32])
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).unwrap()
}

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    check_altered(text);
    check_signed(text);
}

/// Asserts that only the object's own URL is accepted.
fn check_altered(text: &str) {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let expires = MADE_AT as u64 + LIFETIME;
    for (now, is_over) in [(MADE_AT, false), (expires as i64, true)] {
        match open_url(&key(), path, query, at(now)) {
            Ok((object, remaining)) => {
                assert!(!is_over, "opened after its time");
                assert_eq!(object, OBJECT);
                assert_eq!(remaining, LIFETIME);
                assert_eq!(percent_decode_str(path).decode_utf8().unwrap(), OBJECT);
                assert!(query.contains(&format!("expires={expires}")));
            }
            Err(UrlFault::Expired) => assert!(is_over, "a time that was never signed"),
            Err(fault) => assert!(matches!(fault, UrlFault::InvalidSignature), "{fault}"),
        }
    }
}

/// Asserts that a URL signed for any name is valid for that name only, and for none after a change of one character.
fn check_signed(object: &str) {
    let url = write_url(&key(), object, at(MADE_AT), LIFETIME);
    let (path, query) = url
        .strip_prefix("/files/")
        .unwrap()
        .split_once('?')
        .unwrap();
    let opened = open_url(&key(), path, query, at(MADE_AT));
    let Ok((opened, _)) = opened else {
        return;
    };
    assert_eq!(opened, object);
    for at_byte in 0..query.len() {
        let mut changed = query.to_owned().into_bytes();
        changed[at_byte] ^= 1;
        let changed = String::from_utf8_lossy(&changed).into_owned();
        assert!(
            open_url(&key(), path, &changed, at(MADE_AT)).is_err(),
            "{changed}"
        );
    }
    let other = FileSigningKey::from_bytes(&[8; 32]);
    assert!(open_url(&other, path, query, at(MADE_AT)).is_err());
}
