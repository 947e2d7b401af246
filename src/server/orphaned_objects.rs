//! Removes orphaned objects, which no record names. A process killed between storing an object and writing its record leaves one,
//! and so does an object store that fails to delete. The content of an expired file is one too.

use crate::application::services::JobService;
use crate::objects::{self, NamedObject, ObjectError, RESULTS, UPLOADS, read_result_key};
use futures_util::TryStreamExt as _;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{All, Store, StoreError, tables};

/// A younger object may belong to a request in flight.
const MIN_AGE: Duration = Duration::from_secs(86_400);
/// Objects of other kinds than inputs per step. Each step reads every job or file on record.
const LARGE_STEP: usize = 20_000;

/// A kind of objects.
pub struct ObjectKind {
    /// For the log.
    pub name: &'static str,
    prefix: &'static str,
    /// Only objects that became old within this time.
    span: Option<Duration>,
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
    prefix: objects::INPUTS,
    span: None,
    step: 1_000,
    max_steps: 10,
    retain_orphans: retain_orphaned_inputs,
};

/// Sweeps the whole list: the texts of jobs stay in it, so a sweep that ended early would never reach the later ones.
pub const REQUEST_TEXTS: ObjectKind = ObjectKind {
    name: "request texts",
    prefix: objects::REQUEST_TEXTS,
    span: None,
    step: LARGE_STEP,
    max_steps: usize::MAX,
    retain_orphans: retain_orphaned_texts,
};

/// Sweeps the whole list, as [`REQUEST_TEXTS`].
pub const UPLOADED_FILES: ObjectKind = ObjectKind {
    name: "uploads",
    prefix: UPLOADS,
    span: None,
    step: LARGE_STEP,
    max_steps: usize::MAX,
    retain_orphans: retain_orphaned_uploads,
};

/// Images of interrupted runs that the job's record does not name: a process dies, or is declared dead, after it has stored the image of
/// its run, or the run ends during the write. Sweeps the whole list, as [`REQUEST_TEXTS`].
pub const IMAGES: ObjectKind = ObjectKind {
    name: "images",
    prefix: RESULTS,
    span: None,
    step: LARGE_STEP,
    max_steps: usize::MAX,
    retain_orphans: retain_orphaned_images,
};

