//! Uploaded files: stored in the object store, with a record each, until they are deleted or expire.

use crate::application::caller::payer::Payer;
use crate::application::core::Core;
use crate::application::core::change_lock::ChangeGuard;
use crate::application::core::commit::{Change, detached};
use crate::application::error::{Error, object_store_fault};
use crate::application::fingerprint::FingerprintBuilder;
use crate::application::services::JobService;
use crate::objects::{FAULT_TARGET, ObjectError, upload_key};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::counted::counted;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::ids::{AccountId, FileId};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::store::tables::UPLOADED_FILES;

/// The same limit as for a batch in a request body.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// `Content-Type` in the object store.
const MEDIA_TYPE: &str = "application/octet-stream";

/// A completely received file.
#[derive(Clone)]
pub struct NewFile {
    /// The caller's name for it.
    pub name: String,
    pub content: Bytes,
    /// Requested lifetime; `None`: as configured.
    pub lifetime: Option<Duration>,
}

impl NewFile {
    /// SHA-256 of the name, the lifetime and the content.
    pub fn fingerprint(&self) -> Fingerprint {
        let lifetime = self.lifetime.map_or(0, |lifetime| lifetime.as_secs());
        let mut parts = FingerprintBuilder::default();
        parts.add(&self.name);
        parts.add(lifetime.to_be_bytes());
        parts.add(&self.content);
        parts.finish()
    }
}

/// Stores a file and its record: both or neither, even if the caller disconnects.
///
/// # Errors
/// `Conflict` if the account has too many files or bytes; `Unauthorized` if the key is not valid any more; `StorageUnavailable`
pub async fn add(
    jobs: &Arc<JobService>,
    payer: &Payer,
    new: NewFile,
) -> Result<UploadedFile, Error> {
    let (jobs, payer) = (Arc::clone(jobs), payer.clone());
    detached(async move {
        let now = jobs.core.now();
        let retention = jobs.settings.config.file_retention();
        let lifetime = new.lifetime.into_iter().chain(retention).min();
        let file = UploadedFile {
            id: FileId(jobs.core.new_id(now)),
            account: payer.account(),
            name: new.name,
            bytes: new.content.len() as u64,
            created_at: now,
            expires_at: lifetime.map(|lifetime| now.plus(lifetime)),
        };
        check_file_limits(&jobs, &file).await?;
        let key = upload_key(&file);
        let stored = jobs.objects.put(&key, new.content, MEDIA_TYPE).await;
        stored.map_err(unavailable)?;
        // Check again under the lock.
        let within_limits = check_file_limits(&jobs, &file);
        let guards = match admit(&jobs.core, &payer, within_limits).await {
            Ok(guards) => guards,
            Err(error) => {
                remove_content(&jobs, &file).await;
                return Err(error);
            }
        };
        let writes = vec![UPLOADED_FILES.put(&(file.account, file.id), &file)];
        jobs.core
            .commit(Change::under_locks(guards, writes))
            .await?;
        Ok(file)
    })
    .await
}

/// Takes the locks for a record that counts towards a limit of its account. `within_limits` reads many records, so it holds up only
/// other calls of the account. The operator's lock, which changes of all keys need, is held just for the key and the commit, and an
/// account waits for it with one call at a time.
///
/// # Errors
/// The error of `within_limits`; `Unauthorized` if the key is not valid any more; `Overloaded` if other nodes hold a lock too long
pub(super) async fn admit(
    core: &Core,
    payer: &Payer,
    within_limits: impl Future<Output = Result<(), Error>>,
) -> Result<[ChangeGuard; 2], Error> {
    let account = core.locks.uploads.lock(payer.account()).await?;
    within_limits.await?;
    let operator = core.locks.operator.lock().await?;
    payer.check_key(core).await?;
    Ok([account, operator])
}

/// Refuses a file that exceeds the account's limits.
async fn check_file_limits(jobs: &JobService, file: &UploadedFile) -> Result<(), Error> {
    let (limits, store) = (&jobs.settings.config.batches, &jobs.core.store);
    let max_files = limits.max_files_per_account;
    let now = jobs.core.now();
    let (mut count, mut bytes, mut after) = (0, file.bytes, None);
    // Expired files stay until the next sweep, in front of older ones that have not expired.
    loop {
        let page = UPLOADED_FILES.page(store, &file.account, max_files + 1, after);
        let page = page.await?;
        for other in page.items.iter().filter(|it| !it.is_expired(now)) {
            count += 1;
            bytes += other.bytes;
        }
        after = page.next;
        if after.is_none() || count >= max_files {
            break;
        }
    }
    if count >= max_files {
        return Err(Error::conflict(format!(
            "the account already has {}, the maximum; delete those that are no longer needed",
            counted(count, "file")
        )));
    }
    let max_bytes = limits.max_file_bytes_per_account;
    if bytes > max_bytes {
        return Err(Error::conflict(format!(
            "this file would bring the account to {bytes} bytes; the limit is {max_bytes} bytes; delete those that are no longer needed"
        )));
    }
    Ok(())
}

/// Finds an unexpired file of an account.
pub async fn find(
    core: &Core,
    account: AccountId,
    id: FileId,
) -> Result<Option<UploadedFile>, Error> {
    let found = UPLOADED_FILES.get(&core.store, &(account, id)).await?;
    Ok(found.filter(|file| !file.is_expired(core.now())))
}

/// Streams the content of a file. `None` if it was deleted meanwhile.
pub async fn content(
    jobs: &JobService,
    file: &UploadedFile,
) -> Result<Option<BoxStream<'static, Result<Bytes, ObjectError>>>, Error> {
    let opened = jobs.objects.chunks(&upload_key(file)).await;
    unless_deleted(jobs, file, opened).await
}

/// Reads the whole content of a file. `None` if it was deleted meanwhile. The caller must have reserved the memory.
pub async fn read(jobs: &JobService, file: &UploadedFile) -> Result<Option<Bytes>, Error> {
    let content = jobs.objects.get(&upload_key(file)).await;
    unless_deleted(jobs, file, content).await
}

/// The outcome of a read. If it failed because the file was deleted after its record was read, that is no fault of the store.
async fn unless_deleted<T>(
    jobs: &JobService,
    file: &UploadedFile,
    outcome: Result<T, ObjectError>,
) -> Result<Option<T>, Error> {
    match outcome {
        Ok(content) => Ok(Some(content)),
        Err(error) => match find(&jobs.core, file.account, file.id).await? {
            Some(_) => Err(unavailable(error)),
            None => Ok(None),
        },
    }
}

pub async fn delete(jobs: &Arc<JobService>, file: UploadedFile) -> Result<(), Error> {
    let jobs = Arc::clone(jobs);
    detached(async move {
        let writes = vec![UPLOADED_FILES.delete(&(file.account, file.id))];
        jobs.core.commit(writes).await?;
        remove_content(&jobs, &file).await;
        Ok(())
    })
    .await
}

/// If this fails, the sweep of orphaned objects removes the content later.
async fn remove_content(jobs: &JobService, file: &UploadedFile) {
    let key = upload_key(file);
    if let Err(error) = jobs.objects.delete(&key).await {
        tracing::warn!(target: FAULT_TARGET, key, %error, "could not delete an uploaded file");
    }
}

fn unavailable(error: ObjectError) -> Error {
    let detail = "the file could not be stored or read; try again";
    object_store_fault(error, "could not store or read an uploaded file", detail)
}
