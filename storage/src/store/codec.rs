//! How records look on the disk: a version byte, then postcard.

use super::StoreError;
use crate::domain::account::Account;
use crate::engine::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;

/// A kind of record. When its shape changes, the new one gets the next version and `decode` learns to read both.
pub trait Record: Serialize + DeserializeOwned {
    /// What messages call it.
    const NAME: &'static str;
    /// The version that is written.
    const VERSION: u8 = 1;

    /// Reads what an earlier version wrote: the record, and what was left over. `None` for a version that never was.
    fn earlier(_version: u8, _bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        None
    }
}

macro_rules! record {
    ($($type:ty = $name:literal),+ $(,)?) => {
        $(impl Record for $type { const NAME: &'static str = $name; })+
    };
}

record!(
    crate::domain::amount::Amount = "amount",
    crate::domain::audit_log::AuditEntry = "audit entry",
    crate::domain::api_key::KeyHash = "key hash",
    crate::domain::ledger::LedgerEntry = "ledger entry",
    crate::domain::ids::KeyId = "key id",
    crate::domain::time::Timestamp = "moment",
    super::idempotency::IdempotencyRecord = "idempotency",
    crate::domain::delivery::Delivery = "delivery",
    crate::domain::ids::AccountId = "account id",
    crate::domain::webhook::Webhook = "webhook",
    crate::domain::person::Person = "person",
    crate::domain::person::Session = "session",
    super::people::PersonPlace = "e-mail address",
    super::people::Generation = "generation of sessions",
    super::tallies::Mark = "mark",
    crate::domain::tally::Tally = "tally",
    crate::domain::job::Job = "job",
    crate::domain::api_key::ApiKey = "API key",
    crate::domain::delivery::Attempt = "attempt",
    crate::domain::pause::Pause = "pause",
    crate::domain::spending::KeySpending = "key spending",
    super::deliveries::DueDelivery = "due delivery",
);

impl Record for Account {
    const NAME: &'static str = "account";

    #[cfg(feature = "testing")]
    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        use super::migrations::{AccountV0, upgraded};
        (version == 0).then(|| upgraded::<AccountV0, _>(bytes))
    }
}

/// Encodes a record.
pub fn encode<R: Record>(record: &R) -> Value {
    thread_local! {
        /// Where a record grows, so that what is kept of it is allocated once and as long as it is.
        static DRAFT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut draft = DRAFT.take();
    draft.clear();
    draft.push(R::VERSION);
    // Writing to a vector cannot fail, and no record holds a type that postcard refuses.
    let draft = postcard::to_extend(record, draft).unwrap_or_default();
    let encoded = draft.as_slice().to_vec();
    DRAFT.set(draft);
    encoded
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
    let read = if *version == R::VERSION {
        Some(postcard::take_from_bytes(rest))
    } else {
        R::earlier(*version, rest)
    };
    let (record, rest) = read
        .ok_or_else(|| damaged(format!("version {version} is unknown")))?
        .map_err(|error| damaged(error.to_string()))?;
    // A record of another shape may well begin like this one; what is left over gives it away.
    if !rest.is_empty() {
        return Err(damaged(format!("{} bytes too many", rest.len())));
    }
    Ok(record)
}
