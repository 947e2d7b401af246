//! Fingerprints of requests: idempotency records store them, so what they hash must never change.

use sha2::{Digest, Sha256};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::webhook::Encoding;
use tintype_storage::json::Json;
use tintype_storage::webhook_wire::canonical::canonical;

/// Prefixes each part with its length, so that different requests cannot hash the same bytes.
#[derive(Default)]
pub struct FingerprintBuilder(Sha256);

impl FingerprintBuilder {
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// RFC 8785, so that clients may spell members and numbers in another way when they repeat a request. RFC 8785 rounds integers to
    /// doubles, so the exact text follows if it differs. Otherwise nothing follows: recorded fingerprints have no such part.
    pub fn add_metadata(&mut self, metadata: Option<&Json>) {
        let Some(metadata) = metadata else {
            return self.add("");
        };
        self.add(canonical(metadata, Encoding::Utf8));
        if has_rounded_integer(metadata) {
            self.add("integers");
            self.add(canonical(metadata, Encoding::Ascii));
        }
    }

    pub fn finish(self) -> Fingerprint {
        Fingerprint(self.0.finalize().into())
    }
}

/// The fingerprint of an operator's request. Recorded fingerprints have a separator instead of lengths.
pub fn of_operator(parts: [&str; 2]) -> Fingerprint {
    let [first, second] = parts;
    let digest = Sha256::new()
        .chain_update(first)
        .chain_update([0])
        .chain_update(second);
    Fingerprint(digest.finalize().into())
}

/// Does RFC 8785 write an integer with other digits than the caller?
fn has_rounded_integer(value: &Json) -> bool {
    match value {
        Json::Number(text) => {
            // Doubles contain all integers of 15 digits.
            let may_be_rounded = text.len() > 15 && !text.contains(['.', 'e', 'E']);
            may_be_rounded && canonical(value, Encoding::Ascii) != canonical(value, Encoding::Utf8)
        }
        Json::Array(items) => items.iter().any(has_rounded_integer),
        Json::Object(members) => members.iter().any(|(_, it)| has_rounded_integer(it)),
        Json::Null | Json::Bool(_) | Json::String(_) => false,
    }
}
