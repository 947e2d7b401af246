//! The two signatures of each delivery: HMAC-SHA256 over a text with the sending time.

use super::secret::WebhookSecret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub(super) const X_PREFIX: &str = "sha256=";
pub(super) const STANDARD_PREFIX: &str = "v1,";

/// The value of `X-Signature` (specification, "Signature"): `sha256=` and lower-case hex.
///
/// `timestamp` is in Unix seconds; `body` is the canonical text. The key is the secret's whole text, prefix included.
pub fn x_signature(secret: &WebhookSecret, timestamp: i64, body: &str) -> String {
    let mac = x_mac(secret, &timestamp.to_string(), body.as_bytes());
    format!("{X_PREFIX}{}", hex::encode(mac.finalize().into_bytes()))
}

/// The value of `webhook-signature` (Standard Webhooks 1.0.0): an entry for each secret, newest first.
///
/// `id` is the delivery's, `timestamp` in Unix seconds, `body` the sent bytes. The key is the secret's decoded bytes.
pub fn standard_signature(
    secrets: &[WebhookSecret],
    id: &str,
    timestamp: i64,
    body: &str,
) -> String {
    let entry = |secret: &WebhookSecret| {
        let mac = standard_mac(secret, id, &timestamp.to_string(), body.as_bytes());
        format!(
            "{STANDARD_PREFIX}{}",
            STANDARD.encode(mac.finalize().into_bytes())
        )
    };
    secrets.iter().map(entry).collect::<Vec<_>>().join(" ")
}

pub(super) fn x_mac(secret: &WebhookSecret, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    mac(secret.text().as_bytes(), [timestamp.as_bytes(), body])
}

pub(super) fn standard_mac(
    secret: &WebhookSecret,
    id: &str,
    timestamp: &str,
    body: &[u8],
) -> Hmac<Sha256> {
    mac(
        secret.key_bytes(),
        [id.as_bytes(), timestamp.as_bytes(), body],
    )
}

/// The MAC of the parts joined by full stops.
fn mac<const N: usize>(key: &[u8], parts: [&[u8]; N]) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(key).expect("HMAC takes a key of any length");
    for (at, part) in parts.into_iter().enumerate() {
        if at > 0 {
            mac.update(b".");
        }
        mac.update(part);
    }
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_delivery_has_known_signatures() {
        // Computed with `openssl dgst -sha256`: -hmac over the text for one, -mac hmac -macopt hexkey over the bytes for the
        // other.
        let secret = WebhookSecret::from_random([0x01; 32]);
        assert_eq!(
            secret.text(),
            "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
        );
        assert_eq!(
            x_signature(&secret, 1_795_000_000, r#"{"a":1}"#),
            "sha256=05325f5f451c137bfcfde20b5fa441147937d732cf1e7d437c5fa84800cd373a"
        );
        let other = WebhookSecret::from_random([0x02; 32]);
        assert_eq!(
            standard_signature(&[secret, other], "msg_1", 1_795_000_000, r#"{"a":1}"#),
            "v1,0Tgp2Y5BE7k9LCi+mXxJ+8IDDeQ1LWvuNlQLiVnGJe4= v1,lr7DgIfvq59O55u3Nnqk0cscfYR/JJHcoLZYyP4yPTg="
        );
    }
}
