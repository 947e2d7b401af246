//! Deliveries of webhooks: looked up, and sent again.

use super::audit_context::{AuditContext, Subject, to_audit_entry};
use super::caller::Caller;
use super::commit::{Turn, detached};
use super::error::{self, Error, no_webhook};
use super::state::AppState;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tintype_actors::delivery::{DeliveryCommand, DeliveryError, Redelivered};
use tintype_storage::domain::audit_log::{Action, AuditEntry, Note};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryState, NoReceiver};
use tintype_storage::domain::ids::SERVICE;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::oneshot;

/// Deliveries that one call for a webhook looks at, and sends again, at the most.
const MAX_LOOKED_AT: usize = 10_000;
/// Deliveries read, and sent again, at a time.
const STEP: usize = 500;

/// Failed deliveries of a webhook, by when they were created.
pub struct Range {
    pub from: Timestamp,
    pub to: Timestamp,
    /// The last id that an earlier call has looked at.
    pub after: Option<[u8; 16]>,
}

/// What came of sending a range again.
pub struct RangeRedelivered {
    pub count: usize,
    /// Where another call goes on; `None` once the whole log has been looked at.
    pub next: Option<[u8; 16]>,
}

/// One text for an unknown id and for no id at all.
pub fn no_delivery() -> Error {
    DeliveryError::NotFound.into()
}

/// A delivery that the caller sees.
///
/// # Errors
/// `NotFound`
pub async fn find(state: &AppState, caller: &Caller, id: DeliveryId) -> Result<Delivery, Error> {
    let found = state.store.delivery(id).await?;
    let seen = found.filter(|delivery| caller.sees(delivery.account));
    seen.ok_or_else(no_delivery)
}

/// The attempts of a delivery, as many as it counts.
pub async fn attempts(state: &AppState, delivery: &Delivery) -> Result<Vec<Attempt>, Error> {
    let mut attempts = state.store.attempts(delivery.id).await?;
    // Read after the delivery, so there may be newer ones, which do not go with its status and moment.
    attempts.truncate(usize::try_from(delivery.attempts).unwrap_or(usize::MAX));
    Ok(attempts)
}

/// Sends a delivery again.
pub async fn redeliver(
    state: &AppState,
    caller: &Caller,
    id: DeliveryId,
) -> Result<Delivery, Error> {
    let delivery = find(state, caller, id).await?;
    let context = caller.change(state, delivery.account).await?;
    Ok(send_again(state, context, id).await??)
}

/// How many deliveries of a range have failed, and whether its whole log was looked at.
pub async fn count_failed(
    state: &AppState,
    webhook: Webhook,
    range: Range,
) -> Result<(usize, bool), Error> {
    let store = state.store.clone();
    let found = tokio::task::spawn_blocking(move || {
        let page = |after| store.deliveries_of(webhook.account, STEP, after).wait();
        failed(page, &webhook, &range)
    });
    let (wanted, next) = found.await.map_err(|_| error::busy())??;
    Ok((wanted.len(), next.is_none()))
}

