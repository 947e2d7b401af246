//! Records and keys of the store itself: indexes, idempotency keys, marks.

use crate::domain::delivery::{Delivery, DeliveryId, DeliveryState};
use crate::domain::ids::{AccountId, BatchId, JobId, KeyId, TransactionId};
use crate::domain::job::Job;
use crate::domain::person::PersonId;
use crate::domain::request::Fingerprint;
use crate::domain::shard::Shard;
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// A pending delivery: enough to schedule it without its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueEntry {
    /// The due time of the record. An entry with another one is stale.
    pub due: Timestamp,
    pub id: DeliveryId,
    pub account: AccountId,
    pub webhook: WebhookId,
    /// Failed attempts of this round: a restart derives the receivers' health from them.
    pub failures: u32,
}

impl DueEntry {
    /// `None` if the delivery is not pending.
    pub fn of(delivery: &Delivery) -> Option<Self> {
        match delivery.state {
            DeliveryState::Pending { due, failures } => Some(Self {
                due,
                id: delivery.id,
                account: delivery.account,
                webhook: delivery.webhook,
                failures,
            }),
            DeliveryState::Delivered { .. } | DeliveryState::Failed { .. } => None,
        }
    }

    pub fn key(&self) -> (Shard, (Timestamp, DeliveryId)) {
        (Shard::of(self.webhook), (self.due, self.id))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonRef {
    pub account: AccountId,
    pub person: PersonId,
}

/// Sessions of an earlier generation are invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DailyUsageKey {
    pub account: AccountId,
    /// The UTC day, counted from 1970-01-01.
    pub day: i64,
    pub key: KeyId,
}

impl DailyUsageKey {
    /// The record that counts a job ended on this day.
    pub fn of(job: &Job, day: i64) -> Self {
        Self {
            account: job.account,
            day,
            key: job.key,
        }
    }
}

/// A mark that something was done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark;

/// The calls that accept an idempotency key. Each has its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum IdempotentCall {
    /// Any call that creates a job or a batch, so that no caller pays for both under one key. The endpoint is part of the fingerprint.
    Submission = b's',
    /// A deposit or a refund.
    Deposit = b'd',
    /// Opening an account, recorded under [`SERVICE`](crate::domain::ids::SERVICE).
    Opening = b'a',
}

/// Payment providers redeliver events for days, and operators repeat a call in the next month or year. These keys are few.
const OPERATOR_RETENTION: Duration = Duration::from_secs(400 * 86_400);

impl IdempotentCall {
    pub(super) const ALL: [Self; 3] = [Self::Submission, Self::Deposit, Self::Opening];

    /// How long a use is remembered, if `configured` is the retention of the keys of callers.
    pub fn retention(self, configured: Duration) -> Duration {
        match self {
            Self::Submission => configured,
            Self::Deposit | Self::Opening => configured.max(OPERATOR_RETENTION),
        }
    }
}

/// The key of a use. It contains the end, so deleting an expired use never hits its successor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub account: AccountId,
    pub call: IdempotentCall,
    /// The caller's key.
    pub name: String,
    /// When the use ends.
    pub expires_at: Timestamp,
}

impl IdempotencyKey {
    /// The key prefix of all uses of the same name.
    pub(super) fn uses(&self) -> UsesOf<'_> {
        UsesOf {
            account: self.account,
            call: self.call,
            name: &self.name,
        }
    }
}

/// All uses of an idempotency key: at most one of them has not expired.
pub struct UsesOf<'a> {
    pub(super) account: AccountId,
    pub(super) call: IdempotentCall,
    pub(super) name: &'a str,
}

/// The use of an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    pub made: Made,
    pub fingerprint: Fingerprint,
    /// Deleted after this time.
    pub expires_at: Timestamp,
}

/// What a call created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Made {
    Job(JobId),
    Batch(BatchId),
    Entry(TransactionId),
    Account(AccountId),
}

impl Made {
    pub fn id(self) -> Uuid {
        match self {
            Self::Job(id) => id.0,
            Self::Batch(id) => id.0,
            Self::Entry(id) => id.0,
            Self::Account(id) => id.0,
        }
    }

    /// The call that creates this.
    pub fn call(self) -> IdempotentCall {
        match self {
            Self::Job(_) | Self::Batch(_) => IdempotentCall::Submission,
            Self::Entry(_) => IdempotentCall::Deposit,
            Self::Account(_) => IdempotentCall::Opening,
        }
    }
}
