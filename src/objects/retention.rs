//! Deletes expired results; their URLs then answer 410.

use super::{ObjectError, ObjectStorage};
use chrono::{DateTime, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Objects that one call visits at most. A bucket lists the oldest keys first, so a call stops soon
/// after the expired ones; a directory lists in the file system's order and is visited whole.
const MAX_VISITED: usize = 5_000_000;

impl ObjectStorage {
    /// Deletes at most `limit` objects below `prefix` that were last written before `older_than`, and returns their
    /// number. Fewer than `limit` means that none is left for now.
    ///
    /// # Errors
    /// `MissingBucket`; `Store`. Objects deleted before the error stay deleted; a later call continues.
    pub async fn expire(
        &self,
        prefix: &str,
        older_than: DateTime<Utc>,
        limit: usize,
    ) -> Result<usize, ObjectError> {
        let expired = self
            .list_expired(prefix, older_than, limit, async |_| false)
            .await?;
        self.remove(prefix, expired).await
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
    ) -> Result<Vec<Path>, ObjectError> {
        let sorted = !self.is_local();
        let mut expired = Vec::new();
        let mut results = self.list(prefix).take(MAX_VISITED);
        while expired.len() < limit {
            let Some(object) = results.try_next().await? else {
                break;
            };
            if object.last_modified < older_than {
                if !keeps(&object.location).await {
                    expired.push(object.location);
                }
            } else if sorted && begins_after(object.location.filename(), older_than) {
                break;
            }
        }
        Ok(expired)
    }

    /// Deletes these objects below `prefix`, and returns how many existed.
    ///
    /// # Errors
    /// `Store`. Objects deleted before the error stay deleted.
    pub async fn remove(&self, prefix: &str, expired: Vec<Path>) -> Result<usize, ObjectError> {
        let expired = expired.into_iter().map(Ok);
        let mut removed = 0;
        let mut removals = self.store().delete_stream(stream::iter(expired).boxed());
        while let Some(removal) = removals.next().await {
            match removal {
                Ok(_) => removed += 1,
                // Another process has deleted it meanwhile.
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.write_fault("removing", prefix, error)),
            }
        }
        Ok(removed)
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
