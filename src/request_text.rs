//! Texts of a request that are too large for a record: kept in the object store, under a name that the record holds.

use crate::images::{Images, ImagesError};
use bytes::Bytes;
use tintype_storage::domain::job::PromptText;
use uuid::Uuid;

/// Bytes of words up to which they stay in the record. With a callback of 2,048 four-byte characters and 14 input images
/// the record still stays below the engine's bound of 16 KiB.
const INLINE: usize = 5 * 1024;

/// Where the texts lie in the object store.
pub const PREFIX: &str = "words";

/// Must these words be stored apart?
pub fn is_too_large(words: &PromptText) -> bool {
    let metadata = words.metadata.as_ref().map_or(0, String::len);
    words.prompt.len() + metadata > INLINE
}

/// Stores words and returns their key.
pub async fn store(images: &Images, words: &PromptText) -> Result<String, ImagesError> {
    // Two strings always encode.
    put(images, serde_json::to_vec(words).unwrap_or_default()).await
}

/// Must these URLs be stored apart, beside a text in the record?
pub fn are_too_large(urls: &[String], words: &PromptText) -> bool {
    let metadata = words.metadata.as_ref().map_or(0, String::len);
    let urls: usize = urls.iter().map(String::len).sum();
    words.prompt.len() + metadata + urls > INLINE
}

/// Stores the URLs of input images and returns their key.
pub async fn store_urls(images: &Images, urls: &[String]) -> Result<String, ImagesError> {
    // Strings always encode.
    put(images, serde_json::to_vec(urls).unwrap_or_default()).await
}

/// Reads the URLs of input images back.
pub async fn load_urls(images: &Images, key: &str) -> Result<Vec<String>, WordsError> {
    let bytes = images.get(key).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

async fn put(images: &Images, text: Vec<u8>) -> Result<String, ImagesError> {
    let key = format!("{PREFIX}/{}.json", Uuid::new_v4());
    images
        .put(&key, Bytes::from(text), "application/json")
        .await?;
    Ok(key)
}

/// Reads words back.
pub async fn load(images: &Images, key: &str) -> Result<PromptText, WordsError> {
    let bytes = images.get(key).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

impl WordsError {
    /// Is there no such object any more? Nothing of ours removes one that a job has: somebody did, or a rule of the bucket.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Images(ImagesError::NotFound { .. }))
    }
}

/// Why words could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum WordsError {
    /// The object store failed.
    #[error(transparent)]
    Images(#[from] ImagesError),
    /// They are not what was stored.
    #[error("stored words are damaged: {0}")]
    Damaged(#[from] serde_json::Error),
}