/// The only image of a job whose first run failed does not differ from that of a done job, so only the records tell. Reading them for
/// each image every day would take too long: this sweep covers the images of some days.
pub const NEW_IMAGES: ObjectKind = ObjectKind {
    span: Some(Duration::from_secs(3 * 86_400)),
    retain_orphans: retain_orphaned_new_images,
    ..IMAGES
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
    tables::ENDED_JOBS
        .each(store, &All, |_, job| remove_texts(&job))
        .wait()?;
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

/// Considers only jobs with an image of a second or later run, or with several images. So a sweep reads the jobs only if there are such
/// images, and ignores nearly all others.
fn retain_orphaned_images(store: &Store, objects: &mut HashSet<String>) -> Result<(), StoreError> {
    let mut images = images_by_job(objects.drain());
    let is_repeated = |(run, _): &(Option<u32>, String)| run.is_some_and(|it| it > 1);
    images.retain(|_, of_job| of_job.len() > 1 || of_job.iter().any(is_repeated));
    add_orphaned_images(store, images, objects)
}

fn retain_orphaned_new_images(
    store: &Store,
    objects: &mut HashSet<String>,
) -> Result<(), StoreError> {
    add_orphaned_images(store, images_by_job(objects.drain()), objects)
}

/// With their runs.
type ImagesByJob = HashMap<JobId, Vec<(Option<u32>, String)>>;

fn images_by_job(keys: impl Iterator<Item = String>) -> ImagesByJob {
    let mut images = ImagesByJob::new();
    for key in keys {
        if let Some((job, run)) = read_result_key(&key) {
            images.entry(job).or_default().push((run, key));
        }
    }
    images
}

/// Adds the images of ended jobs that name another image or none. Images of live jobs may still be committed, and those of deleted
/// jobs can still be downloaded.
fn add_orphaned_images(
    store: &Store,
    mut images: ImagesByJob,
    orphans: &mut HashSet<String>,
) -> Result<(), StoreError> {
    if images.is_empty() {
        return Ok(());
    }
    let add_orphans = |_, job: Job| {
        let named = job.result_image().map(|it| &it.key);
        let of_job = images.remove(&job.id).unwrap_or_default();
        let keys = of_job.into_iter().map(|(_, key)| key);
        orphans.extend(keys.filter(|it| Some(it) != named));
        Ok(())
    };
    tables::ENDED_JOBS.each(store, &All, add_orphans).wait()
}

/// Removes old objects that no record names. Returns how many.
pub async fn remove(jobs: &JobService, kind: &ObjectKind) -> Result<usize, SweepError> {
    let age = MIN_AGE + jobs.settings.config.compat.timeout();
    let now = jobs.core.now();
    let older_than = now.minus(age).to_datetime();
    let newer_than = kind.span.map(|it| now.minus(age + it).to_datetime());
    let mut objects = jobs.objects.list(kind.prefix);
    let mut removed = 0;
    for _ in 0..kind.max_steps {
        let mut old = HashSet::new();
        while old.len() < kind.step {
            let Some(object) = objects.try_next().await? else {
                break;
            };
            let modified = object.last_modified;
            if modified < older_than && newer_than.is_none_or(|it| modified >= it) {
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
) -> Result<Vec<String>, StoreError> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let (store, retain_orphans) = (jobs.core.store.clone(), kind.retain_orphans);
    // Reads many jobs, which would block the maintenance loop on this thread.
    let read = tokio::task::spawn_blocking(move || {
        retain_orphans(&store, &mut objects)?;
        Ok::<_, StoreError>(objects)
    });
    // After a panic no object is known to be orphaned.
    let orphaned = read.await.unwrap_or_else(|_| Ok(HashSet::new()))?;
    // Last: if a job ended during the read, its inputs are among the kept ones now.
    Ok(match kind.prefix {
        objects::INPUTS => jobs.input_deletion.defer_orphans(orphaned, Instant::now()),
        _ => orphaned.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::job::{FailureKind, JobState, ResultImage};
    use tintype_storage::domain::time::Timestamp;
    use tintype_storage::engine::commit_and_wait;
    use tintype_storage::store::tables::{ENDED_JOBS, LIVE_JOBS};
    use tintype_storage::testing::samples;
    use tintype_storage::testing::stalled::StalledEngine;
    use uuid::Uuid;

    fn job(number: u128, state: JobState) -> Job {
        Job {
            id: JobId(Uuid::from_u128(number)),
            ..samples::job(state)
        }
    }

    /// The key of an image, without a run if a single process has stored it.
    fn image(job: u128, run: &str) -> String {
        format!("{RESULTS}/{}{run}.png", JobId(Uuid::from_u128(job)))
    }

    fn done(number: u128, run: &str) -> Job {
        let image = ResultImage {
            key: image(number, run),
            bytes: 1,
            width: 1,
            height: 1,
            backend: None,
        };
        let state = JobState::Done {
            started_at: Timestamp::from_millis(0),
            finished_at: Timestamp::from_millis(0),
            image,
        };
        job(number, state)
    }

    #[test]
    fn images_that_the_record_of_an_ended_job_does_not_name_are_orphaned() {
        let store = Store::new(StalledEngine::in_memory());
        let failed = JobState::Failed {
            started_at: None,
            finished_at: Timestamp::from_millis(0),
            error: "it failed".into(),
            kind: FailureKind::TimedOut,
        };
        let runs = JobState::Processing {
            started_at: Timestamp::from_millis(0),
            runs: 3,
        };
        let ended = [done(1, ".2"), done(2, ".3"), done(3, ".1"), done(4, "")];
        let of_failed = [5, 8, 9].map(|it| job(it, failed.clone()));
        let ended = ended.into_iter().chain(of_failed).chain([done(10, "")]);
        let mut writes: Vec<_> = ended
            .map(|it| ENDED_JOBS.put(&(it.account, it.id), &it))
            .collect();
        let live = job(6, runs);
        writes.push(LIVE_JOBS.put(&(live.account, live.id), &live));
        commit_and_wait(&**store.engine(), writes).expect("a commit");

        let orphaned = [(1, ".1"), (2, ".2"), (2, ".1"), (3, ".2"), (5, ".2")];
        let orphaned = orphaned.map(|(job, run)| image(job, run));
        // Of a run that failed over to a backend with another format.
        let converted = image(4, "").replace(".png", ".jpg");
        let orphaned = HashSet::from_iter(orphaned.into_iter().chain([converted]));
        // The first runs of failed jobs.
        let new = [image(8, ".1"), image(9, "")];
        let others = [(1, ".2"), (2, ".3"), (3, ".1"), (4, ""), (10, "")];
        // Of a live job, and of a job that retention has deleted.
        let others = others.into_iter().chain([(6, ".2"), (7, ".2"), (7, ".1")]);
        let others = others.map(|(job, run)| image(job, run));
        let all = others.chain(orphaned.iter().cloned()).chain(new.clone());
        let all: HashSet<String> = all.collect();
        let mut found = all.clone();
        retain_orphaned_images(&store, &mut found).expect("readable");
        assert_eq!(found, orphaned);
        let mut found = all;
        retain_orphaned_new_images(&store, &mut found).expect("readable");
        assert_eq!(found, &orphaned | &HashSet::from(new));
    }
}
