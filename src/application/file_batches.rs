//! Batches that are submitted as uploaded files, and their result files.

use super::batch_request::BatchRequest;
use super::batches;
use super::caller::Caller;
use super::commit::{Change, detached};
use super::error::{Error, internal};
use super::payer::Payer;
use super::state::AppState;
use super::submit_batch::submit_batch;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::batch::{Batch, BatchProgress};
use tintype_storage::domain::file_batch::{FileBatch, FileBatchTerms, LineFault, Validation};
use tintype_storage::domain::ids::{AccountId, BatchId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Direction;

/// Batches searched for an earlier attempt.
const RECENT: usize = 20;
/// An automatic retry of a client comes within this time.
const RETRY_WINDOW: Duration = Duration::from_secs(15 * 60);

pub struct FileBatchStatus {
    pub of_file: FileBatch,
    /// `None` if the file was invalid.
    pub accepted: Option<(Batch, BatchProgress)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultsKind {
    /// Successful requests.
    Output,
    /// Failed requests.
    Errors,
}

/// A result file of an ended batch. Its content is generated while it is read.
pub struct ResultsFile {
    pub kind: ResultsKind,
    pub batch: Batch,
    /// The file contains image URLs instead of base64 data.
    pub as_urls: bool,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

impl FileBatchStatus {
    pub fn results(&self, state: &AppState) -> impl Iterator<Item = ResultsFile> {
        let kinds = [ResultsKind::Output, ResultsKind::Errors];
        kinds
            .into_iter()
            .filter_map(|kind| self.results_of(kind, state))
    }

    /// `None` while the batch runs, if the file would be empty, and after the file expired or was deleted.
    pub fn results_of(&self, kind: ResultsKind, state: &AppState) -> Option<ResultsFile> {
        let (batch, progress) = self.accepted.as_ref()?;
        let Validation::Accepted { deleted } = self.of_file.outcome else {
            return None;
        };
        let (lines, is_deleted) = match kind {
            ResultsKind::Output => (progress.done, deleted.output),
            ResultsKind::Errors => (progress.failed, deleted.errors),
        };
        let created_at = progress.ended_at?;
        let retention = state.config.results.retention();
        let expires_at = self.of_file.results_expire_at(created_at, retention);
        let is_expired = expires_at.is_some_and(|at| at <= state.now());
        if lines == 0 || is_deleted || is_expired {
            return None;
        }
        Some(ResultsFile {
            kind,
            batch: batch.clone(),
            as_urls: self.of_file.terms.as_urls,
            created_at,
            expires_at,
        })
    }
}

/// Finds a batch of an account; `None` also if it was not submitted as a file.
///
/// # Errors
/// The store fails.
pub async fn find(
    state: &AppState,
    account: AccountId,
    id: BatchId,
) -> Result<Option<FileBatchStatus>, Error> {
    match state.store.file_batch(account, id).await? {
        Some(of_file) => Ok(Some(status(state, of_file).await?)),
        None => Ok(None),
    }
}

/// Reads the progress of a batch.
///
/// # Errors
/// The store fails.
pub async fn status(state: &AppState, of_file: FileBatch) -> Result<FileBatchStatus, Error> {
    let accepted = match of_file.outcome {
        Validation::Accepted { .. } => state.store.batch(of_file.account, of_file.id).await?,
        Validation::Failed(_) => None,
    };
    Ok(FileBatchStatus { of_file, accepted })
}

/// Submits the requests of a file as a batch, or finds the batch of the first call with this idempotency key. The flag is true for a
/// replay.
///
/// # Errors
/// The first check that fails. The service then stores and charges nothing.
pub async fn submit(
    state: &Arc<AppState>,
    caller: &Payer,
    request: BatchRequest,
) -> Result<(FileBatchStatus, bool), Error> {
    let accepted = submit_batch(state, caller, request).await?;
    let found = find(state, caller.account(), accepted.batch).await?;
    Ok((found.ok_or_else(internal)?, accepted.replayed))
}

/// Records a batch whose file is invalid, so that its caller can read the errors. Charges nothing.
///
/// # Errors
/// The store fails.
pub async fn record_failed(
    state: &AppState,
    caller: &Payer,
    terms: FileBatchTerms,
    faults: Vec<LineFault>,
) -> Result<FileBatchStatus, Error> {
    let now = state.now();
    let of_file = FileBatch {
        id: BatchId(state.system.accounts().context().ids.next(now)),
        account: caller.account(),
        key: caller.key.id,
        terms,
        created_at: now,
        outcome: Validation::Failed(faults),
    };
    let writes = vec![state.store.put_file_batch(&of_file)];
    state.commit(writes).await?;
    Ok(FileBatchStatus {
        of_file,
        accepted: None,
    })
}

/// Finds the batch of an earlier attempt at the same call: clients retry automatically without an idempotency key.
///
/// # Errors
/// The store fails.
pub async fn find_earlier_attempt(
    state: &AppState,
    caller: &Payer,
    terms: &FileBatchTerms,
) -> Result<Option<FileBatchStatus>, Error> {
    let recent = state
        .store
        .file_batches(caller.account(), Direction::Falling, RECENT, None)
        .await?;
    let now = state.now();
    let same = recent.items.into_iter().find(|it| {
        it.key == caller.key.id
            && it.terms.input == terms.input
            && it.terms.metadata == terms.metadata
            && now <= it.created_at.plus(RETRY_WINDOW)
    });
    match same {
        Some(of_file) => Ok(Some(status(state, of_file).await?)),
        None => Ok(None),
    }
}

/// Cancels the queued jobs of a batch.
///
/// # Errors
/// `Conflict` for a batch that has ended or failed
pub async fn cancel(
    state: &Arc<AppState>,
    caller: &Payer,
    batch_status: FileBatchStatus,
) -> Result<FileBatchStatus, Error> {
    let Some((batch, _)) = batch_status.accepted else {
        return Err(Error::conflict("the batch has already failed"));
    };
    let caller = Caller::ApiKey(caller.clone());
    let accepted = batches::cancel(state, &caller, batch).await?;
    Ok(FileBatchStatus {
        accepted: Some(accepted),
        ..batch_status
    })
}

/// Deletes a result file. The jobs of the batch and their images stay.
///
/// # Errors
/// The store fails.
pub async fn delete_results(state: &Arc<AppState>, file: ResultsFile) -> Result<(), Error> {
    let state = Arc::clone(state);
    detached(async move {
        let guard = state.operator.lock().await?;
        let (account, id) = (file.batch.account, file.batch.id);
        let Some(mut of_file) = state.store.file_batch(account, id).await? else {
            return Ok(());
        };
        if let Validation::Accepted { deleted } = &mut of_file.outcome {
            match file.kind {
                ResultsKind::Output => deleted.output = true,
                ResultsKind::Errors => deleted.errors = true,
            }
        }
        let writes = vec![state.store.put_file_batch(&of_file)];
        Ok(state.commit(Change::under_lock(guard, writes)).await?)
    })
    .await
}
