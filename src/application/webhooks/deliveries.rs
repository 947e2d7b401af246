//! Finds webhook deliveries and redelivers them.

use crate::application::blocking::blocking;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::core::audit_context::{AuditContext, Subject, to_audit_entry};
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::detached;
use crate::application::error::{self, Error, no_webhook};
use crate::application::paging::TimeRange;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tintype_actors::delivery::{DeliveryCommand, DeliveryError, RedeliveryChange, ReplySender};
use tintype_api::Redelivery;
use tintype_storage::domain::audit_log::{Action, AuditEntry, ToAuditEntry};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryState, NoReceiver};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, SERVICE};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::operator_event::OPERATOR_WEBHOOK;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::oneshot;
use uuid::Uuid;

/// Deliveries that one call scans.
const MAX_SCANNED: usize = 10_000;
/// Deliveries read, and redelivered, at a time.
const STEP: usize = 500;

/// Selects failed deliveries of a webhook.
pub struct Range {
    pub created: TimeRange,
    /// The last id that an earlier call scanned.
    pub after: Option<[u8; 16]>,
}

/// The same text for an unknown id and for a malformed id.
pub fn no_delivery() -> Error {
    DeliveryError::NotFound.into()
}

/// Finds a delivery that is visible to the caller.
pub async fn find(core: &Core, caller: &Caller, id: DeliveryId) -> Result<Delivery, Error> {
    let found = core.store.delivery(id).await?;
    let seen = found.filter(|delivery| caller.sees(delivery.account));
    seen.ok_or_else(no_delivery)
}

/// The delivery that tells the end of a job: that of the job, or else that of its batch. The id of a batch finds the delivery of the batch.
pub async fn of_job(
    core: &Core,
    account: Option<AccountId>,
    id: JobId,
) -> Result<Option<Delivery>, Error> {
    if let Some(found) = of_subject(core, id.0).await? {
        return Ok(Some(found));
    }
    let job = match account {
        Some(account) => core.store.job(account, id).await?,
        None => core.store.find_job(id).await?,
    };
    match job.as_ref().and_then(Job::member) {
        Some(member) => of_subject(core, member.batch.0).await,
        None => Ok(None),
    }
}

/// A delivery about a job or a batch has its id, so this is a direct lookup.
async fn of_subject(core: &Core, id: Uuid) -> Result<Option<Delivery>, Error> {
    let found = core.store.delivery(DeliveryId(id)).await?;
    Ok(found.filter(|it| it.job() == Some(JobId(id)) || it.batch() == Some(BatchId(id))))
}

/// The attempts that the record of the delivery counts.
pub async fn attempts(core: &Core, delivery: &Delivery) -> Result<Vec<Attempt>, Error> {
    let mut attempts = core.store.attempts(delivery.id).await?;
    // Read after the delivery: newer attempts would not match its status.
    attempts.truncate(usize::try_from(delivery.attempts).unwrap_or(usize::MAX));
    Ok(attempts)
}

pub async fn redeliver(core: &Core, caller: &Caller, id: DeliveryId) -> Result<Delivery, Error> {
    let delivery = find(core, caller, id).await?;
    let context = caller.reauthorize_change(core, delivery.account).await?;
    Ok(redeliver_one(core, context, id).await??)
}

/// Counts the failed deliveries of a range. Also returns whether the scan reached the end of the log.
pub async fn count_failed(
    core: &Core,
    webhook: Webhook,
    range: Range,
) -> Result<(usize, bool), Error> {
    let (selected, next) = find_failed(core, webhook, range).await?;
    Ok((selected.len(), next.is_none()))
}

