//! One event for one webhook, and how delivery attempts change its state.
//!
//! Each attempt builds the body anew, with a fresh download URL.

use super::ids::{AccountId, BatchId, JobId, id};
use super::job::Callback;
use super::named_enum::named_enum;
use super::time::Timestamp;
use super::webhook::{Webhook, WebhookId};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// Bytes of a response body that an attempt stores.
pub const MAX_EXCERPT_BYTES: usize = 1_024;
/// Bytes of a request body that an attempt stores: enough for a whole body without large metadata.
pub const MAX_SENT_BYTES: usize = 4_096;
/// Longer errors are truncated.
const MAX_ERROR_CHARS: usize = 300;
/// With this many attempts, a delivery is not redelivered any more. Lists contain all attempts of a delivery, and redeliveries are free, so
/// without a limit one delivery could fill the disk and the memory.
pub const MAX_ATTEMPTS: u32 = 200;

id!(
    /// A delivery's id: `webhook-id` on the wire, the same for all attempts.
    DeliveryId
);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Sorts by creation time.
    pub id: DeliveryId,
    pub account: AccountId,
    /// The receiver. Kept when the webhook is deleted.
    pub webhook: WebhookId,
    /// The receiver's URL. Kept when the webhook is deleted.
    pub url: String,
    pub kind: DeliveryKind,
    /// The id of the job or batch; for a test, an id that no job has; for an operator event, the event's own id.
    pub subject: Uuid,
    /// When the subject ended or the test was requested.
    pub created_at: Timestamp,
    /// Attempts over all rounds: the next attempt's number.
    pub attempts: u32,
    /// The number of manual redeliveries.
    pub round: u32,
    pub state: DeliveryState,
}

named_enum!(
    DeliveryKind {
        /// A job ended.
        Event = "event",
        /// A test delivery.
        Test = "test",
        /// A batch ended.
        Batch = "batch",
        /// An event for the operator.
        Operator = "operator",
    }
);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    Pending {
        /// No attempt starts before this time.
        due: Timestamp,
        /// Failed attempts of this round.
        failures: u32,
    },
    Delivered {
        /// The first success.
        at: Timestamp,
    },
    /// Only a manual redelivery starts another attempt.
    Failed { reason: FailReason, at: Timestamp },
}

named_enum!(
    /// A [`DeliveryState`] without its data.
    DeliveryStatus {
        Pending = "pending",
        Delivered = "delivered",
        Failed = "failed",
    }
);

named_enum!(
    FailReason {
        /// Every attempt of the schedule failed.
        AttemptsExhausted = "attempts exhausted",
        WebhookDeleted = "webhook deleted",
        /// The webhook's URL is no longer the one that the job named.
        WebhookMoved = "webhook url changed",
        /// The webhook was inactive when an attempt was due.
        WebhookInactive = "webhook inactive",
    }
);

/// One POST, stored under the delivery's id and the attempt's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The delivery's round when the attempt started.
    pub round: u32,
    pub at: Timestamp,
    /// The response status, if a response arrived.
    pub status_code: Option<u16>,
    /// An error other than the status.
    pub error: Option<String>,
    pub duration_ms: u64,
    /// The first bytes of the response body.
    pub response_body: String,
    /// The called URL, if the webhook's URL had changed since the delivery was created.
    pub url: Option<String>,
    /// The request, if one was sent.
    pub sent: Option<SentRequest>,
}

/// The signatures and the body of one attempt. The signed timestamp is the attempt's time in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    pub x_signature: String,
    pub webhook_signature: String,
    /// The body, possibly truncated.
    pub body: String,
    /// The length of the whole body.
    pub body_bytes: u64,
}

impl SentRequest {
    pub fn new(x_signature: String, webhook_signature: String, body: &str) -> Self {
        Self {
            x_signature,
            webhook_signature,
            body: excerpt(body.as_bytes(), MAX_SENT_BYTES),
            body_bytes: body.len() as u64,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.body.len() as u64 == self.body_bytes
    }

    /// Does the body contain metadata of the caller? The body without metadata is too short to be truncated.
    pub fn has_metadata(&self) -> bool {
        let body = serde_json::from_str::<serde_json::Value>(&self.body);
        body.map_or(true, |it| !it["metadata"].is_null())
    }
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

    /// For a test, an id that no job has.
    pub fn job(&self) -> Option<JobId> {
        match self.kind {
            DeliveryKind::Event | DeliveryKind::Test => Some(JobId(self.subject)),
            DeliveryKind::Batch | DeliveryKind::Operator => None,
        }
    }

    pub fn batch(&self) -> Option<BatchId> {
        match self.kind {
            DeliveryKind::Event | DeliveryKind::Test | DeliveryKind::Operator => None,
            DeliveryKind::Batch => Some(BatchId(self.subject)),
        }
    }

    /// A delivery whose webhook no longer exists or has another URL. The delivery is recorded as failed, and nothing is sent.
    /// Its id is its subject's id.
    pub fn without_receiver(
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
    pub fn status(&self) -> DeliveryStatus {
        match self {
            Self::Pending { .. } => DeliveryStatus::Pending,
            Self::Delivered { .. } => DeliveryStatus::Delivered,
            Self::Failed { .. } => DeliveryStatus::Failed,
        }
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &'static str {
        self.status().as_str()
    }

    pub fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { due, .. } => Some(*due),
            Self::Delivered { .. } | Self::Failed { .. } => None,
        }
    }

