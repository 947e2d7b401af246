//! One event owed to one webhook, and how its attempts move it.
//!
//! The body is built from what it is about anew for each attempt, with a fresh download URL.

mod sent;

pub use sent::{MAX_SENT_BYTES, Sent};

use super::ids::{AccountId, BatchId, JobId, NotAnId};
use super::job::Callback;
use super::time::Timestamp;
use super::webhook::{Webhook, WebhookId};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// Bytes of an answer that are kept of each attempt.
pub const MAX_EXCERPT_BYTES: usize = 1_024;
/// Characters that an attempt's `error` may have; a longer one is cut.
const MAX_ERROR_CHARS: usize = 300;

id!(
    /// A delivery; `webhook-id` on the wire, the same over all its attempts.
    DeliveryId
);

/// An event on its way to a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id; sorts by creation.
    pub id: DeliveryId,
    pub account: AccountId,
    /// The receiver. Stays as it is when the webhook is deleted.
    pub webhook: WebhookId,
    /// The receiver's URL. Stays as it is when the webhook is deleted.
    pub url: String,
    pub kind: DeliveryKind,
    /// The id of the job or the batch that it is about; of a test, an id that no job has; of an event for the operator, its own id.
    pub subject: Uuid,
    /// When its subject ended, or the test was asked for.
    pub created_at: Timestamp,
    /// Attempts made, over all rounds; the next attempt's number.
    pub attempts: u32,
    /// How often it was sent again by hand.
    pub round: u32,
    pub state: DeliveryState,
}

/// What a delivery reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryKind {
    /// A job has ended.
    Event,
    /// Nothing: the operator wants to see it arrive.
    Test,
    /// A batch has ended.
    Batch,
    /// Something that the operator is to hear of.
    Operator,
}

impl DeliveryKind {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Test => "test",
            Self::Batch => "batch",
            Self::Operator => "operator",
        }
    }
}

/// Where a delivery stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    /// An attempt is to be made.
    Pending {
        /// Not before this moment.
        due: Timestamp,
        /// Attempts of this round that have failed.
        failures: u32,
    },
    /// The receiver has answered with success.
    Delivered {
        /// When, for the first time.
        at: Timestamp,
    },
    /// No attempt will be made any more, unless by hand.
    Failed {
        reason: FailReason,
        /// Since when.
        at: Timestamp,
    },
}

/// Why a delivery was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailReason {
    /// Every attempt of the schedule failed.
    AttemptsExhausted,
    /// There is no receiver any more.
    WebhookDeleted,
    /// The receiver has another URL than the one that the job named.
    WebhookMoved,
    /// The receiver was inactive when an attempt was due.
    WebhookInactive,
}

/// One POST, kept as a record of its own under the delivery's id and the attempt's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The delivery's round when the attempt began.
    pub round: u32,
    pub at: Timestamp,
    /// The answer's status, if one came.
    pub status_code: Option<u16>,
    /// What went wrong besides the status.
    pub error: Option<String>,
    /// From its beginning to its end.
    pub duration_ms: u64,
    /// The beginning of the answer, as text.
    pub response_body: String,
    /// The URL that was called, where it was not the one of the delivery: its webhook had been given another one.
    pub url: Option<String>,
    /// What was sent, if it came to that.
    pub sent: Option<Sent>,
}

impl Delivery {
    /// A delivery that is due at once.
    pub fn new(
        id: DeliveryId,
        webhook: &Webhook,
        kind: DeliveryKind,
        subject: Uuid,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            account: webhook.account,
            webhook: webhook.id,
            url: webhook.url.clone(),
            kind,
            subject,
            created_at: now,
            attempts: 0,
            round: 0,
            state: DeliveryState::Pending {
                due: now,
                failures: 0,
            },
        }
    }
}

impl Delivery {
    /// The job that it is about; of a test, an id that no job has.
    pub fn job(&self) -> Option<JobId> {
        match self.kind {
            DeliveryKind::Event | DeliveryKind::Test => Some(JobId(self.subject)),
            DeliveryKind::Batch | DeliveryKind::Operator => None,
        }
    }

