//! Records and keys that only the store knows: indexes, idempotency keys, marks.

use crate::domain::delivery::{Delivery, DeliveryState};
use crate::domain::ids::{AccountId, KeyId};
use crate::domain::job::Job;
use crate::domain::person::PersonId;
use crate::domain::request::Fingerprint;
use crate::domain::time::Timestamp;
use crate::domain::webhook::WebhookId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What the due index says of a pending delivery, so that it can be scheduled without its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueDelivery {
    pub account: AccountId,
    pub webhook: WebhookId,
    /// Attempts of this round that have failed: a restart knows from them whose receivers may be dead.
    pub failures: u32,
}

impl DueDelivery {
    /// What the index says of this delivery, and when it is due; `None` where it is not pending.
    pub(crate) fn of(delivery: &Delivery) -> Option<(Timestamp, Self)> {
        match delivery.state {
            DeliveryState::Pending { due, failures } => Some((
                due,
                Self {
                    account: delivery.account,
                    webhook: delivery.webhook,
                    failures,
                },
            )),
            DeliveryState::Delivered { .. } | DeliveryState::Failed { .. } => None,
        }
    }
}

/// Where the person of an e-mail address is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonPlace {
    pub account: AccountId,
    pub person: PersonId,
}

/// Sessions of an earlier generation are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generation(pub u32);

/// A day's jobs of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DailyUsageKey {
    pub account: AccountId,
    /// Which day of UTC, counted from 1970-01-01.
    pub day: i64,
    /// Under which key they were asked for.
    pub key: KeyId,
}

impl DailyUsageKey {
    /// Where a job is counted that ended on this day.
    pub fn of(job: &Job, day: i64) -> Self {
        Self {
            account: job.account,
            day,
            key: job.key,
        }
    }
}

/// A mark that something has been done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark;

/// The calls that take an idempotency key. The same key on another of them is another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdempotentCall {
    /// Any generation call. Its endpoint is part of the fingerprint.
    Generation,
    /// A deposit by the operator.
    Deposit,
    /// The submission of a batch.
    Batch,
    /// The opening of an account, which is remembered under [`SERVICE`](crate::domain::ids::SERVICE).
    Opening,
}

/// Where a use of an idempotency key stands. The end is part of the key, so that removing an expired use can never hit the one
/// that has taken its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub account: AccountId,
    /// In which call.
    pub call: IdempotentCall,
    /// The caller's name for the request.
    pub name: String,
    /// When the use ends.
    pub expires_at: Timestamp,
}

impl IdempotencyKey {
    /// What the keys of all uses of the same name begin with.
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

/// What an idempotency key was used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// What the first use made: a job, a batch, a ledger entry or an account.
    pub made: Uuid,
    /// The request that the key stands for.
    pub fingerprint: Fingerprint,
    /// Forgotten from this moment on.
    pub expires_at: Timestamp,
}
