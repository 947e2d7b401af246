//! How records look on the disk: a version byte, then postcard.

use super::StoreError;
use crate::engine::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A kind of record. When its shape changes, the new one gets the next version and `decode` learns to read both.
pub trait Record: Serialize + DeserializeOwned {
    /// What messages call it.
    const NAME: &'static str;
    /// The version that is written.
    const VERSION: u8 = 1;
}

macro_rules! record {
    ($($type:ty = $name:literal),+ $(,)?) => {
        $(impl Record for $type { const NAME: &'static str = $name; })+
    };
}

record!(
    crate::domain::account::Account = "account",
    crate::domain::amount::Amount = "amount",
    crate::domain::api_key::ApiKey = "API key",
    crate::domain::api_key::KeyHash = "key hash",
    crate::domain::job::Job = "job",
    crate::domain::ledger::LedgerEntry = "ledger entry",
    crate::domain::pause::Pause = "pause",
    super::idempotency::IdempotencyRecord = "idempotency",
    super::deliveries::DueDelivery = "due delivery",
    crate::domain::delivery::Attempt = "attempt",
    crate::domain::delivery::Delivery = "delivery",
    crate::domain::ids::AccountId = "account id",
    crate::domain::webhook::Webhook = "webhook",
);

/// Encodes a record.
pub fn encode<R: Record>(record: &R) -> Value {
    // Writing to a vector cannot fail, and no record holds a type that postcard refuses.
    postcard::to_extend(record, vec![R::VERSION]).unwrap_or_default()
}

/// Decodes a record, or says which kind is damaged.
pub fn decode<R: Record>(bytes: &[u8]) -> Result<R, StoreError> {
    let damaged = |reason: String| StoreError::Damaged {
        kind: R::NAME,
        reason,
    };
    let (version, rest) = bytes
        .split_first()
        .ok_or_else(|| damaged("it is empty".into()))?;
    if *version != R::VERSION {
        return Err(damaged(format!("version {version} is unknown")));
    }
    let (record, rest) =
        postcard::take_from_bytes(rest).map_err(|error| damaged(error.to_string()))?;
    // A record of another shape may well begin like this one; what is left over gives it away.
    if !rest.is_empty() {
        return Err(damaged(format!("{} bytes too many", rest.len())));
    }
    Ok(record)
}
