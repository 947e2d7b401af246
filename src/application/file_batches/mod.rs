//! Batches that are submitted as uploaded files, and their result files.

pub(crate) mod uploaded_files;

use crate::application::caller::Caller;
use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{Error, internal};
use crate::application::fingerprint::FingerprintBuilder;
use crate::application::idempotency;
use crate::application::jobs::batches;
use crate::application::services::{GenerationService, JobService};
use crate::application::settings::Settings;
use crate::application::submission::batch_request::BatchRequest;
use crate::application::submission::submit_batch::submit_batch;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::batch::{Batch, BatchProgress};
use tintype_storage::domain::file_batch::{
    BatchEndpoint, FileBatch, FileBatchTerms, LineFault, Validation,
};
use tintype_storage::domain::ids::{AccountId, BatchId};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::tables::FILE_BATCHES;
use tintype_storage::store::{IdempotencyUse, IdempotentCall, Made};

/// Batches per read.
const STEP: usize = 100;
/// Failed batches of an account in a row: they are free, and each is on record for the retention of files.
const MAX_FAILED: usize = 200;
/// An automatic retry of a client comes within this time.
pub const RETRY_WINDOW: Duration = Duration::from_secs(15 * 60);

pub struct FileBatchStatus {
    pub file_batch: FileBatch,
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
    pub fn results(&self, core: &Core, settings: &Settings) -> impl Iterator<Item = ResultsFile> {
        let kinds = [ResultsKind::Output, ResultsKind::Errors];
        kinds
            .into_iter()
            .filter_map(|kind| self.results_of(kind, core, settings))
    }

    /// `None` while the batch runs, if the file would be empty, and after the file expired or was deleted.
    pub fn results_of(
        &self,
        kind: ResultsKind,
        core: &Core,
        settings: &Settings,
    ) -> Option<ResultsFile> {
        let (batch, progress) = self.accepted.as_ref()?;
        let Validation::Accepted { deleted } = self.file_batch.outcome else {
            return None;
        };
        let (lines, is_deleted) = match kind {
            ResultsKind::Output => (progress.done, deleted.output),
            ResultsKind::Errors => (progress.failed, deleted.errors),
        };
        let created_at = progress.ended_at?;
        let retention = settings.config.results.retention();
        let expires_at = self.file_batch.results_expire_at(created_at, retention);
        let is_expired = expires_at.is_some_and(|at| at <= core.now());
        if lines == 0 || is_deleted || is_expired {
            return None;
        }
        Some(ResultsFile {
            kind,
            batch: batch.clone(),
            as_urls: self.file_batch.terms.as_urls,
            created_at,
            expires_at,
        })
    }
}

/// Finds a batch of an account; `None` also if it was not submitted as a file.
pub async fn find(
    core: &Core,
    account: AccountId,
    id: BatchId,
) -> Result<Option<FileBatchStatus>, Error> {
    match FILE_BATCHES.get(&core.store, &(account, id)).await? {
        Some(file_batch) => Ok(Some(status(core, file_batch).await?)),
        None => Ok(None),
    }
}

/// Reads the progress of a batch.
pub async fn status(core: &Core, file_batch: FileBatch) -> Result<FileBatchStatus, Error> {
    let accepted = match file_batch.outcome {
        Validation::Accepted { .. } => core.store.batch(file_batch.account, file_batch.id).await?,
        Validation::Failed(_) => None,
    };
    Ok(FileBatchStatus {
        file_batch,
        accepted,
    })
}

/// Submits the requests of a file as a batch, or finds the batch of the first call with this idempotency key. The flag is true for a
/// replay.
///
/// # Errors
/// The first check that fails. The service then stores and charges nothing.
pub async fn submit(
    generations: &Arc<GenerationService>,
    payer: &Payer,
    request: BatchRequest,
) -> Result<(FileBatchStatus, bool), Error> {
    let accepted = submit_batch(generations, payer, request).await?;
    let found = find(&generations.core, payer.account(), accepted.batch).await?;
    Ok((found.ok_or_else(internal)?, accepted.replayed))
}

/// Records a batch whose file is invalid, so that its caller can read the errors. Charges nothing.
///
/// # Errors
/// `Conflict` if the newest batches of the account have failed too; `Unauthorized` if the key is not valid any more
pub async fn record_failed(
    core: &Core,
    settings: &Settings,
    payer: &Payer,
    terms: FileBatchTerms,
    faults: Vec<LineFault>,
    idempotency_key: Option<String>,
) -> Result<FileBatchStatus, Error> {
    let within_limits = refuse_after_failed_batches(core, payer.account(), &faults);
    let guards = uploaded_files::admit(core, payer, within_limits).await?;
    let now = core.now();
    let used = idempotency_key.map(|name| IdempotencyUse {
        name,
        fingerprint: fingerprint_of_invalid(&terms),
    });
    let file_batch = FileBatch {
        id: BatchId(core.new_id(now)),
        account: payer.account(),
        key: payer.key.id,
        terms,
        created_at: now,
        outcome: Validation::Failed(faults),
    };
    let mut writes = vec![FILE_BATCHES.put(&(file_batch.account, file_batch.id), &file_batch)];
    if let Some(used) = used {
        let (account, made) = (file_batch.account, Made::Batch(file_batch.id));
        writes.push(idempotency::record_use(settings, account, used, made, now));
    }
    core.commit(Change::under_locks(guards, writes)).await?;
    Ok(FileBatchStatus {
        file_batch,
        accepted: None,
    })
}

