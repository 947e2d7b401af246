//! Uploaded files: stored in the object store, with a record each, until they are deleted or expire.

use super::commit::{Change, detached};
use super::error::{Error, ErrorKind};
use super::state::AppState;
use crate::images::{FAULT_TARGET, ImagesError, upload_key};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::file_batch::UploadedFile;
use tintype_storage::domain::ids::{AccountId, FileId};
use tintype_storage::engine::Direction;

/// The same limit as for a batch in a request body.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// `Content-Type` in the object store.
const MEDIA_TYPE: &str = "application/octet-stream";

/// A completely received file.
pub struct NewFile {
    /// The caller's name for it.
    pub name: String,
    pub content: Bytes,
    /// Requested lifetime; `None`: as configured.
    pub lifetime: Option<Duration>,
}

/// Stores a file and its record: both or neither, even if the caller disconnects.
///
/// # Errors
/// `Conflict` if the account has too many files or bytes; `StorageUnavailable`
pub async fn add(
    state: &Arc<AppState>,
    account: AccountId,
    new: NewFile,
) -> Result<UploadedFile, Error> {
    let state = Arc::clone(state);
    detached(async move {
        let now = state.now();
        let retention = state.config.batches.file_retention();
        let lifetime = new.lifetime.into_iter().chain(retention).min();
        let file = UploadedFile {
            id: FileId(state.system.accounts().context().ids.next(now)),
            account,
            name: new.name,
            bytes: new.content.len() as u64,
            created_at: now,
            expires_at: lifetime.map(|lifetime| now.plus(lifetime)),
        };
        check_room(&state, &file).await?;
        let key = upload_key(&file);
        let stored = state.images.put(&key, new.content, MEDIA_TYPE).await;
        stored.map_err(|error| unavailable(&error))?;
        let guard = state.operator.lock().await?;
        // Check again under the lock.
        if let Err(error) = check_room(&state, &file).await {
            drop(guard);
            remove_content(&state, &file).await;
            return Err(error);
        }
        let writes = vec![state.store.put_uploaded_file(&file)];
        state.commit(Change::under_lock(guard, writes)).await?;
        Ok(file)
    })
    .await
}

/// Refuses a file that exceeds the account's limits.
async fn check_room(state: &AppState, file: &UploadedFile) -> Result<(), Error> {
    let limits = &state.config.batches;
    let max_files = limits.max_files_per_account;
    let page = state
        .store
        .uploaded_files(file.account, Direction::Falling, max_files + 1, None)
        .await?;
    let now = state.now();
    let unexpired = page.items.iter().filter(|it| !it.is_expired(now));
    let (mut count, mut bytes) = (0, file.bytes);
    for other in unexpired {
        count += 1;
        bytes += other.bytes;
    }
    if count >= max_files {
        return Err(Error::conflict(format!(
            "the account has {count} files, the most it may have; delete those that are no longer needed"
        )));
    }
    let max_bytes = limits.max_file_bytes_per_account;
    if bytes > max_bytes {
        return Err(Error::conflict(format!(
            "with this file the files of the account would have {bytes} bytes, and may have {max_bytes}; delete those that are no longer needed"
        )));
    }
    Ok(())
}

/// Finds an unexpired file of an account.
///
/// # Errors
/// The store fails.
pub async fn find(
    state: &AppState,
    account: AccountId,
    id: FileId,
) -> Result<Option<UploadedFile>, Error> {
    let found = state.store.uploaded_file(account, id).await?;
    Ok(found.filter(|file| !file.is_expired(state.now())))
}

/// Streams the content of a file.
///
/// # Errors
/// `StorageUnavailable`
pub async fn content(
    state: &AppState,
    file: &UploadedFile,
) -> Result<BoxStream<'static, Result<Bytes, ImagesError>>, Error> {
    let opened = state.images.chunks(&upload_key(file)).await;
    opened.map_err(|error| unavailable(&error))
}

/// Reads the whole content of a file. The caller must have reserved the memory.
///
/// # Errors
/// `StorageUnavailable`
pub async fn read(state: &AppState, file: &UploadedFile) -> Result<Bytes, Error> {
    let content = state.images.get(&upload_key(file)).await;
    content.map_err(|error| unavailable(&error))
}

/// # Errors
/// The store fails.
pub async fn delete(state: &Arc<AppState>, file: UploadedFile) -> Result<(), Error> {
    let state = Arc::clone(state);
    detached(async move {
        let writes = vec![state.store.remove_uploaded_file(&file)];
        state.commit(writes).await?;
        remove_content(&state, &file).await;
        Ok(())
    })
    .await
}

/// If this fails, the sweep of orphaned objects removes the content later.
async fn remove_content(state: &AppState, file: &UploadedFile) {
    let key = upload_key(file);
    if let Err(error) = state.images.delete(&key).await {
        tracing::warn!(key, %error, "could not delete an uploaded file");
    }
}

fn unavailable(error: &ImagesError) -> Error {
    tracing::error!(target: FAULT_TARGET, %error, "could not store or read an uploaded file");
    let detail = "the file could not be stored or read; try again";
    Error::new(ErrorKind::StorageUnavailable, detail)
}
