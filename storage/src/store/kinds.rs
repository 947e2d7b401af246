//! Which kind of record stands under a key, and its form as JSON: what an export is written in, and read from.

use super::deliveries::{DueDelivery, FORGOTTEN};
use super::idempotency::IdempotencyRecord;
use super::people::{Generation, OPERATOR, PersonPlace};
use super::tallies::{COMPLETE, Mark};
use super::{PAUSE, Record, StoreError, decode, encode, keys};
use crate::domain::account::Account;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::audit_log::AuditEntry;
use crate::domain::delivery::{Attempt, Delivery};
use crate::domain::ids::{AccountId, KeyId};
use crate::domain::job::Job;
use crate::domain::ledger::LedgerEntry;
use crate::domain::pause::Pause;
use crate::domain::person::{Person, Session};
use crate::domain::spending::KeySpending;
use crate::domain::tally::Tally;
use crate::domain::time::Timestamp;
use crate::domain::webhook::Webhook;
use crate::engine::Value;

/// A kind of record, as an export names it.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name there.
    pub name: &'static str,
    to_json: fn(&[u8]) -> Result<String, StoreError>,
    from_json: fn(&str) -> serde_json::Result<Value>,
}

impl Kind {
    fn new<R: Record>(name: &'static str) -> Self {
        Self {
            name,
            to_json: to_json::<R>,
            from_json: from_json::<R>,
        }
    }

    /// The kind of what stands under a key; `None` where this program writes no such key.
    pub fn of(key: &[u8]) -> Option<Self> {
        let (prefix, rest) = key.split_first()?;
        // The length of a key's ids tells a key from another that begins with the same byte.
        let ids = |length: usize, kind: Self| (rest.len() == length).then_some(kind);
        match *prefix {
            keys::ACCOUNT => ids(16, Self::new::<Account>("account")),
            keys::LIVE_JOB => ids(32, Self::new::<Job>("live_job")),
            keys::ENDED_JOB => ids(32, Self::new::<Job>("ended_job")),
            keys::IDEMPOTENCY => Some(Self::new::<IdempotencyRecord>("idempotency_key")),
            keys::LEDGER => ids(32, Self::new::<LedgerEntry>("ledger_entry")),
            keys::KEY_BY_HASH => ids(32, Self::new::<ApiKey>("api_key")),
            keys::KEY_BY_ID => ids(16, Self::new::<KeyHash>("api_key_by_id")),
            keys::KEY_OF_ACCOUNT => ids(32, Self::new::<KeyHash>("api_key_of_account")),
            keys::KEY_SPENT => ids(16, Self::new::<KeySpending>("api_key_spending")),
            keys::KEY_LAST_USE => ids(16, Self::new::<Timestamp>("api_key_last_use")),
            keys::RETIRED_HASH => ids(32, Self::new::<KeyId>("api_key_earlier_text")),
            keys::SETTING => setting(rest),
            keys::WEBHOOK => ids(32, Self::new::<Webhook>("webhook")),
            keys::WEBHOOK_ACCOUNT => ids(16, Self::new::<AccountId>("webhook_account")),
            keys::DELIVERY => ids(32, Self::new::<Delivery>("delivery")),
            keys::DELIVERY_ACCOUNT => ids(16, Self::new::<AccountId>("delivery_account")),
            keys::DELIVERY_DUE => ids(24, Self::new::<DueDelivery>("delivery_due")),
            keys::ATTEMPT => ids(20, Self::new::<Attempt>("attempt")),
            keys::AUDIT => ids(16, Self::new::<AuditEntry>("audit_entry")),
            keys::PERSON => ids(32, Self::new::<Person>("person")),
            keys::PERSON_BY_EMAIL => ids(32, Self::new::<PersonPlace>("person_by_email")),
            keys::SESSION => ids(32, Self::new::<Session>("session")),
            keys::TALLY => ids(40, Self::new::<Tally>("tally")),
            _ => None,
        }
    }

    /// A stored record of this kind as one line of JSON, in the shape of this version whatever version wrote it.
    ///
    /// # Errors
    /// It is damaged.
    pub fn to_json(&self, value: &[u8]) -> Result<String, StoreError> {
        (self.to_json)(value)
    }

    /// The record that a line of JSON tells, as it is stored.
    ///
    /// # Errors
    /// It is none of this kind.
    pub fn from_json(&self, text: &str) -> serde_json::Result<Value> {
        (self.from_json)(text)
    }
}

fn setting(name: &[u8]) -> Option<Kind> {
    let is = |known: &str| name == known.as_bytes();
    match () {
        () if is(PAUSE) => Some(Kind::new::<Pause>("pause")),
        () if is(OPERATOR) => Some(Kind::new::<Generation>("operator_sessions")),
        () if is(COMPLETE) => Some(Kind::new::<Mark>("tallies_complete")),
        () if is(FORGOTTEN) => Some(Kind::new::<Timestamp>("deliveries_forgotten")),
        () => None,
    }
}

fn to_json<R: Record>(value: &[u8]) -> Result<String, StoreError> {
    let record: R = decode(value)?;
    serde_json::to_string(&record).map_err(|error| StoreError::Damaged {
        kind: R::NAME,
        reason: format!("it cannot be written as JSON: {error}"),
    })
}

fn from_json<R: Record>(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str::<R>(text).map(|record| encode(&record))
}
