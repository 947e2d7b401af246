//! Download URLs of this service as input images. The object store has their files, so no connection is needed, and no address is checked.

use crate::inputs::fault::Failure;
use crate::objects::{ObjectError, ObjectStorage, UrlFault, job_of_result};
use object_store::{Error as ObjectStoreError, GetResult};
use tintype_actors::clock::Clock;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::store::Store;
use url::Url;

const DELETED: &str = "could not be read: 410 Gone, the image was deleted";

/// The files behind the download URLs, for one call.
pub struct OwnFiles<'a> {
    pub objects: &'a ObjectStorage,
    pub records: &'a Store,
    /// The account of the call.
    pub account: AccountId,
    pub clock: &'a Clock,
}

impl OwnFiles<'_> {
    /// The key of the file to which a download URL leads; `None` for another URL.
    ///
    /// # Errors
    /// Why the URL is not valid, as the fault of an entry.
    pub fn key(&self, url: &Url) -> Option<Result<String, String>> {
        let grant = self
            .objects
            .read_own_url(url, (self.clock)().to_datetime())?;
        let describe = |fault: UrlFault| format!("is not a valid download URL: {fault}");
        Some(grant.map(|it| it.key).map_err(describe))
    }

    pub async fn open(&self, key: &str) -> Result<GetResult, Failure> {
        let deleted = || Failure::Entry(DELETED.to_owned());
        // The record comes before the deletion of the object, which may fail and be repeated later.
        if let Some(job) = job_of_result(key) {
            let is_deleted = self.records.is_image_deleted(self.account, job).await;
            if is_deleted.map_err(|error| unreadable(error.into()))? {
                return Err(deleted());
            }
        }
        self.objects.reader(key).await.map_err(|error| match error {
            ObjectError::NotFound { .. } => deleted(),
            error => unreadable(error.into()),
        })
    }
}

fn unreadable(source: Box<dyn std::error::Error + Send + Sync>) -> Failure {
    let store = "own files";
    ObjectStoreError::Generic { store, source }.into()
}
