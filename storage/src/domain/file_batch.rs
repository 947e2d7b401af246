//! Files that callers upload, and the batches that they submit as such a file.

use super::ids::{AccountId, BatchId, FileId, KeyId};
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A file that a caller has uploaded. Its content is in the object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadedFile {
    /// Its id; sorts by upload.
    pub id: FileId,
    pub account: AccountId,
    /// The caller's name for it.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    pub created_at: Timestamp,
    /// It is not found from this moment on; `None` where it stays until it is deleted.
    pub expires_at: Option<Timestamp>,
}

impl UploadedFile {
    /// Has its time ended?
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// How a batch was submitted as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBatchTerms {
    /// The file with its requests, which may be deleted by now.
    pub input: FileId,
    /// The caller's object, as JSON.
    pub metadata: Option<String>,
    /// Seconds after which its results expire; `None`: when its images do.
    pub results_lifetime_seconds: Option<u32>,
    /// The results name URLs of the images instead of holding them.
    pub as_urls: bool,
}

/// A batch that was submitted as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBatch {
    /// Of the batch itself, where it was accepted.
    pub id: BatchId,
    pub account: AccountId,
    pub key: KeyId,
    pub terms: FileBatchTerms,
    pub created_at: Timestamp,
    pub outcome: Validation,
}

/// What validating the file has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Validation {
    /// The batch was accepted under the same id.
    Accepted {
        /// The caller has deleted these files.
        deleted: DeletedResults,
    },
    /// Nothing was accepted, because of these faults of the file.
    Failed(Vec<LineFault>),
}

/// Which files of results the caller has deleted. The images stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedResults {
    /// That of the requests that succeeded.
    pub output: bool,
    /// That of the requests that failed.
    pub errors: bool,
}

/// What is wrong with a file of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineFault {
    /// A word for programs.
    pub code: String,
    pub message: String,
    /// The parameter at fault.
    pub param: Option<String>,
    /// The number of the line, from 1; `None` where the whole file is at fault.
    pub line: Option<u32>,
}

impl FileBatch {
    /// When the results of a batch that ended at `ended` expire. `retention` is that of images; `None` keeps them for ever.
    pub fn results_expire_at(
        &self,
        ended: Timestamp,
        retention: Option<Duration>,
    ) -> Option<Timestamp> {
        let asked = self.terms.results_lifetime_seconds;
        let asked = asked.map(|seconds| Duration::from_secs(u64::from(seconds)));
        let shortest = asked.into_iter().chain(retention).min();
        shortest.map(|lifetime| ended.plus(lifetime))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn results_expire_with_their_images_or_before() {
        let (ended, day) = (Timestamp::from_millis(5), Duration::from_secs(86_400));
        let expiry = |seconds: Option<u32>, retention: Option<Duration>| {
            let batch = FileBatch {
                id: BatchId(Uuid::nil()),
                account: AccountId(Uuid::nil()),
                key: KeyId(Uuid::nil()),
                terms: FileBatchTerms {
                    input: FileId(Uuid::nil()),
                    metadata: None,
                    results_lifetime_seconds: seconds,
                    as_urls: false,
                },
                created_at: ended,
                outcome: Validation::Accepted {
                    deleted: DeletedResults::default(),
                },
            };
            let at = batch.results_expire_at(ended, retention);
            at.map(Timestamp::millis)
        };
        assert_eq!(expiry(None, None), None);
        assert_eq!(expiry(None, Some(day)), Some(86_400_005));
        assert_eq!(expiry(Some(3_600), Some(day)), Some(3_600_005));
        assert_eq!(expiry(Some(90_000), Some(day)), Some(86_400_005));
        assert_eq!(expiry(Some(3_600), None), Some(3_600_005));
    }
}
