//! Input images that no job will begin with any more: left by a process that was killed between the storing and the job, or by
//! a store that failed when they were to be removed.

use crate::application::state::AppState;
use crate::images::ImagesError;
use futures_util::TryStreamExt as _;
use std::collections::HashSet;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;

/// Where input images lie.
const INPUTS: &str = "inputs";
/// What is younger may belong to a call that is under way.
const AGE: Duration = Duration::from_secs(86_400);
/// Objects that are compared with the live jobs at a time: each comparison reads all of those.
const STEP: usize = 1_000;
/// Comparisons of one sweep; the rest waits for the next.
const MAX_STEPS: usize = 10;

/// Why a sweep was given up.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The object store failed.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// The records could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removes what lies among the input images for longer than a day, and than a call may take, and is of no live job. Says how
/// many.
///
/// # Errors
/// A store failed; the next sweep goes on.
pub async fn remove(state: &AppState) -> Result<usize, SweepError> {
    let age = AGE + state.config.compat.timeout();
    let millis = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let older_than = Timestamp::from_millis(state.now().millis().saturating_sub(millis));
    let older_than = older_than.to_datetime();
    let mut objects = state.images.list(INPUTS);
    let mut removed = 0;
    for _ in 0..MAX_STEPS {
        let mut old = HashSet::new();
        while old.len() < STEP {
            let Some(object) = objects.try_next().await? else {
                break;
            };
            if object.last_modified < older_than {
                old.insert(object.location.to_string());
            }
        }
        let is_last = old.len() < STEP;
        for key in without_live(state, old).await? {
            state.images.delete(&key).await?;
            removed += 1;
        }
        if is_last {
            break;
        }
    }
    Ok(removed)
}

/// Those of these objects that no live job begins with, and no backup may want.
async fn without_live(
    state: &AppState,
    mut objects: HashSet<String>,
) -> Result<HashSet<String>, StoreError> {
    if objects.is_empty() {
        return Ok(objects);
    }
    let store = state.store.clone();
    // Reads all live jobs, which may be many: not on this thread, which has the pulse.
    let read = tokio::task::spawn_blocking(move || {
        store.each_live_job(|job| {
            for input in &job.inputs {
                objects.remove(&input.key);
            }
            Ok(())
        })?;
        Ok::<_, StoreError>(objects)
    });
    // A reading that was cut off tells of none.
    let mut stale = read.await.unwrap_or_else(|_| Ok(HashSet::new()))?;
    // Only now: the inputs of a job that has ended meanwhile are among those that are kept.
    state.gallery.without_kept(&mut stale);
    Ok(stale)
}