/// Redelivers the failed deliveries of a range, newest first. Scans a bounded part of the account's log.
pub async fn redeliver_range(
    core: &Core,
    caller: &Caller,
    webhook: Webhook,
    range: Range,
) -> Result<Redelivery, Error> {
    let context = caller.reauthorize_change(core, webhook.account).await?;
    let mut after = range.after;
    let (selected, mut next) = find_failed(core, webhook, range).await?;
    let mut count = 0;
    for step in selected.chunks(STEP) {
        // Sent together, so that they share one fsync.
        let send = |id: &DeliveryId| redeliver_one(core, context, *id);
        let mut refused = None;
        for outcome in join_all(step.iter().map(send)).await {
            match outcome {
                Ok(Ok(_)) => count += 1,
                // Retention removed the delivery, its webhook has a new URL, or it has been sent too often.
                Ok(Err(
                    DeliveryError::NotFound
                    | DeliveryError::NoReceiver(NoReceiver::WebhookMoved)
                    | DeliveryError::TooManyAttempts,
                )) => {}
                // The webhook was deleted meanwhile.
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
            // Overloaded: report the progress. The next call repeats this step.
            Some(_) => {
                next = Some(after.unwrap_or([u8::MAX; 16]));
                break;
            }
        }
    }
    Ok(Redelivery::new(count, next))
}

/// Returns the failed deliveries of a bounded part of the log, and where the rest begins.
async fn find_failed(
    core: &Core,
    webhook: Webhook,
    range: Range,
) -> Result<(Vec<DeliveryId>, Option<[u8; 16]>), Error> {
    let store = core.store.clone();
    blocking(move || {
        let (mut selected, mut after, mut scanned) = (Vec::new(), range.after, 0);
        loop {
            let page = store.deliveries_of(webhook.account, STEP, after).wait()?;
            scanned += page.items.len();
            let within = |it: &&Delivery| {
                it.webhook == webhook.id
                    && matches!(it.state, DeliveryState::Failed { .. })
                    && range.created.contains(it.created_at)
            };
            selected.extend(page.items.iter().filter(within).map(|it| it.id));
            after = page.next;
            if after.is_none() || scanned >= MAX_SCANNED {
                return Ok::<_, StoreError>((selected, after));
            }
        }
    })
    .await
}

async fn redeliver_one(
    core: &Core,
    context: &AuditContext,
    id: DeliveryId,
) -> Result<Result<Delivery, DeliveryError>, Error> {
    let subject = Subject::of_service(id.0);
    let entry = context.entry(core, Action::DeliveryRedeliver, subject);
    let to_entry: ToAuditEntry<RedeliveryChange> = Box::new(move |change| {
        let entry = AuditEntry {
            account: Some(change.before.account).filter(|it| *it != SERVICE),
            ..entry.clone()
        };
        let [before, after] = [&change.before, &change.after].map(|it| Some(facts(it)));
        to_audit_entry(entry, before, after)
    });
    let redelivered = call(core, |reply| DeliveryCommand::Redeliver {
        id,
        to_entry: Some(to_entry),
        reply,
    });
    redelivered?.await
}

/// Sends a command to the delivery actor. The future yields the outcome.
fn call<C: FnOnce(ReplySender<Delivery, DeliveryError>) -> DeliveryCommand>(
    core: &Core,
    command: C,
) -> Result<impl Future<Output = Result<Result<Delivery, DeliveryError>, Error>> + use<C>, Error> {
    let (reply, outcome) = oneshot::channel();
    let sent = core.system.deliveries().try_send(command(reply));
    sent.map_err(|_| error::busy_delivering())?;
    let fail_stop = core.fail_stop.clone();
    Ok(async move {
        outcome.await.map_err(|_| match fail_stop.has_tripped() {
            true => error::stopping(),
            false => error::busy_delivering(),
        })
    })
}

/// Adds a delivery that belongs to no job, in one commit with `writes`. The commit releases the guard even if the caller disconnects.
pub(crate) async fn add(
    core: &Core,
    guard: ChangeGuard,
    delivery: Delivery,
    mut writes: Writes,
) -> Result<Delivery, Error> {
    guard.add_release(&mut writes);
    let added = call(core, |reply| DeliveryCommand::Add {
        delivery,
        writes,
        reply,
    })?;
    detached(async move {
        let added = added.await??;
        guard.mark_released();
        Ok(added)
    })
    .await
}

/// The fields of a delivery that the audit log records.
pub fn facts(delivery: &Delivery) -> Value {
    json!({
        "job_id": delivery.job().map(|it| it.to_string()),
        "batch_id": delivery.batch().map(|it| it.to_string()),
        "webhook_id": (delivery.webhook != OPERATOR_WEBHOOK).then(|| delivery.webhook.to_string()),
        "url": delivery.url,
        "status": delivery.state.as_str(),
        "reason": delivery.state.reason().map(|reason| reason.as_str()),
        "attempts": delivery.attempts,
    })
}
