//! Deliveries on the wire.

use super::fields::Fields;
use super::kinds;
use crate::application::deliveries::{self, Range, RangeRedelivered};
use crate::application::error::Error;
use crate::application::state::AppState;
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::delivery::{Attempt, Delivery};
use tintype_storage::domain::time::Timestamp;
use uuid::Uuid;

/// The fields of a range of failed deliveries.
pub const RANGE: &[&str] = &["from", "to", "cursor"];

/// A delivery on the wire.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Delivery", deny_unknown_fields)]
pub struct DeliveryView {
    /// The delivery's id: `webhook-id` of each attempt.
    #[schemars(with = "kinds::Id")]
    delivery_id: String,
    /// Whose it is.
    #[schemars(with = "kinds::Id")]
    account_id: String,
    /// The job that it tells of.
    #[schemars(with = "kinds::Id")]
    job_id: String,
    /// The webhook; it may have been removed since.
    #[schemars(with = "kinds::Id")]
    webhook_id: String,
    /// Where it goes.
    url: String,
    /// How it stands.
    #[schemars(with = "kinds::DeliveryStatus")]
    status: &'static str,
    /// Only of one that failed: why it is given up.
    #[schemars(with = "Option<kinds::DeliveryReason>")]
    reason: Option<&'static str>,
    /// What was tried, oldest first.
    attempts: Vec<AttemptView>,
    /// Only of a pending one.
    #[schemars(with = "Option<kinds::Moment>")]
    next_attempt_at: Option<String>,
    /// When it was owed.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
}

/// One `POST` of a delivery.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Attempt", deny_unknown_fields)]
struct AttemptView {
    /// When it began.
    #[schemars(with = "kinds::Moment")]
    at: String,
    /// Where it went: the webhook's URL at that moment.
    #[schemars(with = "kinds::Url")]
    url: String,
    /// The status of the answer, where there was one.
    #[schemars(with = "Option<kinds::StatusCode>")]
    status_code: Option<u16>,
    /// What went wrong, where there was no proper answer.
    error: Option<String>,
    /// How long it took.
    #[schemars(with = "kinds::Count")]
    duration_ms: u64,
    /// The first kibibyte of the answer.
    response_body: String,
}

/// How many deliveries were sent again.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Redelivery", deny_unknown_fields)]
pub struct Redelivery {
    /// So many are pending again.
    #[schemars(with = "kinds::Count")]
    redelivered: usize,
    /// Is a part of the log left for another call?
    more: bool,
    /// What goes on from here, as `cursor`; `null` once the whole log has been looked at.
    next_cursor: Option<String>,
}

impl DeliveryView {
    /// A delivery with the attempts on record.
    pub fn looked_up(state: &AppState, delivery: Delivery) -> Result<Self, Error> {
        let attempts = deliveries::attempts(state, &delivery)?;
        Ok(Self::new(delivery, attempts))
    }

    /// A delivery with its attempts.
    pub fn new(delivery: Delivery, attempts: Vec<Attempt>) -> Self {
        let attempt = |it: Attempt| AttemptView {
            at: it.at.to_string(),
            url: it.url.unwrap_or_else(|| delivery.url.clone()),
            status_code: it.status_code,
            error: it.error,
            duration_ms: it.duration_ms,
            response_body: it.response_body,
        };
        let attempts = attempts.into_iter().map(attempt).collect();
        Self {
            delivery_id: delivery.id.to_string(),
            account_id: delivery.account.to_string(),
            job_id: delivery.job.to_string(),
            webhook_id: delivery.webhook.to_string(),
            url: delivery.url,
            status: delivery.state.word(),
            reason: delivery.state.reason().map(|reason| reason.words()),
            attempts,
            next_attempt_at: delivery.state.due().map(|due| due.to_string()),
            created_at: delivery.created_at.to_string(),
        }
    }
}

impl From<RangeRedelivered> for Redelivery {
    fn from(made: RangeRedelivered) -> Self {
        Self {
            redelivered: made.count,
            more: made.next.is_some(),
            next_cursor: made
                .next
                .map(|id| Uuid::from_bytes(id).simple().to_string()),
        }
    }
}

/// Which failed deliveries are to be sent again.
pub fn read_range(body: &[u8]) -> Result<Range, Error> {
    let mut fields = Fields::parse(body).map_err(Error::invalid)?;
    let from = fields.optional_time("from");
    let to = fields.optional_time("to");
    let cursor = fields.optional_string("cursor");
    let after = cursor.and_then(|text| {
        let read = Uuid::try_parse(&text);
        let read = read.map_err(|_| "must be a next_cursor of this call");
        fields.checked("cursor", read)
    });
    fields.finish(RANGE).map_err(Error::invalid)?;
    Ok(Range {
        from: from.unwrap_or(Timestamp::from_millis(0)),
        to: to.unwrap_or(Timestamp::from_millis(i64::MAX)),
        after: after.map(Uuid::into_bytes),
    })
}
