//! The form of each kind of record as JSON: what an export is written in, and read from.

use super::api_keys::{FIRST_KEY, PANEL_KEY};
use super::deliveries::{DueDelivery, FORGOTTEN};
use super::idempotency::IdempotencyRecord;
use super::people::{Generation, OPERATOR, PersonPlace};
use super::tallies::Mark;
use super::{Kind, PAUSE, Record, StoreError, decode, encode};
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

/// How an export names and writes the records of a kind.
#[derive(Clone, Copy)]
pub struct Form {
    /// Its name there.
    pub name: &'static str,
    to_json: fn(&[u8]) -> Result<String, StoreError>,
    from_json: fn(&str) -> serde_json::Result<Value>,
}

impl Form {
    fn new<R: Record>(name: &'static str) -> Self {
        Self {
            name,
            to_json: to_json::<R>,
            from_json: from_json::<R>,
        }
    }

    /// The form of what stands under a key; `None` where this program writes no such key.
    pub fn of(key: &[u8]) -> Option<Self> {
        let rest = key.get(1..)?;
        // The length of a key's ids tells a key from another that begins with the same byte.
        let ids = |length: usize, form: Self| (rest.len() == length).then_some(form);
        match Kind::of(key)? {
            Kind::Account => ids(16, Self::new::<Account>("account")),
            Kind::LiveJob => ids(32, Self::new::<Job>("live_job")),
            Kind::EndedJob => ids(32, Self::new::<Job>("ended_job")),
            Kind::Idempotency => Some(Self::new::<IdempotencyRecord>("idempotency_key")),
            Kind::Ledger => ids(32, Self::new::<LedgerEntry>("ledger_entry")),
            Kind::KeyByHash => ids(32, Self::new::<ApiKey>("api_key")),
            Kind::KeyById => ids(16, Self::new::<KeyHash>("api_key_by_id")),
            Kind::KeyOfAccount => ids(32, Self::new::<KeyHash>("api_key_of_account")),
            Kind::KeySpent => ids(16, Self::new::<KeySpending>("api_key_spending")),
            Kind::KeyLastUse => ids(16, Self::new::<Timestamp>("api_key_last_use")),
            Kind::RetiredHash => ids(32, Self::new::<KeyId>("api_key_earlier_text")),
            Kind::Setting => setting(rest),
            Kind::Webhook => ids(32, Self::new::<Webhook>("webhook")),
            Kind::WebhookAccount => ids(16, Self::new::<AccountId>("webhook_account")),
            Kind::Delivery => ids(32, Self::new::<Delivery>("delivery")),
            Kind::DeliveryAccount => ids(16, Self::new::<AccountId>("delivery_account")),
            Kind::DeliveryDue => ids(24, Self::new::<DueDelivery>("delivery_due")),
            Kind::Attempt => ids(20, Self::new::<Attempt>("attempt")),
            Kind::Audit => ids(16, Self::new::<AuditEntry>("audit_entry")),
            Kind::Person => ids(32, Self::new::<Person>("person")),
            Kind::PersonByEmail => ids(32, Self::new::<PersonPlace>("person_by_email")),
            Kind::Session => ids(32, Self::new::<Session>("session")),
            Kind::Tally => ids(40, Self::new::<Tally>("tally")),
        }
    }

    /// A stored record as one line of JSON, in the shape of this version whatever version wrote it.
    ///
    /// # Errors
    /// It is damaged.
    pub fn to_json(&self, value: &[u8]) -> Result<String, StoreError> {
        (self.to_json)(value)
    }

    /// The record that a line of JSON tells, as it is stored.
    ///
    /// # Errors
    /// It is none of its kind.
    pub fn from_json(&self, text: &str) -> serde_json::Result<Value> {
        (self.from_json)(text)
    }
}

fn setting(name: &[u8]) -> Option<Form> {
    let is = |known: &str| name == known.as_bytes();
    match () {
        () if is(PAUSE) => Some(Form::new::<Pause>("pause")),
        () if is(OPERATOR) => Some(Form::new::<Generation>("operator_sessions")),
        () if is(FORGOTTEN) => Some(Form::new::<Timestamp>("deliveries_forgotten")),
        () if is(FIRST_KEY) => Some(Form::new::<Mark>("first_key")),
        () if name.starts_with(PANEL_KEY.as_bytes()) => Some(Form::new::<KeyId>("panel_key")),
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
