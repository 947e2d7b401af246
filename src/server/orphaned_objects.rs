//! Removes orphaned objects, which no record names. A process killed between storing an object and writing its record leaves one,
//! and so does an object store that fails to delete. The content of an expired file is one too.

use crate::application::services::JobService;
use crate::inputs;
use crate::objects::{NamedObject, ObjectError, UPLOADS};
use crate::request_text;
use futures_util::TryStreamExt as _;
use std::collections::HashSet;
use std::time::Duration;
use tintype_storage::domain::job::Job;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{All, Store, StoreError, tables};

/// A younger object may belong to a request in flight.
const MIN_AGE: Duration = Duration::from_secs(86_400);
/// Request texts and uploads per step. Each step reads every job or file on record.
const LARGE_STEP: usize = 20_000;

/// A kind of objects.
pub struct ObjectKind {
    /// For the log.
    pub name: &'static str,
    prefix: &'static str,
    /// Objects per step.
    step: usize,
    /// Steps of one sweep. The next sweep does the rest.
    max_steps: usize,
    /// Removes the objects that records name from a set.
    retain_orphans: fn(&Store, &mut HashSet<String>) -> Result<(), StoreError>,
}

/// Each step reads all live jobs.
pub const INPUTS: ObjectKind = ObjectKind {
    name: "input images",
    prefix: inputs::PREFIX,
    step: 1_000,
    max_steps: 10,
    retain_orphans: retain_orphaned_inputs,
};

/// Sweeps the whole list: the texts of jobs stay in it, so a sweep that ended early would never reach the later ones.
pub const REQUEST_TEXTS: ObjectKind = ObjectKind {
    name: "request texts",
    prefix: request_text::PREFIX,
    step: LARGE_STEP,
    max_steps: usize::MAX,
    retain_orphans: retain_orphaned_texts,
};

/// Sweeps the whole list, as [`REQUEST_TEXTS`].
pub const UPLOADED_FILES: ObjectKind = ObjectKind {
    name: "uploads",
    prefix: UPLOADS,
    step: LARGE_STEP,
    max_steps: usize::MAX,
    retain_orphans: retain_orphaned_uploads,
};

/// Why a sweep ended early. The next sweep tries again.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The object store failed.
    #[error(transparent)]
    ObjectStorage(#[from] ObjectError),
    /// The records could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn retain_orphaned_inputs(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    store
        .each_live_job(|job| {
            for object in NamedObject::of_job(&job) {
                objects.remove(&object.key);
            }
            Ok(())
        })
        .wait()
}

fn retain_orphaned_texts(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let mut remove_texts = |job: &Job| {
        for object in NamedObject::of_job(job) {
            objects.remove(&object.key);
        }
        Ok(())
    };
    // Live jobs first: a job that ends between the two reads is then found among the ended ones.
    store.each_live_job(|job| remove_texts(&job)).wait()?;
    store.each_ended_job(|job| remove_texts(&job)).wait()?;
    let remove_batch_text = |_, batch| {
        if let Some(text) = NamedObject::of_batch(&batch) {
            objects.remove(&text.key);
        }
        Ok(())
    };
    tables::BATCHES.each(store, &All, remove_batch_text).wait()
}

fn retain_orphaned_uploads(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let remove_content = |_, file| {
        objects.remove(&NamedObject::of_upload(&file).key);
        Ok(())
    };
    tables::UPLOADED_FILES
        .each(store, &All, remove_content)
        .wait()
}

/// Removes old objects that no record names. Returns how many.
///
/// # Errors
/// A store failed.
pub async fn remove(jobs: &JobService, kind: &ObjectKind) -> Result<usize, SweepError> {
    let age = MIN_AGE + jobs.settings.config.compat.timeout();
    let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let older_than = Timestamp::from_millis(jobs.core.now().millis().saturating_sub(millis));
    let older_than = older_than.to_datetime();
    let mut objects = jobs.objects.list(kind.prefix);
    let mut removed = 0;
    for _ in 0..kind.max_steps {
        let mut old = HashSet::new();
        while old.len() < kind.step {
            let Some(object) = objects.try_next().await? else {
                break;
            };
            if object.last_modified < older_than {
                old.insert(object.location.to_string());
            }
        }
        let is_last = old.len() < kind.step;
        for key in orphans(jobs, kind, old).await? {
            jobs.objects.delete(&key).await?;
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
    kind: &ObjectKind,
    mut objects: HashSet<String>,
) -> Result<HashSet<String>, StoreError> {
    if objects.is_empty() {
        return Ok(objects);
    }
    let (store, retain_orphans) = (jobs.core.store.clone(), kind.retain_orphans);
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
