//! Removes results whose time has passed; their addresses then answer 410.

use chrono::{DateTime, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use uuid::Uuid;

use super::{Images, ImagesError, key};

/// The most entries that one call looks at. A bucket is read from its oldest key on and hardly
/// past what has expired; a directory comes in the file system's order and has to be seen whole.
const MAX_SEEN: usize = 5_000_000;

impl Images {
    /// Removes results as [`Images::expire`] does.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn expire_results(
        &self,
        older_than: DateTime<Utc>,
        limit: usize,
    ) -> Result<usize, ImagesError> {
        self.expire(key::RESULTS, older_than, limit).await
    }

    /// Removes what lies below `place` and was last written before `older_than`, at most `limit` of them, and
    /// says how many. Fewer than `limit` means that none is left for now.
    ///
    /// # Errors
    ///
    /// `MissingBucket`; `Store`. What was removed before the fault stays removed; a later call
    /// goes on from there.
    pub async fn expire(
        &self,
        place: &str,
        older_than: DateTime<Utc>,
        limit: usize,
    ) -> Result<usize, ImagesError> {
        let expired = self
            .expired(place, older_than, limit, async |_| false)
            .await?;
        self.remove(place, expired).await
    }

    /// What lies below `place` and was last written before `older_than`, but for what `keeps` names: at most `limit` of
    /// them. Fewer than `limit` means that there is no other for now.
    ///
    /// # Errors
    ///
    /// `MissingBucket`; `Store`.
    pub async fn expired(
        &self,
        place: &str,
        older_than: DateTime<Utc>,
        limit: usize,
        keeps: impl AsyncFn(&Path) -> bool,
    ) -> Result<Vec<Path>, ImagesError> {
        let sorted = !self.is_local();
        let mut expired = Vec::new();
        let mut results = self.list(place).take(MAX_SEEN);
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

    /// Removes these objects below `place`, and says how many were there.
    ///
    /// # Errors
    ///
    /// `Store`. What was removed before the fault stays removed.
    pub async fn remove(&self, place: &str, expired: Vec<Path>) -> Result<usize, ImagesError> {
        let expired = expired.into_iter().map(Ok);
        let mut removed = 0;
        let mut removals = self.store().delete_stream(stream::iter(expired).boxed());
        while let Some(removal) = removals.next().await {
            match removal {
                Ok(_) => removed += 1,
                // Somebody else has removed it meanwhile.
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(self.write_fault("removing", place, error)),
            }
        }
        Ok(removed)
    }
}

/// Whether a result's job was created at or after `time`, by the clock in its id (RFC 9562,
/// section 5.7). Keys sort by that clock, so every later one in a sorted listing is younger too.
fn begins_after(name: Option<&str>, time: DateTime<Utc>) -> bool {
    let created = name
        .and_then(|name| name.split('.').next())
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
    fn a_job_id_tells_when_its_job_began() {
        // 0x0198c0de0000 ms = 2025-08-19T06:28:55.936Z
        let name = Some("0198c0de-0000-7000-8000-000000000000.png");
        let created = DateTime::from_timestamp_millis(0x0198_c0de_0000).unwrap();
        assert!(begins_after(name, created));
        assert!(!begins_after(
            name,
            created + chrono::TimeDelta::milliseconds(1)
        ));
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
