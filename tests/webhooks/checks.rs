//! A receiver's checks, written from the specification and from Standard Webhooks 1.0.0, without product code.

use crate::receiver::ReceivedRequest;
use crate::support::contract::{Contract, validator};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use std::net::SocketAddr;

fn mac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// The expected `X-Signature` of this text (specification, "Signature", 2 and 3).
pub fn x_signature(secret: &str, timestamp: &str, text: &[u8]) -> String {
    let message = [timestamp.as_bytes(), b".", text].concat();
    format!("sha256={}", hex::encode(mac(secret.as_bytes(), &message)))
}

/// One entry of `webhook-signature`.
pub fn standard_signature(secret: &str, delivery: &ReceivedRequest) -> String {
    let key = STANDARD
        .decode(secret.strip_prefix("whsec_").unwrap())
        .unwrap();
    let (id, timestamp) = (
        delivery.only_header("webhook-id"),
        delivery.only_header("webhook-timestamp"),
    );
    let message = [
        id.as_bytes(),
        b".",
        timestamp.as_bytes(),
        b".",
        &delivery.body,
    ]
    .concat();
    format!("v1,{}", STANDARD.encode(mac(&key, &message)))
}

/// Re-serializes the body: names sorted at every level (serde_json's maps are sorted), compact separators, and with `ascii`, all
/// other characters escaped.
pub fn reserialized(body: &[u8], ascii: bool) -> Vec<u8> {
    let value: Value = serde_json::from_slice(body).unwrap();
    let text = serde_json::to_string(&value).unwrap();
    if !ascii {
        return text.into_bytes();
    }
    let mut escaped = String::new();
    for c in text.chars() {
        if (' '..='~').contains(&c) {
            escaped.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped.into_bytes()
}

/// Checks that both signatures verify with this secret only, and `X-Signature` over the re-serialized body and over the raw bytes.
#[track_caller]
pub fn assert_signed(delivery: &ReceivedRequest, secret: &str) {
    let timestamp = delivery.only_header("x-timestamp");
    assert_eq!(timestamp, delivery.only_header("webhook-timestamp"));
    let sent = delivery.only_header("x-signature");
    assert_eq!(sent, x_signature(secret, timestamp, &delivery.body));
    let text = reserialized(&delivery.body, delivery.body.is_ascii());
    assert_eq!(sent, x_signature(secret, timestamp, &text), "re-serialized");
    assert_eq!(
        delivery.only_header("webhook-signature"),
        standard_signature(secret, delivery)
    );
}

/// Checks a body against the published document of the service.
pub fn assert_documented(server: SocketAddr, event: &str, body: &Value) {
    let contract = Contract::of(server).unwrap();
    let [document, _] = contract.documents();
    let described = &document["webhooks"][event]["post"]["requestBody"];
    let schema = &described["content"]["application/json"]["schema"];
    let faults: Vec<String> = validator(document, schema)
        .iter_errors(body)
        .map(|it| it.to_string())
        .collect();
    assert!(
        !schema.is_null() && faults.is_empty(),
        "{event}: {faults:?}"
    );
}