    /// The batch that it is about.
    pub fn batch(&self) -> Option<BatchId> {
        match self.kind {
            DeliveryKind::Event | DeliveryKind::Test | DeliveryKind::Operator => None,
            DeliveryKind::Batch => Some(BatchId(self.subject)),
        }
    }

    /// A delivery that was owed to a webhook which is no more, or no more at the URL that was asked for: it is on record, and
    /// nothing is sent. It has the id of its subject.
    pub fn to_nobody(
        id: DeliveryId,
        account: AccountId,
        callback: &Callback,
        kind: DeliveryKind,
        now: Timestamp,
        reason: FailReason,
    ) -> Self {
        Self {
            id,
            account,
            webhook: callback.webhook,
            url: callback.url.clone(),
            kind,
            subject: id.0,
            created_at: now,
            attempts: 0,
            round: 0,
            state: DeliveryState::Failed { reason, at: now },
        }
    }
}

impl DeliveryState {
    /// The word on the wire.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Delivered { .. } => "delivered",
            Self::Failed { .. } => "failed",
        }
    }

    /// When the next attempt is due, if there is to be one.
    pub fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { due, .. } => Some(*due),
            Self::Delivered { .. } | Self::Failed { .. } => None,
        }
    }

    /// Since when nothing more is to be done, if that is so.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { .. } => None,
            Self::Delivered { at } | Self::Failed { at, .. } => Some(*at),
        }
    }

    /// Why it was given up, if it was.
    pub fn reason(&self) -> Option<FailReason> {
        match self {
            Self::Failed { reason, .. } => Some(*reason),
            Self::Pending { .. } | Self::Delivered { .. } => None,
        }
    }
}

impl FailReason {
    /// The words on the wire.
    pub fn words(self) -> &'static str {
        match self {
            Self::AttemptsExhausted => "attempts exhausted",
            Self::WebhookDeleted => "webhook deleted",
            Self::WebhookMoved => "webhook url changed",
            Self::WebhookInactive => "webhook inactive",
        }
    }
}

impl Attempt {
    /// An attempt that got an answer, of which `body` is what was read.
    ///
    /// `error` says what broke off the exchange after the status had come, such as the time-out. A success has none.
    pub fn answered(
        round: u32,
        at: Timestamp,
        took: Duration,
        status_code: u16,
        body: &[u8],
        error: Option<&str>,
    ) -> Self {
        Self {
            round,
            at,
            status_code: Some(status_code),
            error: error.map(short),
            duration_ms: millis(took),
            response_body: excerpt(body, MAX_EXCERPT_BYTES),
            url: None,
            sent: None,
        }
    }

    /// An attempt that got no answer.
    pub fn broken(round: u32, at: Timestamp, took: Duration, error: &str) -> Self {
        Self {
            round,
            at,
            status_code: None,
            error: Some(short(error)),
            duration_ms: millis(took),
            response_body: String::new(),
            url: None,
            sent: None,
        }
    }

    /// The same attempt, known to have been made at this URL.
    pub fn at_url(mut self, url: &str, delivery: &Delivery) -> Self {
        self.url = (url != delivery.url).then(|| url.to_owned());
        self
    }

    /// The attempt with what it sent.
    pub fn with_sent(self, sent: Option<Sent>) -> Self {
        Self { sent, ..self }
    }

    /// Did the receiver take it? Any 2xx does, whatever became of the answer's body, and a redirect does not (specification,
    /// "Delivery").
    pub fn succeeded(&self) -> bool {
        self.status_code.is_some_and(|it| (200..300).contains(&it))
    }

    /// When it ended: a delay runs from here.
    pub fn ended_at(&self) -> Timestamp {
        self.at.plus(Duration::from_millis(self.duration_ms))
    }
}

