//! Objects that no record has: left by a process that was killed between storing them and writing the record, or by an object store
//! that failed when they were to be removed. The content of an uploaded file that has expired is one too.

use crate::application::state::AppState;
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

/// Where input images lie.
const INPUTS: &str = "inputs";
/// A younger object may belong to a call that is under way.
const AGE: Duration = Duration::from_secs(86_400);
/// Input images that are compared with the live jobs at a time: each comparison reads all live jobs.
const INPUT_STEP: usize = 1_000;
/// Comparisons of one sweep over the input images; the next sweep takes the rest.
const MAX_INPUT_STEPS: usize = 10;
/// Request texts that are compared with all jobs at a time: each comparison reads every job on record.
const TEXT_STEP: usize = 20_000;

/// Why a sweep ended early. The next sweep goes on.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The object store failed.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// The records could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removes old input images that no live job begins with. Returns their number.
///
/// # Errors
/// A store failed.
pub async fn remove_inputs(state: &AppState) -> Result<usize, SweepError> {
    sweep(state, INPUTS, INPUT_STEP, MAX_INPUT_STEPS, drop_inputs).await
}

/// Removes old request texts that no job on record has. Returns their number.
///
/// Those of jobs stay, so the sweep goes through all of them: an end after some steps would keep the later ones for ever.
///
/// # Errors
/// A store failed.
pub async fn remove_request_texts(state: &AppState) -> Result<usize, SweepError> {
    sweep(
        state,
        request_text::PREFIX,
        TEXT_STEP,
        usize::MAX,
        drop_texts,
    )
    .await
}

/// Removes old uploads that no file on record has. Returns their number.
///
/// Those of files stay, so the sweep goes through all of them.
///
/// # Errors
/// A store failed.
pub async fn remove_uploads(state: &AppState) -> Result<usize, SweepError> {
    sweep(state, UPLOADS, TEXT_STEP, usize::MAX, drop_uploads).await
}

/// Takes the objects that records have out of a set.
type DropRecorded = fn(&Store, &mut HashSet<String>) -> Result<(), StoreError>;

fn drop_inputs(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    store
        .each_live_job(|job| {
            for input in &job.inputs {
                objects.remove(&input.key);
            }
            Ok(())
        })
        .wait()
}

fn drop_texts(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let mut drop_text = |job: &Job| {
        if let PromptRef::Stored(key) = &job.prompt {
            objects.remove(key);
        }
        if let Some(InputUrls::Stored(key)) = job.member().map(|it| &it.input_urls) {
            objects.remove(key);
        }
        Ok(())
    };
    // In this order: a job that ends meanwhile is among the ended ones by then.
    store.each_live_job(|job| drop_text(&job)).wait()?;
    store.each_ended_job(|job| drop_text(&job)).wait()?;
    let drop_text_of_batch = |batch: Batch| {
        if let PromptRef::Stored(key) = &batch.text {
            objects.remove(key);
        }
        Ok(())
    };
    store.each_batch(drop_text_of_batch).wait()
}

fn drop_uploads(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let drop_file = |file: UploadedFile| {
        objects.remove(&upload_key(&file));
        Ok(())
    };
    store.each_uploaded_file(drop_file).wait()
}

async fn sweep(
    state: &AppState,
    prefix: &str,
    step: usize,
    max_steps: usize,
    drop_recorded: DropRecorded,
) -> Result<usize, SweepError> {
    let age = AGE + state.config.compat.timeout();
    let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let older_than = Timestamp::from_millis(state.now().millis().saturating_sub(millis));
    let older_than = older_than.to_datetime();
    let mut objects = state.images.list(prefix);
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
        for key in without_records(state, old, drop_recorded).await? {
            state.images.delete(&key).await?;
            removed += 1;
        }
        if is_last {
            break;
        }
    }
    Ok(removed)
}

/// Those of these objects that no record has, and no backup may want.
async fn without_records(
    state: &AppState,
    mut objects: HashSet<String>,
    drop_recorded: DropRecorded,
) -> Result<HashSet<String>, StoreError> {
    if objects.is_empty() {
        return Ok(objects);
    }
    let store = state.store.clone();
    // Reads many jobs: not on this thread, which has the pulse.
    let read = tokio::task::spawn_blocking(move || {
        drop_recorded(&store, &mut objects)?;
        Ok::<_, StoreError>(objects)
    });
    // After a panic nothing is known to be orphaned.
    let mut orphaned = read.await.unwrap_or_else(|_| Ok(HashSet::new()))?;
    // Only now: the inputs of a job that has ended meanwhile are among those that are kept.
    state.result_store.exclude_kept(&mut orphaned);
    Ok(orphaned)
}
