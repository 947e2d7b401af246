//! Deliveries of webhooks.

use crate::field::{Cursor, Moment as MomentField, Optional};
use crate::schema::{Count, StatusCode};
use crate::text::{DeliveryKindWord, DeliveryReason, DeliveryStatus, Id, Moment, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::delivery;
use tintype_storage::domain::time::Timestamp;
use uuid::Uuid;

/// Which failed deliveries of a webhook are sent again, by when they were created.
pub struct RedeliveryRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub cursor: Option<Uuid>,
}

body!(RedeliveryRange {
    /// Only deliveries of this moment or later.
    from: Optional<MomentField>,
    /// Only deliveries of this moment or earlier.
    to: Optional<MomentField>,
    /// `next_cursor` of the call before.
    cursor: Optional<Cursor>,
});

/// A delivery on the wire.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Delivery {
    /// The delivery's id: `webhook-id` of each attempt.
    pub delivery_id: Id,
    /// Whose it is; of an event for the operator, zeros.
    pub account_id: Id,
    /// What it tells of: the end of a job or a batch, something for the operator, or nothing but that it arrives.
    pub kind: DeliveryKindWord,
    /// The job that it tells of; of a test, an id that no job has; `null` where it tells of no job.
    pub job_id: Option<Id>,
    /// The batch that it tells of.
    pub batch_id: Option<Id>,
    /// The webhook, which may have been removed since; of an event for the operator, zeros.
    pub webhook_id: Id,
    /// Where it goes.
    pub url: String,
    /// How it stands.
    pub status: DeliveryStatus,
    /// Only of one that failed: why it is given up.
    pub reason: Option<DeliveryReason>,
    /// What was tried, oldest first.
    pub attempts: Vec<Attempt>,
    /// Only of a pending one.
    pub next_attempt_at: Option<Moment>,
    /// When it was owed.
    pub created_at: Moment,
}

/// One `POST` of a delivery.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Attempt {
    /// When it began.
    pub at: Moment,
    /// Where it went: the webhook's URL at that moment.
    pub url: Url,
    /// The status of the answer, where there was one.
    #[schemars(with = "Option<StatusCode>")]
    pub status_code: Option<u16>,
    /// What went wrong, where there was no proper answer.
    pub error: Option<String>,
    /// How long it took.
    #[schemars(with = "Count")]
    pub duration_ms: u64,
    /// The first kibibyte of the answer.
    pub response_body: String,
}

impl Delivery {
    /// A delivery with its attempts.
    pub fn new(delivery: delivery::Delivery, attempts: Vec<delivery::Attempt>) -> Self {
        let attempt = |it: delivery::Attempt| Attempt {
            at: it.at.into(),
            url: it.url.as_ref().unwrap_or(&delivery.url).into(),
            status_code: it.status_code,
            error: it.error,
            duration_ms: it.duration_ms,
            response_body: it.response_body,
        };
        let attempts = attempts.into_iter().map(attempt).collect();
        Self {
            delivery_id: delivery.id.into(),
            account_id: delivery.account.into(),
            kind: delivery.kind.word().into(),
            job_id: delivery.job().map(Id::from),
            batch_id: delivery.batch().map(Id::from),
            webhook_id: delivery.webhook.into(),
            url: delivery.url,
            status: delivery.state.word().into(),
            reason: delivery.state.reason().map(|it| it.words().into()),
            attempts,
            next_attempt_at: delivery.state.due().map(Moment::from),
            created_at: delivery.created_at.into(),
        }
    }
}

/// How many deliveries were sent again.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Redelivery {
    /// So many are pending again.
    #[schemars(with = "Count")]
    pub redelivered: usize,
    /// Is a part of the log left for another call?
    pub more: bool,
    /// What goes on from here, as `cursor`; `null` once the whole log has been looked at.
    pub next_cursor: Option<String>,
}

impl Redelivery {
    /// `next` is the last id looked at, if a part of the log is left.
    pub fn new(redelivered: usize, next: Option<[u8; 16]>) -> Self {
        Self {
            redelivered,
            more: next.is_some(),
            next_cursor: next.map(|id| Uuid::from_bytes(id).simple().to_string()),
        }
    }
}
