//! Deletes expired results; their URLs then answer 410.

use super::{ObjectError, ObjectStorage};
use chrono::{DateTime, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::ObjectMeta;
use object_store::path::Path;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Objects of a bucket that one call visits at most. A bucket lists the oldest keys first, so a call stops soon
/// after the expired ones. A directory lists in the file system's order and is visited whole.
const MAX_VISITED: usize = 5_000_000;

/// What became of objects to delete.
#[derive(Debug, Default)]
pub struct Removal {
    /// The number of objects that existed.
    removed: usize,
    /// The first fault. The other objects are deleted.
    fault: Option<ObjectError>,
}

impl Removal {
    pub fn add(&mut self, other: Self) {
        self.removed += other.removed;
        self.fault = self.fault.take().or(other.fault);
    }

    /// Reports the fault.
    ///
    /// # Errors
    /// No object was deleted, so that another call would find the same objects.
    pub fn into_result(self) -> Result<(), ObjectError> {
        match self.fault {
            None => Ok(()),
            Some(fault) if self.removed == 0 => Err(fault),
            Some(fault) => {
                tracing::warn!(%fault, "could not remove some expired objects");
                Ok(())
            }
        }
    }
}

impl ObjectStorage {
    /// Deletes at most `limit` objects below `prefix` that were last written before `older_than`, and returns how many it found.
    /// Fewer than `limit` means that there are no others for now.
    ///
    /// # Errors
    /// `MissingBucket`; `Store` if it can delete none of them.
    pub async fn expire(
        &self,
        prefix: &str,
        older_than: DateTime<Utc>,
        limit: usize,
    ) -> Result<usize, ObjectError> {
        let expired = self
            .list_expired(prefix, older_than, limit, async |_| false)
            .await?;
        let found = expired.len();
        let expired = expired.into_iter().map(|it| it.location).collect();
        self.remove(prefix, expired).await.into_result()?;
        Ok(found)
    }

    /// Finds at most `limit` objects below `prefix` that were last written before `older_than` and for which `keeps` is
    /// false. Fewer than `limit` means that there are no others for now.
    ///
    /// # Errors
    /// `MissingBucket`; `Store`.
    pub async fn list_expired(
        &self,
        prefix: &str,
        older_than: DateTime<Utc>,
        limit: usize,
        keeps: impl AsyncFn(&Path) -> bool,
    ) -> Result<Vec<ObjectMeta>, ObjectError> {
        self.list_expired_among(MAX_VISITED, prefix, older_than, limit, keeps)
            .await
    }

    /// As [`Self::list_expired`], among the first `visited` objects of a bucket.
    async fn list_expired_among(
        &self,
        visited: usize,
        prefix: &str,
        older_than: DateTime<Utc>,
        limit: usize,
        keeps: impl AsyncFn(&Path) -> bool,
    ) -> Result<Vec<ObjectMeta>, ObjectError> {
        let sorted = !self.is_local();
        let visited = if sorted { visited } else { usize::MAX };
        let mut expired = Vec::new();
        let mut results = self.list(prefix).take(visited);
        while expired.len() < limit {
            let Some(object) = results.try_next().await? else {
                break;
            };
            if object.last_modified < older_than {
                if !keeps(&object.location).await {
                    expired.push(object);
                }
            } else if sorted && begins_after(object.location.filename(), older_than) {
                break;
            }
        }
        Ok(expired)
    }

    /// Deletes these objects below `prefix`. An object that cannot be deleted does not keep the others.
    pub async fn remove(&self, prefix: &str, expired: Vec<Path>) -> Removal {
        let expired = expired.into_iter().map(Ok);
        let mut all = Removal::default();
        let mut removals = self.store().delete_stream(stream::iter(expired).boxed());
        while let Some(removal) = removals.next().await {
            match removal {
                Ok(_) => all.removed += 1,
                // Another process has deleted it meanwhile.
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => {
                    let fault = self.write_fault("removing", prefix, error);
                    all.fault.get_or_insert(fault);
                }
            }
        }
        all
    }
}

/// Was the job of this result or thumbnail created at or after `time`? The time is in the id (RFC 9562, section 5.7).
/// Keys begin with the id and sort by that time, so in a sorted listing every later key is newer too.
fn begins_after(name: Option<&str>, time: DateTime<Utc>) -> bool {
    let created = name
        .and_then(|name| name.get(..Hyphenated::LENGTH))
        .and_then(|id| Uuid::try_parse(id).ok())
        .filter(|id| id.get_version_num() == 7)
        .and_then(|id| id.get_timestamp())
        .and_then(|stamp| {
            let (seconds, nanos) = stamp.to_unix();
            DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)
        });
    created.is_some_and(|created| created >= time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    async fn with_results(count: usize) -> (tempfile::TempDir, ObjectStorage) {
        let root = tempfile::tempdir().unwrap();
        let objects = ObjectStorage::open_directory(root.path()).unwrap();
        for number in 0..count {
            let key = format!("results/{number}.png");
            let written = objects.put(&key, Bytes::from("x"), "image/png");
            written.await.unwrap();
        }
        (root, objects)
    }

    #[tokio::test]
    async fn a_directory_is_visited_whole() {
        let (_root, objects) = with_results(9).await;
        let tomorrow = Utc::now() + chrono::TimeDelta::days(1);
        for number in 0..9 {
            let name = format!("{number}.png");
            let keeps = async |it: &Path| it.filename() != Some(name.as_str());
            let found = objects.list_expired_among(2, "results", tomorrow, 1, keeps);
            assert_eq!(found.await.unwrap().len(), 1, "{name}");
        }
    }

    #[tokio::test]
    async fn an_object_that_cannot_be_deleted_does_not_keep_the_others() {
        let (root, objects) = with_results(3).await;
        let stuck = Path::from("results/stuck");
        std::fs::create_dir(root.path().join("results/stuck")).unwrap();
        let all = ["0", "gone", "2"].map(|it| Path::from(format!("results/{it}.png")));
        let [first, gone, last] = all;
        let expired = vec![first, stuck.clone(), gone, last];
        let mut removal = objects.remove("results", expired).await;
        assert_eq!(removal.removed, 2);
        assert!(removal.fault.is_some());
        let left: Vec<_> = objects.list("results").try_collect().await.unwrap();
        assert_eq!(left.len(), 1);
        let none = objects.remove("results", vec![stuck]).await;
        removal.add(none);
        removal.into_result().expect("progress");
        let none = objects.remove("results", vec![Path::from("results/stuck")]);
        none.await.into_result().unwrap_err();
    }

    #[test]
    fn a_job_id_contains_the_creation_time() {
        // 0x0198c0de0000 ms = 2025-08-19T06:28:55.936Z
        let created = DateTime::from_timestamp_millis(0x0198_c0de_0000).unwrap();
        for extension in [".png", ".2.png", "-640.webp", ".2-640.webp"] {
            let name = format!("0198c0de-0000-7000-8000-000000000000{extension}");
            assert!(begins_after(Some(&name), created), "{name}");
            let later = created + chrono::TimeDelta::milliseconds(1);
            assert!(!begins_after(Some(&name), later), "{name}");
        }
        for other in [
            None,
            Some(""),
            Some("readme.txt"),
            Some("c56a4180-65aa-42ec-a945-5fd21dec0538.png"),
        ] {
            assert!(!begins_after(other, DateTime::UNIX_EPOCH), "{other:?}");
        }
    }
}
