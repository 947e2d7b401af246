//! Stores request texts that are too large for a record in the object store. The record holds their key.

use crate::objects::{ObjectError, ObjectStorage, REQUEST_TEXTS};
use bytes::Bytes;
use tintype_storage::domain::job::{PromptRef, PromptText};
use tintype_storage::json;
use uuid::Uuid;

/// Larger texts are stored outside the record. With a callback of 2,048 four-byte characters and 14 input images, a record stays
/// below the engine's limit of 16 KiB.
pub const MAX_INLINE_BYTES: usize = 5 * 1024;

/// Is the text too large for the record?
pub fn is_too_large(text: &PromptText) -> bool {
    are_too_large(&[], text)
}

/// Stores a text and returns its key.
pub async fn store(objects: &ObjectStorage, text: &PromptText) -> Result<String, ObjectError> {
    put(objects, json::to_bytes(text)).await
}

/// Are the URLs too large for a record that also holds the text?
pub fn are_too_large(urls: &[String], text: &PromptText) -> bool {
    let metadata = text.metadata.as_ref().map_or(0, String::len);
    let urls: usize = urls.iter().map(String::len).sum();
    text.prompt.len() + metadata + urls > MAX_INLINE_BYTES
}

/// Stores the URLs of input images and returns their key.
pub async fn store_urls(objects: &ObjectStorage, urls: &[String]) -> Result<String, ObjectError> {
    put(objects, json::to_bytes(urls)).await
}

/// Loads the URLs of input images.
pub async fn load_urls(
    objects: &ObjectStorage,
    key: &str,
) -> Result<Vec<String>, RequestTextError> {
    let bytes = objects.get(key).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

async fn put(objects: &ObjectStorage, text: Vec<u8>) -> Result<String, ObjectError> {
    let key = format!("{REQUEST_TEXTS}/{}.json", Uuid::new_v4());
    objects
        .put(&key, Bytes::from(text), "application/json")
        .await?;
    Ok(key)
}

/// The text of a record; `None` if its object no longer exists.
pub async fn resolve(
    objects: &ObjectStorage,
    text: &PromptRef,
) -> Result<Option<PromptText>, RequestTextError> {
    let key = match text {
        PromptRef::Inline(text) => return Ok(Some(text.clone())),
        PromptRef::Stored(key) => key,
    };
    match load(objects, key).await {
        Err(error) if error.is_gone() => {
            tracing::warn!(%key, "a text is missing from the object store");
            Ok(None)
        }
        loaded => loaded.map(Some),
    }
}

/// Loads a text.
pub async fn load(objects: &ObjectStorage, key: &str) -> Result<PromptText, RequestTextError> {
    let bytes = objects.get(key).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

impl RequestTextError {
    /// Does the object no longer exist? An erasure may have removed it since the record was read, or an operator or a bucket rule.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Objects(ObjectError::NotFound { .. }))
    }
}

/// Why a text could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum RequestTextError {
    #[error(transparent)]
    Objects(#[from] ObjectError),
    #[error("the stored request text is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
}