/// Sends the failed deliveries of a range again, newest first. Looks at a bounded part of the account's log.
pub async fn redeliver_range(
    state: &AppState,
    caller: &Caller,
    webhook: Webhook,
    range: Range,
) -> Result<RangeRedelivered, Error> {
    let context = caller.change(state, webhook.account).await?;
    let mut after = range.after;
    let store = state.store.clone();
    let found = tokio::task::spawn_blocking(move || {
        let page = |after| store.deliveries_of(webhook.account, STEP, after).wait();
        failed(page, &webhook, &range)
    });
    let (wanted, mut next) = found.await.map_err(|_| error::busy())??;
    let mut count = 0;
    for step in wanted.chunks(STEP) {
        // Begun together, so that they share the disk's time.
        let send = |id: &DeliveryId| send_again(state, context, *id);
        let mut refused = None;
        for answer in join_all(step.iter().map(send)).await {
            match answer {
                Ok(Ok(_)) => count += 1,
                // Removed for its age, or its webhook given another URL, meanwhile.
                Ok(Err(
                    DeliveryError::NotFound | DeliveryError::NoReceiver(NoReceiver::WebhookMoved),
                )) => {}
                // The webhook was removed meanwhile.
                Ok(Err(DeliveryError::NoReceiver(NoReceiver::WebhookDeleted))) => {
                    return Err(no_webhook());
                }
                Ok(Err(error)) => refused = Some(error.into()),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            None => after = step.last().map(|id| id.0.into_bytes()),
            Some(refusal) if count == 0 => return Err(refusal),
            // Too much at once. What has been done is told, and another call goes on with this step.
            Some(_) => {
                next = Some(after.unwrap_or([u8::MAX; 16]));
                break;
            }
        }
    }
    Ok(RangeRedelivered { count, next })
}

type Page = tintype_storage::store::Page<Delivery>;

/// Those of a bounded part of the log, and where the rest begins. Blocks for as long as that takes to read.
fn failed(
    page: impl Fn(Option<[u8; 16]>) -> Result<Page, StoreError>,
    webhook: &Webhook,
    range: &Range,
) -> Result<(Vec<DeliveryId>, Option<[u8; 16]>), StoreError> {
    let (mut wanted, mut after, mut looked_at) = (Vec::new(), range.after, 0);
    loop {
        let page = page(after)?;
        looked_at += page.items.len();
        let within = |it: &&Delivery| {
            it.webhook == webhook.id
                && matches!(it.state, DeliveryState::Failed { .. })
                && (range.from..=range.to).contains(&it.created_at)
        };
        wanted.extend(page.items.iter().filter(within).map(|it| it.id));
        after = page.next;
        if after.is_none() || looked_at >= MAX_LOOKED_AT {
            return Ok((wanted, after));
        }
    }
}

async fn send_again(
    state: &AppState,
    context: &AuditContext,
    id: DeliveryId,
) -> Result<Result<Delivery, DeliveryError>, Error> {
    let subject = Subject {
        account: None,
        id: Some(id.0),
    };
    let entry = context.line(state, Action::DeliveryRedeliver, subject);
    let note: Note<Redelivered> = Box::new(move |change| {
        let entry = AuditEntry {
            account: Some(change.before.account).filter(|it| *it != SERVICE),
            ..entry.clone()
        };
        let [before, after] = [&change.before, &change.after].map(|it| Some(facts(it)));
        to_audit_entry(entry, before, after)
    });
    let (reply, answer) = oneshot::channel();
    let command = DeliveryCommand::Redeliver {
        id,
        note: Some(note),
        reply,
    };
    let sent = state.system.deliveries().try_send(command);
    sent.map_err(|_| error::busy_delivering())?;
    answer.await.map_err(|_| error::stopping())
}

/// Adds a delivery that no job owes, with the writes that are to be true with it. Its commit ends the turn in which they were decided,
/// also when the caller leaves meanwhile.
pub(super) async fn add(
    state: &AppState,
    turn: Turn,
    delivery: Delivery,
    mut writes: Writes,
) -> Result<Delivery, Error> {
    let (reply, answer) = oneshot::channel();
    turn.end_with(&mut writes);
    let command = DeliveryCommand::Add {
        delivery,
        writes,
        reply,
    };
    let sent = state.system.deliveries().try_send(command);
    sent.map_err(|_| error::busy_delivering())?;
    detached(async move {
        let added = answer.await.map_err(|_| error::stopping())??;
        turn.ended();
        Ok(added)
    })
    .await
}

/// What the audit log says of a delivery.
pub fn facts(delivery: &Delivery) -> Value {
    json!({
        "job_id": delivery.job().map(|it| it.to_string()),
        "batch_id": delivery.batch().map(|it| it.to_string()),
        "webhook_id": delivery.webhook.to_string(),
        "url": delivery.url,
        "status": delivery.state.word(),
        "reason": delivery.state.reason().map(|reason| reason.words()),
        "attempts": delivery.attempts,
    })
}
