//! Webhooks and their deliveries.

use crate::field::{
    Cursor, Encoding as EncodingField, Flag, Moment as MomentField, Optional, WebhookUrl,
};
use crate::schema::StatusCode;
use crate::text::{
    DeliveryKindWord, DeliveryReason, DeliveryStatus, EncodingWord, Id, Moment, OperatorEventWord,
    SecretText, Url,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tintype_storage::domain::ids::SERVICE;
use tintype_storage::domain::operator_event::{EventSubject, OPERATOR_WEBHOOK};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Encoding;
use tintype_storage::domain::{delivery, webhook};
use uuid::Uuid;

/// A request to register a webhook, which requires `url`, or to change one.
pub struct WebhookFields {
    pub url: Option<String>,
    pub encoding: Option<Encoding>,
    pub active: Option<bool>,
}

body!(WebhookFields {
    /// The URL of the receiver: http or https, at a public address.
    url: Optional<WebhookUrl>,
    /// The JSON encoding of bodies: `ascii` escapes like Python's `json`, the default, `utf8` like JavaScript.
    encoding: Optional<EncodingField>,
    /// If `false`, nothing is sent to this webhook, and its deliveries fail with the reason `webhook inactive`. No other webhook receives them instead.
    active: Optional<Flag>,
});

/// A webhook.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    /// The webhook's id.
    pub webhook_id: Id,
    /// The account of the webhook.
    pub account_id: Id,
    /// The URL of the receiver.
    pub url: String,
    /// The secret that signs deliveries. Present only if you requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SecretText")]
    pub secret: Option<SecretText>,
    /// The JSON encoding of bodies.
    pub encoding: EncodingWord,
    /// Does the webhook receive deliveries? If not, they fail with the reason `webhook inactive`.
    pub active: bool,
    /// When the webhook was registered.
    pub created_at: Moment,
}

impl From<webhook::Webhook> for Webhook {
    /// Omits the secret.
    fn from(webhook: webhook::Webhook) -> Self {
        Self {
            webhook_id: webhook.id.into(),
            account_id: webhook.account.into(),
            url: webhook.url,
            secret: None,
            encoding: webhook.encoding.as_str().into(),
            active: webhook.active,
            created_at: webhook.created_at.into(),
        }
    }
}

/// A request to redeliver a webhook's failed deliveries that were created in a range of time.
#[derive(Default)]
pub struct RedeliveryRange {
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    pub cursor: Option<Uuid>,
}

body!(RedeliveryRange {
    /// Only deliveries created at or after this time.
    from: Optional<MomentField>,
    /// Only deliveries created at or before this time.
    to: Optional<MomentField>,
    /// `next_cursor` of the previous response.
    cursor: Optional<Cursor>,
});

/// A webhook delivery.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The delivery's id. Each attempt sends it as `webhook-id`.
    pub delivery_id: Id,
    /// The account. `null` for an operator event.
    pub account_id: Option<Id>,
    /// `event`: the end of a job. `batch`: the end of a batch. `operator`: an operator event. `test`: a test delivery.
    pub kind: DeliveryKindWord,
    /// The job. For a test, an id that no job has. `null` for other kinds.
    pub job_id: Option<Id>,
    /// The batch, or `null`.
    pub batch_id: Option<Id>,
    /// Present only for an operator event: its type, as in the `type` of its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OperatorEventWord")]
    pub event_type: Option<OperatorEventWord>,
    /// The webhook, which may have been deleted since. `null` for an operator event, which goes to the webhook of the configuration.
    pub webhook_id: Option<Id>,
    /// The URL of the receiver.
    pub url: String,
    /// The delivery's state.
    pub status: DeliveryStatus,
    /// Why the delivery failed, or `null`.
    pub reason: Option<DeliveryReason>,
    /// The attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// When the next attempt is due, if the delivery is pending, or `null`.
    pub next_attempt_at: Option<Moment>,
    /// When the delivery was created.
    pub created_at: Moment,
}

/// One attempt of a delivery: an HTTP `POST`.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// When the attempt began.
    pub at: Moment,
    /// The webhook's URL at that time.
    pub url: Url,
    /// The status of the response, or `null` without a response.
    #[schemars(with = "Option<StatusCode>")]
    pub status_code: Option<u16>,
    /// Why there was no complete response, or `null`.
    pub error: Option<String>,
    /// How long the attempt took, in milliseconds.
    pub duration_ms: u64,
    /// The first KiB of the response body.
    pub response_body: String,
}

impl Delivery {
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
            account_id: (delivery.account != SERVICE).then(|| delivery.account.into()),
            kind: delivery.kind.as_str().into(),
            job_id: delivery.job().map(Id::from),
            batch_id: delivery.batch().map(Id::from),
            event_type: None,
            webhook_id: (delivery.webhook != OPERATOR_WEBHOOK).then(|| delivery.webhook.into()),
            url: delivery.url,
            status: delivery.state.as_str().into(),
            reason: delivery.state.reason().map(|it| it.as_str().into()),
            attempts,
            next_attempt_at: delivery.state.due().map(Moment::from),
            created_at: delivery.created_at.into(),
        }
    }

    /// Adds the type of an operator event.
    pub fn with_event(self, event: Option<&EventSubject>) -> Self {
        Self {
            event_type: event.map(|it| it.as_str().into()),
            ..self
        }
    }
}

/// The result of a redelivery.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Redelivery {
    /// The number of deliveries that are pending again.
    pub redelivered: usize,
    /// Does a part of the delivery log remain for another request?
    pub more: bool,
    /// Send it as `cursor` to continue. `null` at the end of the log.
    pub next_cursor: Option<String>,
}

impl Redelivery {
    /// `next` is the last id read, if a part of the log remains.
    pub fn new(redelivered: usize, next: Option<[u8; 16]>) -> Self {
        Self {
            redelivered,
            more: next.is_some(),
            next_cursor: next.map(|id| Uuid::from_bytes(id).simple().to_string()),
        }
    }
}
