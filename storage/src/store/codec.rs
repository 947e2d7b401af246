//! How records look on the disk: a version byte, then postcard.

use super::StoreError;
use super::deliveries::DueDelivery;
use super::earlier::{AccountV1, ApiKeyV1, AttemptV1, DueDeliveryV1, PauseV1};
use super::job_v1::JobV1;
use crate::domain::account::Account;
use crate::domain::amount::Amount;
use crate::domain::api_key::ApiKey;
use crate::domain::delivery::Attempt;
use crate::domain::job::Job;
use crate::domain::pause::Pause;
use crate::domain::spending::KeySpending;
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
);

impl Record for Job {
    const NAME: &'static str = "job";
    /// Version 2 knows the kind of a failure.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| upgraded::<JobV1, _>(bytes))
    }
}

impl Record for Account {
    const NAME: &'static str = "account";
    /// Version 2 can be switched off.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| upgraded::<AccountV1, _>(bytes))
    }
}

impl Record for DueDelivery {
    const NAME: &'static str = "due delivery";
    /// Version 2 knows failures.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| upgraded::<DueDeliveryV1, _>(bytes))
    }
}

impl Record for Attempt {
    const NAME: &'static str = "attempt";
    /// Version 2 knows the URL that was called, and what was sent.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| upgraded::<AttemptV1, _>(bytes))
    }
}

impl Record for ApiKey {
    const NAME: &'static str = "API key";
    /// Version 2 knows limits per day and month, ranges of addresses and earlier texts.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| upgraded::<ApiKeyV1, _>(bytes))
    }
}

impl Record for Pause {
    const NAME: &'static str = "pause";
    /// Version 2 knows reasons.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| upgraded::<PauseV1, _>(bytes))
    }
}

impl Record for KeySpending {
    const NAME: &'static str = "key spending";
    /// Version 1 was the sum alone.
    const VERSION: u8 = 2;

    fn earlier(version: u8, bytes: &[u8]) -> Option<postcard::Result<(Self, &[u8])>> {
        (version == 1).then(|| {
            let read = postcard::take_from_bytes::<Amount>(bytes);
            read.map(|(total, rest)| (Self::of_total(total), rest))
        })
    }
}

/// A record from its earlier shape.
fn upgraded<E: DeserializeOwned + Into<R>, R>(bytes: &[u8]) -> postcard::Result<(R, &[u8])> {
    postcard::take_from_bytes::<E>(bytes).map(|(record, rest)| (record.into(), rest))
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
