//! Uploaded files, and batches that are submitted as a file.

use super::ids::{AccountId, BatchId, FileId, KeyId};
use super::job::ERASED;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The object store holds the file's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadedFile {
    /// Sorts by upload time.
    pub id: FileId,
    pub account: AccountId,
    pub name: String,
    pub bytes: u64,
    pub created_at: Timestamp,
    /// The file is not found from this time on; `None` keeps it until it is deleted.
    pub expires_at: Option<Timestamp>,
}

impl UploadedFile {
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// The parameters of a batch submitted as a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBatchTerms {
    /// The file of requests. It may be deleted meanwhile.
    pub input: FileId,
    /// The caller's object, as JSON.
    pub metadata: Option<String>,
    /// `None`: the results expire with the images.
    pub results_lifetime_seconds: Option<u32>,
    /// The results contain URLs instead of image data.
    pub as_urls: bool,
    /// Exports of builds before the first release omit it for generations.
    #[serde(default)]
    pub endpoint: BatchEndpoint,
}

/// The endpoint of all requests of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchEndpoint {
    #[default]
    Generations,
    Edits,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileBatch {
    /// Equals the id of the accepted batch.
    pub id: BatchId,
    pub account: AccountId,
    pub key: KeyId,
    pub terms: FileBatchTerms,
    pub created_at: Timestamp,
    pub outcome: Validation,
}

/// The result of validating the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Validation {
    /// The batch was accepted under the same id.
    Accepted { deleted: DeletedResults },
    /// Nothing was accepted.
    Failed(Vec<LineFault>),
}

/// Result files that the caller has deleted. The images stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedResults {
    /// The file of the successful requests.
    pub output: bool,
    /// The file of the failed requests.
    pub errors: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineFault {
    /// Machine-readable.
    pub code: String,
    pub message: String,
    pub param: Option<String>,
    /// From 1; `None` if the fault concerns the whole file.
    pub line: Option<u32>,
}

impl FileBatch {
    /// The batch without the texts of its caller, which error messages may quote.
    pub fn erased(&self) -> Self {
        let mut batch = self.clone();
        batch.terms.metadata = None;
        if let Validation::Failed(faults) = &mut batch.outcome {
            for fault in faults {
                fault.message = ERASED.into();
            }
        }
        batch
    }

    /// When the results of a batch that ended at `ended` expire. `retention` is that of images; `None` keeps them forever.
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
                    endpoint: BatchEndpoint::default(),
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