/// The delivery after an attempt. `schedule` holds the delay before each retry, so one attempt more than it has delays is made.
///
/// Total. Success is believed at any time, for it is what has happened. A failure counts only for the round that it was
/// begun in: it neither shortens a fresh set of attempts nor reopens what is over.
pub fn record_attempt(delivery: &Delivery, attempt: &Attempt, schedule: &[Duration]) -> Delivery {
    let at = attempt.ended_at();
    let state = match (delivery.state, attempt.succeeded()) {
        (DeliveryState::Pending { .. } | DeliveryState::Failed { .. }, true) => {
            DeliveryState::Delivered { at }
        }
        (DeliveryState::Pending { failures, .. }, false) if attempt.round == delivery.round => {
            // A count beyond what an index can hold has no delay either.
            match usize::try_from(failures)
                .ok()
                .and_then(|it| schedule.get(it))
            {
                Some(delay) => DeliveryState::Pending {
                    due: at.plus(*delay),
                    failures: failures + 1,
                },
                None => DeliveryState::Failed {
                    reason: FailReason::AttemptsExhausted,
                    at,
                },
            }
        }
        (state @ DeliveryState::Pending { .. }, false)
        | (state @ DeliveryState::Delivered { .. }, _)
        | (state @ DeliveryState::Failed { .. }, false) => state,
    };
    Delivery {
        attempts: delivery.attempts.saturating_add(1),
        state,
        ..delivery.clone()
    }
}

/// The delivery sent again by hand: due at once, with a fresh set of attempts, under the same id.
///
/// Whether its webhook still exists is the caller's to see to.
pub fn redeliver(delivery: &Delivery, now: Timestamp) -> Delivery {
    Delivery {
        round: delivery.round.saturating_add(1),
        state: DeliveryState::Pending {
            due: now,
            failures: 0,
        },
        ..delivery.clone()
    }
}

/// Why a delivery has no receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReceiver {
    #[error("the webhook of this delivery has been deleted")]
    WebhookDeleted,
    /// The webhook has another URL than the one that the job named.
    #[error(
        "the webhook of this delivery has been given another URL, and its job asked for the one that the delivery names"
    )]
    WebhookMoved,
    #[error("the webhook of this delivery is inactive; activate it first")]
    WebhookInactive,
}

impl From<NoReceiver> for FailReason {
    fn from(reason: NoReceiver) -> Self {
        match reason {
            NoReceiver::WebhookDeleted => Self::WebhookDeleted,
            NoReceiver::WebhookMoved => Self::WebhookMoved,
            NoReceiver::WebhookInactive => Self::WebhookInactive,
        }
    }
}

/// The webhook that an attempt may go to now. A job that named a `callback_url` asked for that URL and for no other.
pub fn receiver(
    webhook: Option<Webhook>,
    callback: Option<&Callback>,
) -> Result<Webhook, NoReceiver> {
    let webhook = webhook.ok_or(NoReceiver::WebhookDeleted)?;
    match callback {
        Some(callback) if callback.url != webhook.url => Err(NoReceiver::WebhookMoved),
        _ if !webhook.active => Err(NoReceiver::WebhookInactive),
        _ => Ok(webhook),
    }
}

/// The delivery after it turned out to have no receiver: a pending one is given up, one that has ended stays as it is.
pub fn give_up(delivery: &Delivery, reason: NoReceiver, now: Timestamp) -> Delivery {
    let state = match delivery.state {
        DeliveryState::Pending { .. } => DeliveryState::Failed {
            reason: reason.into(),
            at: now,
        },
        state @ (DeliveryState::Delivered { .. } | DeliveryState::Failed { .. }) => state,
    };
    Delivery {
        state,
        ..delivery.clone()
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn short(text: &str) -> String {
    text.chars().take(MAX_ERROR_CHARS).collect()
}

/// The first bytes of a body as text; a character that the cut would halve is left out.
fn excerpt(body: &[u8], most: usize) -> String {
    let mut head = &body[..body.len().min(most)];
    if head.len() < body.len()
        && let Some(last) = head.utf8_chunks().last()
    {
        let half = last.invalid();
        // Only a beginning that a later byte could complete is the cut's doing; other bad bytes are the receiver's.
        if std::str::from_utf8(half).is_err_and(|fault| fault.error_len().is_none()) {
            head = &head[..head.len() - half.len()];
        }
    }
    String::from_utf8_lossy(head).into_owned()
}

#[cfg(test)]
mod tests;
