//! Recovery at the start: counts every live job in the state of its account, and queues it again.

use crate::account::{AccountContext, AccountRegistry};
use crate::queue::QueuedJob;
use std::sync::atomic::Ordering;
use tintype_storage::domain::batch_member::BatchMember;
use tintype_storage::domain::ids::{self, AccountId, BatchId, IdSource, JobId};
use tintype_storage::domain::job::{Job, JobState, Origin};
use tintype_storage::engine::{Direction, Wait as _};
use tintype_storage::store::tables::{AUDIT_LOG, BATCH_PROGRESS, LEDGER, WEBHOOKS};
use tintype_storage::store::{AccountState, All, JobRange, Part, Store, StoreError};
use uuid::Uuid;

/// Starts the actors of all accounts with live jobs, and queues these jobs. Returns the queued jobs to cancel: their callers waited on
/// connections that are lost, or the process ended while it canceled their batch.
pub fn recover(
    store: &Store,
    accounts: &AccountRegistry,
) -> Result<Vec<(AccountId, JobId)>, StoreError> {
    let abandoned = queue_live_jobs(store, accounts)?;
    raise_ids(store, &accounts.context().process.ids)?;
    Ok(abandoned)
}

fn queue_live_jobs(
    store: &Store,
    accounts: &AccountRegistry,
) -> Result<Vec<(AccountId, JobId)>, StoreError> {
    let AccountContext {
        process,
        local_queue,
        ..
    } = accounts.context();
    let (mut begun, mut waiting, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
    let mut live = 0;
    let mut last_batch = None;
    let mut current: Option<AccountState> = None;
    let start = |state: Option<AccountState>| state.map_or(Ok(()), |it| accounts.start_with(it));
    store
        .each_live_job(|job| {
            let is_of_current = |it: &AccountState| it.account().id == job.account;
            if !current.as_ref().is_some_and(is_of_current) {
                start(current.replace(state_of(store, &job)?))?;
            }
            if let Some(state) = &mut current {
                state.count_live(&job);
            }
            let made_at = ids::moment_of(&job.id.0).unwrap_or(job.created_at);
            process.ids.raise(made_at);
            live += 1;
            match (&job.state, &job.origin) {
                (JobState::Processing { .. }, _) => begun.push(QueuedJob::from(&job)),
                (_, Origin::Native | Origin::Batch(_) | Origin::Background) => {
                    waiting.push(QueuedJob::from(&job));
                    // Nothing is dispatched during a pause, so its turn may come late.
                    if is_of_canceled_batch(store, &job, &mut last_batch)? {
                        abandoned.push((job.account, job.id));
                    }
                }
                (_, Origin::Synchronous) => abandoned.push((job.account, job.id)),
            }
            Ok(())
        })
        .wait()?;
    start(current)?;
    local_queue.live.store(live, Ordering::Relaxed);
    begun
        .into_iter()
        .for_each(|job| local_queue.push_begun(job));
    local_queue.push_all(waiting);
    local_queue.wake();
    Ok(abandoned)
}

/// `last` remembers whether the batch of the last job was canceled: the jobs of a batch follow each other.
fn is_of_canceled_batch(
    store: &Store,
    job: &Job,
    last: &mut Option<(BatchId, bool)>,
) -> Result<bool, StoreError> {
    let Some(BatchMember { batch, .. }) = job.member() else {
        return Ok(false);
    };
    if let Some((known, is_canceled)) = *last
        && known == *batch
    {
        return Ok(is_canceled);
    }
    let progress = BATCH_PROGRESS.get(store, &(job.account, *batch)).wait()?;
    let is_canceled = progress.is_some_and(|it| it.canceled_at.is_some());
    *last = Some((*batch, is_canceled));
    Ok(is_canceled)
}

/// New ids must sort after all earlier ones, even if the clock was set back while the process was down: lists of ledger entries, jobs
/// and deliveries are in the order of ids, and the webhook with the lowest id is the oldest.
fn raise_ids(store: &Store, ids: &IdSource) -> Result<(), StoreError> {
    let raise = |id: &Uuid, made_at| ids.raise(ids::moment_of(id).unwrap_or(made_at));
    store
        .each_account(|account| {
            raise(&account.id.0, account.created_at);
            let newest = LEDGER.page(store, &account.id, 1, None).wait()?;
            if let Some(line) = newest.items.first() {
                raise(&line.id.0, line.created_at);
            }
            let ended = store
                .jobs_of(account.id, Part::Ended, JobRange::ALL, 1)
                .wait()?;
            if let Some(job) = ended.first() {
                raise(&job.id.0, job.created_at);
            }
            let newest = WEBHOOKS.first(store, &account.id, Direction::Falling);
            if let Some((_, webhook)) = newest.wait()? {
                raise(&webhook.id.0, webhook.created_at);
            }
            Ok(())
        })
        .wait()?;
    if let Some(delivery) = store.deliveries(1, None).wait()?.items.first() {
        raise(&delivery.id.0, delivery.created_at);
    }
    // The audit log covers every other record that the operator has created, such as a key.
    if let Some(line) = AUDIT_LOG.page(store, &All, 1, None).wait()?.items.first() {
        raise(&line.id.0, line.at);
    }
    Ok(())
}

fn state_of(store: &Store, job: &Job) -> Result<AccountState, StoreError> {
    let account = store
        .account(job.account)
        .wait()?
        .ok_or_else(|| StoreError::Inconsistent {
            account: job.account,
            fault: format!("job {} belongs to it, but there is no such account", job.id),
        })?;
    Ok(AccountState::without_jobs(account))
}
