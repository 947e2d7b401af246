//! Removes orphaned objects, which no record names. A process killed between storing an object and writing its record leaves one,
//! and so does an object store that fails to delete. The content of an expired file is one too.

use crate::application::services::JobService;
use crate::images::{ImagesError, UPLOADS, upload_key};
use crate::request_text;
use futures_util::TryStreamExt as _;
use std::collections::HashSet;
use std::time::Duration;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::job::{Job, PromptRef};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};

/// The prefix of input images.
const INPUTS: &str = "inputs";
/// A younger object may belong to a request in flight.
const MIN_AGE: Duration = Duration::from_secs(86_400);
/// Input images per step. Each step reads all live jobs.
const INPUT_STEP: usize = 1_000;
/// Steps of one sweep over the input images. The next sweep does the rest.
const MAX_INPUT_STEPS: usize = 10;
/// Request texts per step. Each step reads every job on record.
const TEXT_STEP: usize = 20_000;

/// Why a sweep ended early. The next sweep tries again.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The object store failed.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// The records could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removes old input images that no live job names. Returns how many.
///
/// # Errors
/// A store failed.
pub async fn remove_inputs(jobs: &JobService) -> Result<usize, SweepError> {
    sweep(
        jobs,
        INPUTS,
        INPUT_STEP,
        MAX_INPUT_STEPS,
        retain_orphaned_inputs,
    )
    .await
}

/// Removes old request texts that no job on record names. Returns how many.
///
/// Sweeps the whole list: the texts of jobs stay in it, so a sweep that ended early would never reach the later ones.
///
/// # Errors
/// A store failed.
pub async fn remove_request_texts(jobs: &JobService) -> Result<usize, SweepError> {
    sweep(
        jobs,
        request_text::PREFIX,
        TEXT_STEP,
        usize::MAX,
        retain_orphaned_texts,
    )
    .await
}

/// Removes old uploads that no file on record names. Returns how many. Sweeps the whole list, as [`remove_request_texts`].
///
/// # Errors
/// A store failed.
pub async fn remove_uploads(jobs: &JobService) -> Result<usize, SweepError> {
    sweep(
        jobs,
        UPLOADS,
        TEXT_STEP,
        usize::MAX,
        retain_orphaned_uploads,
    )
    .await
}

/// Removes the objects that records name from a set.
type RetainOrphans = fn(&Store, &mut HashSet<String>) -> Result<(), StoreError>;

fn retain_orphaned_inputs(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    store
        .each_live_job(|job| {
            for input in &job.inputs {
                objects.remove(&input.key);
            }
            Ok(())
        })
        .wait()
}

fn retain_orphaned_texts(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let mut remove_texts = |job: &Job| {
        if let PromptRef::Stored(key) = &job.prompt {
            objects.remove(key);
        }
        if let Some(InputUrls::Stored(key)) = job.member().map(|it| &it.input_urls) {
            objects.remove(key);
        }
        Ok(())
    };
    // Live jobs first: a job that ends between the two reads is then found among the ended ones.
    store.each_live_job(|job| remove_texts(&job)).wait()?;
    store.each_ended_job(|job| remove_texts(&job)).wait()?;
    let remove_batch_text = |batch: Batch| {
        if let PromptRef::Stored(key) = &batch.text {
            objects.remove(key);
        }
        Ok(())
    };
    store.each_batch(remove_batch_text).wait()
}

fn retain_orphaned_uploads(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let remove_content = |file: UploadedFile| {
        objects.remove(&upload_key(&file));
        Ok(())
    };
    store.each_uploaded_file(remove_content).wait()
}

async fn sweep(
    jobs: &JobService,
    prefix: &str,
    step: usize,
    max_steps: usize,
    retain_orphans: RetainOrphans,
) -> Result<usize, SweepError> {
    let age = MIN_AGE + jobs.settings.config.compat.timeout();
    let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let older_than = Timestamp::from_millis(jobs.core.now().millis().saturating_sub(millis));
    let older_than = older_than.to_datetime();
    let mut objects = jobs.images.list(prefix);
    let mut removed = 0;
    for _ in 0..max_steps {
        let mut old = HashSet::new();
        while old.len() < step {
            let Some(object) = objects.try_next().await? else {
                break;
            };
            if object.last_modified < older_than {
                old.insert(object.location.to_string());
            }
        }
        let is_last = old.len() < step;
        for key in orphans(jobs, old, retain_orphans).await? {
            jobs.images.delete(&key).await?;
            removed += 1;
        }
        if is_last {
            break;
        }
    }
    Ok(removed)
}

/// Returns the objects that no record names and no running backup may still copy.
async fn orphans(
    jobs: &JobService,
    mut objects: HashSet<String>,
    retain_orphans: RetainOrphans,
) -> Result<HashSet<String>, StoreError> {
    if objects.is_empty() {
        return Ok(objects);
    }
    let store = jobs.core.store.clone();
    // Reads many jobs, which would block the maintenance loop on this thread.
    let read = tokio::task::spawn_blocking(move || {
        retain_orphans(&store, &mut objects)?;
        Ok::<_, StoreError>(objects)
    });
    // After a panic no object is known to be orphaned.
    let mut orphaned = read.await.unwrap_or_else(|_| Ok(HashSet::new()))?;
    // Last: if a job ended during the read, its inputs are among the kept ones now.
    jobs.result_store.exclude_kept(&mut orphaned);
    Ok(orphaned)
}
