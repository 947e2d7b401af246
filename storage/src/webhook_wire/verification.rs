//! Verifies a delivery as its receiver does, and reports precisely why it is refused.
//!
//! The signature is checked before the time, so "too old" is reported only for valid signatures. This distinguishes a wrong
//! secret from a recorded delivery that is checked late.

use super::canonical::canonical;
use super::secret::WebhookSecret;
use super::signature::{STANDARD_PREFIX, X_PREFIX, standard_mac, x_mac};
use crate::domain::request::MAX_METADATA_DEPTH;
use crate::domain::time::Timestamp;
use crate::domain::webhook::Encoding;
use crate::json::Json;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac;

/// Seconds between the sender's and the receiver's clock, including transit (specification, "Limits").
const TOLERANCE_SECONDS: u64 = 300;
/// Entries of `webhook-signature` that are checked; more than any rotation leaves.
const MAX_ENTRIES: usize = 16;
/// The payload nests the metadata one level deeper.
const MAX_DEPTH: usize = MAX_METADATA_DEPTH + 1;

/// The signature headers; `None` if absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    /// `X-Signature`
    pub x_signature: Option<&'a str>,
    /// `X-Timestamp`
    pub x_timestamp: Option<&'a str>,
    /// `webhook-id`
    pub webhook_id: Option<&'a str>,
    /// `webhook-timestamp`
    pub webhook_timestamp: Option<&'a str>,
    /// `webhook-signature`
    pub webhook_signature: Option<&'a str>,
}

/// The text that was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedText {
    /// The received bytes.
    Raw,
    /// The body parsed and serialized again in this encoding: an intermediary had rewritten it.
    Rewritten(Encoding),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the header {0} is missing")]
    Missing(&'static str),
    #[error("the header {header} is malformed: expected {expected}")]
    Malformed {
        header: &'static str,
        expected: &'static str,
    },
    /// Signed with another secret, time or body.
    #[error(
        "the signature does not match: another secret signed it, or body, timestamp or id have changed since"
    )]
    Mismatch,
    /// Valid, but too old.
    #[error("the signature is right, but it was made {0} s ago, and more than 300 s are refused")]
    Stale(u64),
    /// Valid, but too far in the future.
    #[error(
        "the signature is right, but its time is {0} s in the future, and more than 300 s are refused"
    )]
    Future(u64),
}

impl<'a> Headers<'a> {
    /// Finds the headers, case-insensitively; of a repeated header it takes the first.
    pub fn pick(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut picked = Self::default();
        for (name, value) in all {
            let header = match name.to_ascii_lowercase().as_str() {
                "x-signature" => &mut picked.x_signature,
                "x-timestamp" => &mut picked.x_timestamp,
                "webhook-id" => &mut picked.webhook_id,
                "webhook-timestamp" => &mut picked.webhook_timestamp,
                "webhook-signature" => &mut picked.webhook_signature,
                _ => continue,
            };
            header.get_or_insert(value.trim());
        }
        picked
    }
}

/// Verifies `X-Signature` in constant time: over the raw body, or else over the body parsed and serialized again.
pub fn verify_x_signature(
    secret: &WebhookSecret,
    headers: &Headers<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<SignedText, Refusal> {
    let given = present(headers.x_signature, "X-Signature")?;
    let (timestamp, seconds) = read_timestamp(headers.x_timestamp, "X-Timestamp")?;
    let code = given
        .strip_prefix(X_PREFIX)
        .filter(|it| !it.bytes().any(|byte| byte.is_ascii_uppercase()))
        .and_then(|it| hex::decode(it).ok())
        .filter(|it| it.len() == 32)
        .ok_or(Refusal::Malformed {
            header: "X-Signature",
            expected: "sha256= and 64 lower-case hexadecimal digits",
        })?;
    let matches = |body: &[u8]| x_mac(secret, timestamp, body).verify_slice(&code).is_ok();
    let signed = if matches(body) {
        SignedText::Raw
    } else {
        let parsed = std::str::from_utf8(body)
            .ok()
            .and_then(|text| Json::parse(text, MAX_DEPTH).ok())
            .ok_or(Refusal::Mismatch)?;
        Encoding::ALL
            .into_iter()
            .find(|it| matches(canonical(&parsed, *it).as_bytes()))
            .map(SignedText::Rewritten)
            .ok_or(Refusal::Mismatch)?
    };
    check_time(seconds, now)?;
    Ok(signed)
}

/// Verifies `webhook-signature` in constant time over the raw body: one matching entry is enough.
pub fn verify_standard(
    secret: &WebhookSecret,
    headers: &Headers<'_>,
    body: &[u8],
    now: Timestamp,
) -> Result<(), Refusal> {
    let id = present(headers.webhook_id, "webhook-id")?;
    let given = present(headers.webhook_signature, "webhook-signature")?;
    let (timestamp, seconds) = read_timestamp(headers.webhook_timestamp, "webhook-timestamp")?;
    let codes: Vec<Vec<u8>> = given
        .split(' ')
        .take(MAX_ENTRIES)
        .filter_map(|entry| STANDARD.decode(entry.strip_prefix(STANDARD_PREFIX)?).ok())
        .filter(|code| code.len() == 32)
        .collect();
    if codes.is_empty() {
        return Err(Refusal::Malformed {
            header: "webhook-signature",
            expected: "v1, and base64 of 32 bytes, once or more with a blank between",
        });
    }
    let mac = standard_mac(secret, id, timestamp, body);
    if !codes
        .iter()
        .any(|code| mac.clone().verify_slice(code).is_ok())
    {
        return Err(Refusal::Mismatch);
    }
    check_time(seconds, now)
}

fn present<'a>(value: Option<&'a str>, header: &'static str) -> Result<&'a str, Refusal> {
    value.ok_or(Refusal::Missing(header))
}

/// The header's own text, which was signed, and its value.
fn read_timestamp<'a>(
    value: Option<&'a str>,
    header: &'static str,
) -> Result<(&'a str, u64), Refusal> {
    let text = present(value, header)?;
    let seconds = Some(text)
        .filter(|it| it.len() <= 12 && it.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|it| it.parse().ok())
        .ok_or(Refusal::Malformed {
            header,
            expected: "whole seconds since 1970",
        })?;
    Ok((text, seconds))
}

fn check_time(sent: u64, now: Timestamp) -> Result<(), Refusal> {
    let now = now.seconds().unsigned_abs();
    match (now.saturating_sub(sent), sent.saturating_sub(now)) {
        (age, _) if age > TOLERANCE_SECONDS => Err(Refusal::Stale(age)),
        (_, ahead) if ahead > TOLERANCE_SECONDS => Err(Refusal::Future(ahead)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