    /// When the delivery succeeded or failed for good.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { .. } => None,
            Self::Delivered { at } | Self::Failed { at, .. } => Some(*at),
        }
    }

    pub fn reason(&self) -> Option<FailReason> {
        match self {
            Self::Failed { reason, .. } => Some(*reason),
            Self::Pending { .. } | Self::Delivered { .. } => None,
        }
    }
}

impl Attempt {
    /// An attempt with a response, of which `body` was read.
    ///
    /// `error` is an error after the status arrived, such as a timeout; `None` on success.
    pub fn responded(
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

    /// An attempt without a response.
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

    /// Records the called URL if it differs from the delivery's.
    pub fn at_url(mut self, url: &str, delivery: &Delivery) -> Self {
        self.url = (url != delivery.url).then(|| url.to_owned());
        self
    }

    pub fn with_sent(self, sent: Option<SentRequest>) -> Self {
        Self { sent, ..self }
    }

    /// Does it contain what was sent or received?
    pub fn has_content(&self) -> bool {
        self.sent.is_some() || !self.response_body.is_empty()
    }

    /// The attempt without what was sent and received.
    pub fn erased(&self) -> Self {
        Self {
            response_body: String::new(),
            sent: None,
            ..self.clone()
        }
    }

    /// Any 2xx is success, even if reading the response body failed. A redirect is not (specification, "Delivery").
    pub fn succeeded(&self) -> bool {
        self.status_code.is_some_and(|it| (200..300).contains(&it))
    }

    pub fn ended_at(&self) -> Timestamp {
        self.at.plus(Duration::from_millis(self.duration_ms))
    }
}

/// Applies an attempt to a delivery. The retry delay starts at `at`. `schedule` holds the delay before each retry, so there is one
/// attempt more than there are delays.
///
/// Total. A success always counts, because it happened. A failure counts only in the round in which the attempt started: it
/// does not shorten a later round, and does not reopen an ended delivery.
pub fn record_attempt(
    delivery: &Delivery,
    attempt: &Attempt,
    at: Timestamp,
    schedule: &[Duration],
) -> Delivery {
    let state = match (delivery.state, attempt.succeeded()) {
        (DeliveryState::Pending { .. } | DeliveryState::Failed { .. }, true) => {
            DeliveryState::Delivered { at }
        }
        (DeliveryState::Pending { failures, .. }, false) if attempt.round == delivery.round => {
            // A count that no index can hold has no delay either.
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

/// Restarts the delivery: due at once, with a new round of attempts, under the same id.
///
/// The caller checks that the webhook still exists, and that the delivery has fewer than [`MAX_ATTEMPTS`].
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReceiver {
    #[error("the webhook of this delivery has been deleted")]
    WebhookDeleted,
    /// The webhook's URL is no longer the one that the job named.
    #[error(
        "the URL of this delivery's webhook has changed, and its job named the URL of the delivery"
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

/// The webhook to which an attempt may be sent now. A job with a `callback_url` accepts that URL only.
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

/// Fails a pending delivery that has no receiver. An ended delivery does not change.
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

/// The first bytes of a body as text, without a character that the cut would split.
fn excerpt(body: &[u8], most: usize) -> String {
    let mut head = &body[..body.len().min(most)];
    if head.len() < body.len()
        && let Some(last) = head.utf8_chunks().last()
    {
        let half = last.invalid();
        // Drop only an incomplete character that the cut split; other invalid bytes are the receiver's.
        if std::str::from_utf8(half).is_err_and(|fault| fault.error_len().is_none()) {
            head = &head[..head.len() - half.len()];
        }
    }
    String::from_utf8_lossy(head).into_owned()
}

#[cfg(test)]
mod tests;
