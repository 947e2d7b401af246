//! Checks that the objects that records name exist in the object store, and that images are not damaged.

use crate::objects::{ERASURE_DELAY, NamedObject, ObjectError, ObjectRole, ObjectStorage};
use futures_util::StreamExt as _;
use futures_util::stream;
use std::collections::{BTreeMap, HashSet};
use tintype_imaging::metadata::png;
use tintype_imaging::{DecodePermits, ImageKind, decoding, jpeg_segments};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::tables::{BATCHES, DELETED_IMAGES, FAVOURITE_ACCOUNTS, UPLOADED_FILES};
use tintype_storage::store::{All, Store, StoreError};
use tokio::time::sleep;

/// Objects looked up concurrently.
const LOOKUPS: usize = 16;
/// Images read concurrently.
const READS: usize = 4;
const DONE_IMAGE: &str = "the image of a done job";

/// The objects that must exist, by key.
pub struct RequiredObjects<'a> {
    objects: BTreeMap<String, RequiredObject>,
    retention: Retention<'a>,
    /// Retention does not delete the images of these jobs.
    favourites: HashSet<JobId>,
    /// The images of these jobs were deleted on demand.
    deleted: HashSet<JobId>,
    pub images: usize,
}

/// Retention may have deleted the images of jobs that ended before the returned time. It continues during the check of a database.
type Retention<'a> = &'a dyn Fn() -> Timestamp;

struct RequiredObject {
    what: &'static str,
    /// As recorded. `None` if no record contains the length.
    bytes: Option<u64>,
    /// When the job of an image ended. `None` if retention does not delete the object.
    ended: Option<Timestamp>,
    /// The job of an image.
    job: Option<(AccountId, JobId)>,
}

impl<'a> RequiredObjects<'a> {
    pub async fn new(store: &Store, retention: Retention<'a>) -> Result<Self, StoreError> {
        let mut favourites = HashSet::new();
        FAVOURITE_ACCOUNTS
            .each(store, &All, |job, _| {
                favourites.insert(job);
                Ok(())
            })
            .await?;
        let mut deleted = HashSet::new();
        DELETED_IMAGES
            .each(store, &All, |(_, job), _| {
                deleted.insert(job);
                Ok(())
            })
            .await?;
        Ok(Self {
            objects: BTreeMap::new(),
            retention,
            favourites,
            deleted,
            images: 0,
        })
    }

    /// Adds the objects of a job, except an image that was deleted or that retention may have deleted.
    pub fn add_job(&mut self, job: &Job) {
        for object in NamedObject::of_job(job) {
            let is_image = object.role == ObjectRole::Image;
            if is_image && self.deleted.contains(&job.id) {
                continue;
            }
            let ended = job.state.finished_at().filter(|_| is_image);
            let ended = ended.filter(|_| !self.favourites.contains(&job.id));
            if ended.is_none_or(|at| at >= (self.retention)()) {
                self.images += usize::from(is_image);
                self.add(object, ended, Some((job.account, job.id)));
            }
        }
    }

    /// Adds the texts of batches and the uploaded files.
    pub async fn add_batches_and_uploads(&mut self, store: &Store) -> Result<(), StoreError> {
        BATCHES
            .each(store, &All, |_, batch| {
                NamedObject::of_batch(&batch)
                    .into_iter()
                    .for_each(|it| self.add(it, None, None));
                Ok(())
            })
            .await?;
        UPLOADED_FILES
            .each(store, &All, |_, file| {
                self.add(NamedObject::of_upload(&file), None, None);
                Ok(())
            })
            .await
    }

    fn add(
        &mut self,
        object: NamedObject,
        ended: Option<Timestamp>,
        job: Option<(AccountId, JobId)>,
    ) {
        let what = match object.role {
            ObjectRole::JobText => "the text of a job",
            ObjectRole::InputUrls => "the input URLs of a job",
            ObjectRole::Input => "an input of an unfinished job",
            ObjectRole::Image => DONE_IMAGE,
            ObjectRole::BatchText => "the text of a batch",
            ObjectRole::Upload => "the content of an uploaded file",
        };
        let required = RequiredObject {
            what,
            bytes: object.bytes,
            ended,
            job,
        };
        self.objects.insert(object.key, required);
    }

    /// One sentence for each object that is missing or has another length, in the order of the keys. `objects`: `None` if there is no
    /// object directory. `reads`: also read the images of done jobs, and find damaged ones.
    pub async fn faults(
        self,
        store: &Store,
        objects: Option<&ObjectStorage>,
        reads: bool,
    ) -> Vec<String> {
        let concurrency = if reads { READS } else { LOOKUPS };
        let retention = self.retention;
        stream::iter(self.objects)
            .map(|(key, object)| async move {
                let Some(objects) = objects else {
                    let what = object.what;
                    return Some(format!(
                        "{what}: {key} is missing: there is no object directory"
                    ));
                };
                let found = match fault(objects, &key, &object).await {
                    Ok(None) if reads && object.what == DONE_IMAGE => damage(objects, &key).await,
                    found => found,
                };
                match found {
                    Ok(fault) => fault,
                    Err(error) => object.read_fault(&error, retention, store).await,
                }
            })
            .buffered(concurrency)
            .filter_map(async |it| it)
            .collect()
            .await
    }
}

