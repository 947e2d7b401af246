//! Deliveries that verify, and every reason for a refusal.

use super::*;
use crate::webhook_wire::signature::{standard_signature, x_signature};

const SENT: i64 = 1_795_000_000;
const ID: &str = "0193e0a0-0000-7000-8000-000000000000";
const BODY: &str = r#"{"caf\u00e9":1e-05,"x":[1,{"a":0,"b":"\ud83d\ude00"}]}"#;

fn secret() -> WebhookSecret {
    WebhookSecret::from_random([9; 32])
}

fn at(offset: i64) -> Timestamp {
    Timestamp::from_millis((SENT + offset) * 1000)
}

/// Runs both checks on a delivery. `values` are the headers in the standard's order.
fn check(values: [&str; 4], body: &[u8], offset: i64) -> [Result<(), Refusal>; 2] {
    let [signature, timestamp, id, standard] = values;
    let headers = Headers {
        x_signature: Some(signature),
        x_timestamp: Some(timestamp),
        webhook_id: Some(id),
        webhook_timestamp: Some(timestamp),
        webhook_signature: Some(standard),
    };
    let now = at(offset);
    [
        verify_x_signature(&secret(), &headers, body, now).map(drop),
        verify_standard(&secret(), &headers, body, now),
    ]
}

fn signed() -> [String; 4] {
    [
        x_signature(&secret(), SENT, BODY),
        SENT.to_string(),
        ID.to_owned(),
        standard_signature(&[secret()], ID, SENT, BODY),
    ]
}

#[test]
fn hostile_104_the_clocks_may_differ_by_300_seconds_either_way() {
    let values = signed();
    let values = values.each_ref().map(String::as_str);
    for (offset, expected) in [
        (0, Ok(())),
        (300, Ok(())),
        (-300, Ok(())),
        (301, Err(Refusal::Stale(301))),
        (-301, Err(Refusal::Future(301))),
        (86_400, Err(Refusal::Stale(86_400))),
    ] {
        let got = check(values, BODY.as_bytes(), offset);
        assert_eq!(got, [expected, expected], "{offset}");
    }
}

#[test]
fn any_change_is_a_mismatch_and_never_reported_as_stale() {
    let values = signed();
    let [signature, timestamp, id, standard] = values.each_ref().map(String::as_str);
    let later = (SENT + 1).to_string();
    let changed = BODY.replace("1e-05", "1e-06");
    let refused = [Err(Refusal::Mismatch); 2];
    for offset in [0, 9_999] {
        assert_eq!(
            check([signature, &later, id, standard], BODY.as_bytes(), offset),
            refused
        );
        assert_eq!(
            check(
                [signature, timestamp, id, standard],
                changed.as_bytes(),
                offset
            ),
            refused
        );
        assert_eq!(
            check([signature, timestamp, id, standard], b"\xff{", offset),
            refused
        );
    }
    let other = check(
        [signature, timestamp, "other", standard],
        BODY.as_bytes(),
        0,
    );
    assert_eq!(other, [Ok(()), Err(Refusal::Mismatch)]);
    let stranger = WebhookSecret::from_random([8; 32]);
    let theirs = x_signature(&stranger, SENT, BODY);
    let their_standard = standard_signature(&[stranger], ID, SENT, BODY);
    assert_eq!(
        check(
            [&theirs, timestamp, id, &their_standard],
            BODY.as_bytes(),
            0
        ),
        refused
    );
}

#[test]
fn a_rewritten_body_verifies_under_one_scheme_and_is_reported_as_rewritten() {
    let pretty = r#"{ "x": [1.0, {"b": "😀", "a": -0}], "café": 0.00001 }"#;
    let parsed = Json::parse(pretty, MAX_DEPTH).unwrap();
    for encoding in Encoding::ALL {
        let body = canonical(&parsed, encoding);
        let signature = x_signature(&secret(), SENT, &body);
        let standard = standard_signature(&[secret()], ID, SENT, &body);
        let headers = Headers {
            x_signature: Some(&signature),
            x_timestamp: Some("1795000000"),
            webhook_id: Some(ID),
            webhook_timestamp: Some("1795000000"),
            webhook_signature: Some(&standard),
        };
        let verify = |body: &str| verify_x_signature(&secret(), &headers, body.as_bytes(), at(0));
        assert_eq!(verify(&body), Ok(SignedText::Raw));
        assert_eq!(verify(pretty), Ok(SignedText::Rewritten(encoding)));
        let standard = verify_standard(&secret(), &headers, pretty.as_bytes(), at(0));
        assert_eq!(standard, Err(Refusal::Mismatch));
    }
}

#[test]
fn one_entry_of_a_rotation_is_enough() {
    let old = WebhookSecret::from_random([8; 32]);
    let list = standard_signature(&[old, secret()], ID, SENT, BODY);
    let values = signed();
    let [signature, timestamp, id, _] = values.each_ref().map(String::as_str);
    for list in [list.clone(), format!("v1a,AAAA v1,short {list} v2,x")] {
        let got = check([signature, timestamp, id, &list], BODY.as_bytes(), 0);
        assert_eq!(got[1], Ok(()), "{list}");
    }
    let late = format!("{}{list}", "v1,x ".repeat(MAX_ENTRIES));
    let got = check([signature, timestamp, id, &late], BODY.as_bytes(), 0);
    assert!(matches!(got[1], Err(Refusal::Malformed { .. })));
}

#[test]
fn each_missing_or_malformed_header_is_named() {
    let values = signed();
    let [signature, timestamp, id, standard] = values.each_ref().map(String::as_str);
    let mut said = String::new();
    let mut say = |results: [Result<(), Refusal>; 2]| {
        for result in results {
            let line = result.map_or_else(|refusal| refusal.to_string(), |()| "verifies".into());
            said.push_str(&format!("{line}\n"));
        }
    };
    let upper = signature.to_ascii_uppercase().replace("SHA", "sha");
    for bad in [
        "",
        "sha256=",
        &signature[7..],
        &upper,
        &signature[..70],
        "sha1=00",
    ] {
        say(check([bad, timestamp, id, ""], b"{}", 0));
    }
    for bad in [
        "",
        "-5",
        "+1795000000",
        "1795000000.5",
        " 1795000000",
        "99999999999999999999",
        "now",
    ] {
        say(check([signature, bad, id, standard], BODY.as_bytes(), 0));
    }
    let none = Headers::default();
    say([
        verify_x_signature(&secret(), &none, b"", at(0)).map(drop),
        verify_standard(&secret(), &none, b"", at(0)),
    ]);
    let some = Headers {
        x_signature: Some(signature),
        webhook_id: Some(id),
        ..none
    };
    say([
        verify_x_signature(&secret(), &some, b"", at(0)).map(drop),
        verify_standard(&secret(), &some, b"", at(0)),
    ]);
    insta::assert_snapshot!(said);
}

#[test]
fn headers_are_found_regardless_of_case() {
    let picked = Headers::pick([
        ("Host", "x"),
        ("X-SIGNATURE", " a "),
        ("x-signature", "second"),
        ("X-Timestamp", "b"),
        ("Webhook-Id", "c"),
        ("webhook-timestamp", "d"),
        ("webhook-Signature", "e"),
    ]);
    assert_eq!(
        picked,
        Headers {
            x_signature: Some("a"),
            x_timestamp: Some("b"),
            webhook_id: Some("c"),
            webhook_timestamp: Some("d"),
            webhook_signature: Some("e"),
        }
    );
}
