//! Streams an image from the body of a request to the object store.

use super::image_upload::{ImageUpload, StoredImage};
use crate::inputs::limits::InputLimits;
use crate::inputs::memory_budget::AccountMemory;
use crate::inputs::{InputImage, SharedStore, UploadFault};
use bytes::Bytes;
use object_store::path::Path;
use sha2::{Digest, Sha256};
use tintype_imaging::ImageKind;
use tokio::sync::mpsc;

/// In bytes. A smaller image takes nothing from the memory budget: every connection may buffer this much.
const SMALL: u64 = 1 << 20;

/// A running upload. Dropping it deletes its data from the store.
pub struct BodyUpload {
    image: ImageUpload,
    digest: Sha256,
    max_pixels: u64,
    memory: AccountMemory,
}

/// An image that is complete in the store. Dropping it deletes the image; [`StoredUpload::keep`] keeps it.
pub struct StoredUpload {
    stored: StoredImage,
    sha256: [u8; 32],
}

impl BodyUpload {
    /// Begins an upload. The key is `stem` plus an extension; `stem` must belong to this upload alone. The limits of one image apply.
    /// Needs a Tokio runtime.
    pub(in crate::inputs) fn begin(store: SharedStore, stem: Path, limits: &InputLimits) -> Self {
        // No caller waits for the cleanup of a single image, so the receiver is dropped.
        let (alive, _) = mpsc::channel(1);
        Self {
            image: ImageUpload::begin(store, stem, alive),
            digest: Sha256::new(),
            max_pixels: limits.max_pixels,
            memory: limits.memory.clone(),
        }
    }

    /// Writes the next chunk, of any size. Waits while the store writes earlier chunks.
    ///
    /// # Errors
    /// When the bytes are not an image or a damaged one, no memory becomes free in time, or the store fails.
    pub async fn push(mut self, bytes: Bytes) -> Result<Self, UploadFault> {
        self.digest.update(&bytes);
        let before = self.image.bytes;
        // Once: with the chunk that makes the image large.
        if before <= SMALL && before + bytes.len() as u64 > SMALL {
            self.image.hold(self.memory.reserve_soon().await?);
        }
        self.image = self.image.push(bytes).await?;
        Ok(self)
    }

    /// Completes the upload.
    ///
    /// # Errors
    /// As [`BodyUpload::push`]; also when the image ends within its header.
    pub async fn finish(self) -> Result<StoredUpload, UploadFault> {
        Ok(StoredUpload {
            stored: self.image.finish(self.max_pixels).await?,
            sha256: self.digest.finalize().into(),
        })
    }
}

impl StoredUpload {
    pub fn image(&self) -> &InputImage {
        &self.stored.image
    }

    /// Detected from the bytes.
    pub fn kind(&self) -> ImageKind {
        self.stored.kind
    }

    /// Of a PNG; false for every other format.
    pub fn has_alpha(&self) -> bool {
        self.stored.has_alpha
    }

    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    pub fn keep(self) -> InputImage {
        self.stored.keep()
    }
}
