//! Batches: looked up, listed, waited for and canceled.

use super::audit_context::{AuditContext, Subject, to_audit_entry};
use super::caller::Caller;
use super::commit::detached;
use super::error::{self, Error};
use super::jobs;
use super::list::Window;
use super::state::AppState;
use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountCommand;
use tintype_storage::domain::audit_log::{Action, Note};
use tintype_storage::domain::batch::{Batch, BatchProgress, BatchStatus};
use tintype_storage::domain::ids::{AccountId, BatchId};
use tintype_storage::domain::job::JobState;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{BatchError, Page, Part};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// Jobs that are read at a time where those of a batch are looked at.
const STEP: usize = 256;
/// Jobs of a batch that are canceled side by side: what one round of an account decides.
const CANCELED_AT_A_TIME: usize = 256;

/// A batch with how far it is.
pub type BatchWithProgress = (Batch, BatchProgress);

/// One text for an unknown id, no id at all, and another account's batch.
pub fn no_batch() -> Error {
    Error::not_found("there is no such batch")
}

/// A batch of an account.
///
/// # Errors
/// `NotFound`, also for another account's batch
pub async fn find(
    state: &AppState,
    account: AccountId,
    id: &str,
) -> Result<BatchWithProgress, Error> {
    let id: BatchId = id.parse().map_err(|_| no_batch())?;
    state.store.batch(account, id).await?.ok_or_else(no_batch)
}

/// A batch of any account. Searched for on the blocking pool: unless the account is known, there may be many to ask.
///
/// # Errors
/// The store fails.
pub async fn find_in_all(
    state: &AppState,
    account: Option<AccountId>,
    id: BatchId,
) -> Result<Option<Batch>, Error> {
    let store = state.store.clone();
    let found = spawn_blocking(move || match account {
        Some(account) => Ok(store.batch(account, id).wait()?.map(|(batch, _)| batch)),
        None => store.find_batch(id).wait(),
    });
    Ok(found.await.map_err(|_| error::busy())??)
}

/// A page of an account's batches, newest first.
///
/// # Errors
/// The store fails.
pub async fn page_of(
    state: &AppState,
    account: AccountId,
    window: Window,
) -> Result<Page<BatchWithProgress>, Error> {
    let page = state
        .store
        .batches_of(account, window.limit, window.after)
        .await?;
    let mut items = Vec::with_capacity(page.items.len());
    for batch in page.items {
        let progress = state.store.progress_of(&batch).await?;
        items.push((batch, progress));
    }
    Ok(Page {
        items,
        next: page.next,
    })
}

/// How far a batch is once it has ended, or when `patience` ends before, or the service begins to stop.
///
/// # Errors
/// The store fails.
pub async fn until_ended(
    state: &AppState,
    batch: &Batch,
    patience: Duration,
) -> Result<BatchProgress, Error> {
    let mut stopping = state.stopping.subscribe();
    tokio::select! {
        ended = all_ended(state, batch) => ended?,
        _ = state.fail_stop.tripped() => return Err(error::stopping()),
        () = tokio::time::sleep(patience) => {}
        // The sender lives as long as the state does.
        _ = stopping.wait_for(|it| *it) => {}
    }
    Ok(state.store.progress_of(batch).await?)
}

/// Waits for the newest of its live jobs until there is none: jobs begin in their order, so few of them are waited for.
async fn all_ended(state: &AppState, batch: &Batch) -> Result<(), Error> {
    let (from, below) = (Some(batch.first), Some(batch.last.next()));
    loop {
        let live = state
            .store
            .jobs_of(batch.account, Part::Live, below, from, 1);
        let Some(newest) = live.await?.pop() else {
            return Ok(());
        };
        state.system.ended(batch.account, newest.id).await?;
    }
}

/// Cancels what is still queued of a batch. What a cancellation entails is done also when the caller has left.
///
/// # Errors
/// `NotFound`; `Forbidden`; `Conflict` for a batch that has ended
pub async fn cancel(
    state: &Arc<AppState>,
    caller: &Caller,
    batch: Batch,
) -> Result<BatchWithProgress, Error> {
    let account = batch.account;
    if !caller.sees(account) {
        return Err(no_batch());
    }
    let audit = match caller {
        Caller::ApiKey(_) => None,
        Caller::Person { .. } | Caller::Operator { .. } => {
            Some(caller.change(state, account).await?)
        }
    };
    let before = state.store.progress_of(&batch).await?;
    if before.status() == BatchStatus::Ended {
        // A repeated cancellation is answered as the first was.
        return match before.canceled_at {
            Some(_) => Ok((batch, before)),
            None => Err(Error::conflict("the batch has already ended")),
        };
    }
    let actor = state.system.accounts().get(account)?.ok_or_else(no_batch)?;
    let note = audit.map(|audit| note(state, audit, &batch));
    let state = Arc::clone(state);
    detached(async move {
        let (reply, outcome) = oneshot::channel();
        let command = AccountCommand::CancelBatch {
            batch: batch.id,
            note,
            reply: reply.into(),
        };
        actor.send(command).map_err(|_| error::busy())?;
        match outcome.await.map_err(|_| error::stopping())? {
            Ok(_) => cancel_queued(&state, &batch).await?,
            Err(BatchError::NotFound) => return Err(no_batch()),
            Err(BatchError::Store(error)) => return Err(error.into()),
        }
        let progress = state.store.progress_of(&batch).await?;
        Ok((batch, progress))
    })
    .await
}

/// Ends the queued jobs at once, so that their price is free. One that cannot be ended now is canceled when its turn comes.
async fn cancel_queued(state: &Arc<AppState>, batch: &Batch) -> Result<(), Error> {
    let mut from = batch.first;
    loop {
        let jobs = state
            .store
            .rising_jobs_of(batch.account, Part::Live, from, batch.last, STEP)
            .await?;
        let Some(last) = jobs.last() else {
            return Ok(());
        };
        from = last.id.next();
        let queued = jobs.iter().filter(|job| job.state == JobState::Queued);
        stream::iter(queued)
            .for_each_concurrent(CANCELED_AT_A_TIME, |job| async {
                if let Err(error) = jobs::end_queued(state, job.account, job.id, None).await {
                    tracing::debug!(job = %job.id, %error, "a job of a canceled batch was not canceled");
                }
            })
            .await;
    }
}

/// The line of the audit log about a cancellation.
fn note(state: &AppState, audit: &AuditContext, batch: &Batch) -> Note<BatchId> {
    let subject = Subject {
        account: Some(batch.account),
        id: Some(batch.id.0),
    };
    let line = audit.line(state, Action::BatchCancel, subject);
    Box::new(move |_: &BatchId| {
        let after = json!({"status": BatchStatus::Canceling.word()});
        to_audit_entry(line.clone(), None, Some(after))
    })
}