impl RequiredObject {
    /// The fault of an object that cannot be read. `None` if retention or its owner has deleted it meanwhile.
    async fn read_fault(
        &self,
        error: &ObjectError,
        retention: Retention<'_>,
        store: &Store,
    ) -> Option<String> {
        if matches!(error, ObjectError::NotFound { .. }) {
            if self.ended.is_some_and(|at| at < retention()) {
                return None;
            }
            if let Some((account, job)) = self.job {
                let is_deleted = match self.what == DONE_IMAGE {
                    true => store.is_image_deleted(account, job).await,
                    false => is_erased(store, account, job).await,
                };
                if is_deleted.unwrap_or(false) {
                    return None;
                }
            }
        }
        Some(format!("{}: {error}", self.what))
    }
}

/// Was a job erased, or deleted?
async fn is_erased(store: &Store, account: AccountId, job: JobId) -> Result<bool, StoreError> {
    let ask = async || {
        let found = store.job(account, job).await?;
        Ok::<_, StoreError>(found.is_none_or(|it| it.is_erased()))
    };
    if ask().await? {
        return Ok(true);
    }
    sleep(ERASURE_DELAY).await;
    ask().await
}

async fn fault(
    objects: &ObjectStorage,
    key: &str,
    object: &RequiredObject,
) -> Result<Option<String>, ObjectError> {
    let found = objects.head(key).await?.size;
    let wrong = object.bytes.filter(|bytes| found != *bytes);
    Ok(wrong.map(|bytes| {
        format!(
            "{}: {key} has {found} bytes, but its record says {bytes}",
            object.what
        )
    }))
}

async fn damage(objects: &ObjectStorage, key: &str) -> Result<Option<String>, ObjectError> {
    let bytes = objects.get(key).await?;
    let intact = tokio::task::spawn_blocking(move || is_intact(&bytes));
    // Decoders may panic on damaged bytes.
    let is_damaged = !intact.await.unwrap_or(false);
    Ok(is_damaged.then(|| format!("{DONE_IMAGE}: {key} is damaged")))
}

/// A PNG has checksums. Another format is decoded, which does not find every damage.
fn is_intact(bytes: &[u8]) -> bool {
    match ImageKind::from_bytes(bytes) {
        Some(ImageKind::Png) => png::is_intact(bytes),
        Some(ImageKind::Jpeg) if !jpeg_segments::has_end(bytes) => false,
        Some(_) => DecodePermits::unshared(|permit| {
            decoding::open_any(permit, bytes)
                .and_then(|it| it.inspect())
                .is_ok()
        }),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tintype_storage::domain::job::{JobState, ResultImage};
    use tintype_storage::engine::commit_and_wait;
    use tintype_storage::testing::samples;
    use tintype_storage::testing::stalled::StalledEngine;
    use uuid::Uuid;

    fn done(id: u128, finished_at: i64) -> Job {
        let image = ResultImage {
            key: format!("results/{id}.png"),
            bytes: 1,
            width: 1,
            height: 1,
            backend: None,
        };
        let at = Timestamp::from_millis(finished_at);
        Job {
            id: JobId(Uuid::from_u128(id)),
            ..samples::job(JobState::Done {
                started_at: at,
                finished_at: at,
                image,
            })
        }
    }

    fn required(favourite: JobId, retention: Retention<'_>) -> RequiredObjects<'_> {
        RequiredObjects {
            objects: BTreeMap::new(),
            retention,
            favourites: HashSet::from([favourite]),
            deleted: HashSet::new(),
            images: 0,
        }
    }

    #[test]
    fn an_old_image_must_exist_if_its_job_is_a_favourite() {
        let favourite = done(1, 99);
        let mut required = required(favourite.id, &|| Timestamp::from_millis(100));
        for job in [&favourite, &done(2, 99), &done(3, 100)] {
            required.add_job(job);
        }
        let keys: Vec<&String> = required.objects.keys().collect();
        assert_eq!(keys, ["results/1.png", "results/3.png"]);
        assert_eq!(required.images, 2);
    }

    #[test]
    fn an_image_that_was_deleted_on_demand_need_not_exist() {
        let deleted = done(1, 100);
        let mut required = required(JobId(Uuid::nil()), &|| Timestamp::from_millis(100));
        required.deleted.insert(deleted.id);
        required.add_job(&deleted);
        required.add_job(&done(2, 100));
        let keys: Vec<&String> = required.objects.keys().collect();
        assert_eq!(keys, ["results/2.png"]);
        assert_eq!(required.images, 1);
    }

    #[tokio::test]
    async fn an_image_that_retention_deletes_during_the_check_is_no_fault() {
        let now = Cell::new(100);
        let retention = || Timestamp::from_millis(now.get());
        let favourite = done(1, 99);
        let mut required = required(favourite.id, &retention);
        for job in [&favourite, &done(2, 100), &done(3, 101)] {
            required.add_job(job);
        }
        now.set(101);
        let directory = tempfile::tempdir().unwrap();
        let objects = ObjectStorage::open_directory(directory.path()).unwrap();
        let store = Store::new(StalledEngine::in_memory());
        let faults = required.faults(&store, Some(&objects), false).await;
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("results/1.png"), "{faults:?}");
        assert!(faults[1].contains("results/3.png"), "{faults:?}");
    }

    #[tokio::test]
    async fn an_image_that_is_deleted_on_demand_during_the_check_is_no_fault() {
        let (deleted, lost) = (done(1, 100), done(2, 100));
        let mut required = required(deleted.id, &|| Timestamp::EPOCH);
        for job in [&deleted, &lost] {
            required.add_job(job);
        }
        let store = Store::new(StalledEngine::in_memory());
        let mark = store.put_deleted_image(deleted.account, deleted.id, Timestamp::EPOCH);
        commit_and_wait(&**store.engine(), mark).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let objects = ObjectStorage::open_directory(directory.path()).unwrap();
        let faults = required.faults(&store, Some(&objects), false).await;
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("results/2.png"), "{faults:?}");
    }
}