/// Refuses a further failed batch after [`MAX_FAILED`] in a row.
async fn refuse_after_failed_batches(
    core: &Core,
    account: AccountId,
    faults: &[LineFault],
) -> Result<(), Error> {
    let newest = FILE_BATCHES.page(&core.store, &account, MAX_FAILED, None);
    let newest = newest.await?;
    let mut failed = newest.items.iter();
    if newest.items.len() < MAX_FAILED
        || !failed.all(|it| matches!(it.outcome, Validation::Failed(_)))
    {
        return Ok(());
    }
    let fault = faults.first().map(|it| match it.line {
        Some(line) => format!(" (line {line}: {})", it.message),
        None => format!(" ({})", it.message),
    });
    Err(Error::conflict(format!(
        "the file is invalid{}, and so were the files of the last {MAX_FAILED} batches of the account; correct the file",
        fault.unwrap_or_default()
    )))
}

/// The fingerprint of a call whose file is invalid. It differs from the fingerprint of every valid batch.
fn fingerprint_of_invalid(terms: &FileBatchTerms) -> Fingerprint {
    let mut parts = FingerprintBuilder::default();
    parts.add("invalid file");
    parts.add(terms.input.0.as_bytes());
    parts.add(terms.metadata.as_deref().unwrap_or_default());
    // Recorded fingerprints have no part for generations.
    if terms.endpoint == BatchEndpoint::Edits {
        parts.add("edits");
    }
    parts.finish()
}

/// Finds the batch that the first call with this idempotency key created, without the requests: the file may be invalid, or deleted
/// since.
///
/// # Errors
/// `IdempotencyKeyReused` if the first call had another file, other metadata or another lifetime of the results
pub async fn find_by_idempotency_key(
    core: &Core,
    payer: &Payer,
    name: &str,
    terms: &FileBatchTerms,
) -> Result<Option<FileBatchStatus>, Error> {
    let (call, account) = (IdempotentCall::Submission, payer.account());
    let Some(first) = idempotency::lookup(core, call, account, name).await? else {
        return Ok(None);
    };
    match find(core, account, BatchId(first.made.id())).await? {
        Some(batch) if is_same_request(&batch.file_batch.terms, terms) => {
            core.system.stats().jobs.count_replay();
            Ok(Some(batch))
        }
        _ => Err(idempotency::key_reused_error()),
    }
}

/// Finds the batch of an earlier attempt at the same call: clients retry automatically without an idempotency key. Ignores batches
/// that were created before `refused_at`: the retry repeats a call that was refused then.
pub async fn find_earlier_attempt(
    core: &Core,
    payer: &Payer,
    terms: &FileBatchTerms,
    refused_at: Option<Timestamp>,
) -> Result<Option<FileBatchStatus>, Error> {
    let now = core.now();
    let is_recent = |it: &FileBatch| {
        now <= it.created_at.plus(RETRY_WINDOW) && refused_at.is_none_or(|at| at < it.created_at)
    };
    let (account, mut after) = (payer.account(), None);
    loop {
        let page = FILE_BATCHES
            .page(&core.store, &account, STEP, after)
            .await?;
        for file_batch in page.items {
            if !is_recent(&file_batch) {
                return Ok(None);
            }
            if file_batch.key == payer.key.id && is_same_request(&file_batch.terms, terms) {
                return Ok(Some(status(core, file_batch).await?));
            }
        }
        if page.next.is_none() {
            return Ok(None);
        }
        after = page.next;
    }
}

/// Do two calls ask for the same batch? The content of a file never changes.
fn is_same_request(a: &FileBatchTerms, b: &FileBatchTerms) -> bool {
    let of = |it: &FileBatchTerms| (it.input, it.results_lifetime_seconds, it.endpoint);
    of(a) == of(b) && a.metadata == b.metadata
}

/// Cancels the queued jobs of a batch.
///
/// # Errors
/// `Conflict` for a batch that has ended or failed
pub async fn cancel(
    jobs: &Arc<JobService>,
    payer: &Payer,
    batch_status: FileBatchStatus,
) -> Result<FileBatchStatus, Error> {
    let Some((batch, _)) = batch_status.accepted else {
        return Err(Error::conflict("the batch has already failed"));
    };
    let caller = Caller::ApiKey(payer.account());
    let accepted = batches::cancel(jobs, &caller, batch).await?;
    Ok(FileBatchStatus {
        accepted: Some(accepted),
        ..batch_status
    })
}

/// Deletes a result file. The jobs of the batch and their images stay.
pub async fn delete_results(core: &Arc<Core>, file: ResultsFile) -> Result<(), Error> {
    let core = Arc::clone(core);
    detached(async move {
        // Held by the sweeps that delete old batches: the change must not restore a deleted record.
        let guard = core.locks.content.lock().await?;
        let (account, id) = (file.batch.account, file.batch.id);
        let file_batch = FILE_BATCHES.get(&core.store, &(account, id)).await?;
        let Some(mut file_batch) = file_batch else {
            return Ok(());
        };
        if let Validation::Accepted { deleted } = &mut file_batch.outcome {
            match file.kind {
                ResultsKind::Output => deleted.output = true,
                ResultsKind::Errors => deleted.errors = true,
            }
        }
        let writes = vec![FILE_BATCHES.put(&(account, id), &file_batch)];
        Ok(core.commit(Change::under_lock(guard, writes)).await?)
    })
    .await
}
