//! Files that callers upload: kept in the object store, each with a record, until they are deleted or expire.

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

/// Bytes of a file: those of a batch that is submitted as a body.
pub const MAX_FILE_BYTES: usize = 16 << 20;
/// What the object store is told that a file is.
const MEDIA_TYPE: &str = "application/octet-stream";

/// A file that has arrived whole.
pub struct NewFile {
    /// The caller's name for it.
    pub name: String,
    pub content: Bytes,
    /// When the caller wants it to expire; `None`: as configured.
    pub lifetime: Option<Duration>,
}

/// Stores a file and its record. Both or neither are left when the caller leaves meanwhile.
///
/// # Errors
/// `Conflict` when the account has too many files; `StorageUnavailable`
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
        let turn = state.operator.take().await?;
        // Others may have been added meanwhile.
        if let Err(error) = check_room(&state, &file).await {
            drop(turn);
            remove_content(&state, &file).await;
            return Err(error);
        }
        let writes = vec![state.store.put_uploaded_file(&file)];
        state.commit(Change::in_turn(turn, writes)).await?;
        Ok(file)
    })
    .await
}

/// Refuses a file for which its account has no room.
async fn check_room(state: &AppState, file: &UploadedFile) -> Result<(), Error> {
    let limits = &state.config.batches;
    let most = limits.max_files_per_account;
    let page = state
        .store
        .uploaded_files(file.account, Direction::Falling, most + 1, None)
        .await?;
    let now = state.now();
    let there = page.items.iter().filter(|it| !it.is_expired(now));
    let (mut count, mut bytes) = (0, file.bytes);
    for other in there {
        count += 1;
        bytes += other.bytes;
    }
    if count >= most {
        return Err(Error::conflict(format!(
            "the account has {count} files, the most it may have; delete those that are no longer needed"
        )));
    }
    let most_bytes = limits.max_file_bytes_per_account;
    if bytes > most_bytes {
        return Err(Error::conflict(format!(
            "with this file the files of the account would have {bytes} bytes, and may have {most_bytes}; delete those that are no longer needed"
        )));
    }
    Ok(())
}

/// A file of an account that has not expired.
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

/// The content of a file, in pieces.
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

/// The whole content of a file. The caller has reserved the memory.
///
/// # Errors
/// `StorageUnavailable`
pub async fn read(state: &AppState, file: &UploadedFile) -> Result<Bytes, Error> {
    let content = state.images.get(&upload_key(file)).await;
    content.map_err(|error| unavailable(&error))
}

/// Deletes a file.
///
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

/// What cannot be removed now is removed by the sweep of orphaned objects.
async fn remove_content(state: &AppState, file: &UploadedFile) {
    let key = upload_key(file);
    if let Err(error) = state.images.delete(&key).await {
        tracing::warn!(key, %error, "an uploaded file could not be removed");
    }
}

fn unavailable(error: &ImagesError) -> Error {
    tracing::error!(target: FAULT_TARGET, %error, "an uploaded file could not be stored or read");
    let detail = "the file could not be stored or read; try again";
    Error::new(ErrorKind::StorageUnavailable, detail)
}
