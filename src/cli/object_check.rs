//! Checks that the objects that records name exist in the object store, and that images are not damaged.

use crate::objects::{ObjectStorage, upload_key};
use futures_util::StreamExt as _;
use futures_util::stream;
use std::collections::{BTreeMap, HashSet};
use tintype_imaging::metadata::png;
use tintype_imaging::{DecodePermits, ImageKind, decoding, jpeg_segments};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, JobState, PromptRef};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{Store, StoreError};

/// Objects looked up concurrently.
const LOOKUPS: usize = 16;
/// Images read concurrently.
const READS: usize = 4;
const DONE_IMAGE: &str = "the image of a done job";

/// The objects that must exist, by key.
pub struct NamedObjects {
    objects: BTreeMap<String, NamedObject>,
    /// Retention may have deleted the images of jobs that finished before this time.
    kept_since: Timestamp,
    /// Retention does not delete the images of these jobs.
    favourites: HashSet<JobId>,
    pub images: usize,
}

struct NamedObject {
    what: &'static str,
    /// As recorded. `None` if no record contains the length.
    bytes: Option<u64>,
}

impl NamedObjects {
    /// # Errors
    /// The store cannot be read.
    pub async fn new(store: &Store, kept_since: Timestamp) -> Result<Self, StoreError> {
        let mut favourites = HashSet::new();
        store
            .each_favourite(|job| {
                favourites.insert(job);
                Ok(())
            })
            .await?;
        Ok(Self {
            objects: BTreeMap::new(),
            kept_since,
            favourites,
            images: 0,
        })
    }

    /// Adds the objects of a job. Only a live job needs its inputs.
    pub fn add_job(&mut self, job: &Job) {
        if let PromptRef::Stored(key) = &job.prompt {
            self.add(key, "the text of a job", None);
        }
        if let Some(InputUrls::Stored(key)) = job.member().map(|it| &it.input_urls) {
            self.add(key, "the input URLs of a job", None);
        }
        match &job.state {
            JobState::Queued | JobState::Processing { .. } => {
                for input in &job.inputs {
                    self.add(
                        &input.key,
                        "an input of an unfinished job",
                        Some(input.bytes),
                    );
                }
            }
            JobState::Done {
                image, finished_at, ..
            } if self.must_exist(job.id, *finished_at) => {
                self.images += 1;
                self.add(&image.key, DONE_IMAGE, Some(image.bytes));
            }
            JobState::Done { .. } | JobState::Failed { .. } => {}
        }
    }

    /// Adds the texts of batches and the uploaded files.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn add_batches_and_uploads(&mut self, store: &Store) -> Result<(), StoreError> {
        store
            .each_batch(|batch| {
                if let PromptRef::Stored(key) = &batch.text {
                    self.add(key, "the text of a batch", None);
                }
                Ok(())
            })
            .await?;
        store
            .each_uploaded_file(|file| {
                self.add(&upload_key(&file), "the content of an uploaded file", None);
                Ok(())
            })
            .await
    }

    fn add(&mut self, key: &str, what: &'static str, bytes: Option<u64>) {
        self.objects
            .insert(key.to_owned(), NamedObject { what, bytes });
    }

    /// Retention may have deleted the image of an old job, unless the job is a favourite.
    fn must_exist(&self, job: JobId, finished_at: Timestamp) -> bool {
        finished_at >= self.kept_since || self.favourites.contains(&job)
    }

    /// One sentence for each object that is missing or has another length, in the order of the keys. `objects`: `None` if there is no
    /// object directory. `reads`: also read the images of done jobs, and find damaged ones.
    pub async fn faults(self, objects: Option<&ObjectStorage>, reads: bool) -> Vec<String> {
        let concurrency = if reads { READS } else { LOOKUPS };
        stream::iter(self.objects)
            .map(|(key, object)| async move {
                let Some(objects) = objects else {
                    let what = object.what;
                    return Some(format!(
                        "{what}: {key} is missing: there is no object directory"
                    ));
                };
                let found = fault(objects, &key, &object).await;
                match found.is_none() && reads && object.what == DONE_IMAGE {
                    true => damage(objects, &key).await,
                    false => found,
                }
            })
            .buffered(concurrency)
            .filter_map(async |it| it)
            .collect()
            .await
    }
}

async fn fault(objects: &ObjectStorage, key: &str, object: &NamedObject) -> Option<String> {
    let what = object.what;
    match (objects.head(key).await, object.bytes) {
        (Ok(found), Some(bytes)) if found.size != bytes => Some(format!(
            "{what}: {key} has {} bytes, but its job recorded {bytes}",
            found.size
        )),
        (Ok(_), _) => None,
        (Err(error), _) => Some(format!("{what}: {error}")),
    }
}

async fn damage(objects: &ObjectStorage, key: &str) -> Option<String> {
    let bytes = match objects.get(key).await {
        Ok(bytes) => bytes,
        Err(error) => return Some(format!("{DONE_IMAGE}: {error}")),
    };
    let intact = tokio::task::spawn_blocking(move || is_intact(&bytes));
    // Decoders may panic on damaged bytes.
    let is_damaged = !intact.await.unwrap_or(false);
    is_damaged.then(|| format!("{DONE_IMAGE}: {key} is damaged"))
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
    use uuid::Uuid;

    #[test]
    fn an_old_image_must_exist_if_its_job_is_a_favourite() {
        let [favourite, other] = [1, 2].map(|id| JobId(Uuid::from_u128(id)));
        let named = NamedObjects {
            objects: BTreeMap::new(),
            kept_since: Timestamp::from_millis(100),
            favourites: HashSet::from([favourite]),
            images: 0,
        };
        let must = |job, millis| named.must_exist(job, Timestamp::from_millis(millis));
        assert!(must(other, 100));
        assert!(!must(other, 99));
        assert!(must(favourite, 99));
    }
}
