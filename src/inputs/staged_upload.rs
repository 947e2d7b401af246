//! Streams an image from the body of a request to the object store.

use super::{
    InputImage, InputLimits,
    memory_budget::{AccountMemory, MemoryUnavailable, Reservation},
    upload::{StoredObject, Upload},
};
use bytes::{Bytes, BytesMut};
use object_store::{ObjectStore, path::Path};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use tintype_imaging::{HeaderReader, ImageKind, SNIFFED_BYTES};
use tokio::sync::mpsc;

/// In bytes. A smaller image takes nothing from the memory budget: every connection may buffer this much.
const SMALL: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum UploadFault {
    /// The caller's fault. The message completes a sentence that begins with the field's name.
    #[error("{0}")]
    Image(String),
    #[error("the object store: {0}")]
    Store(#[from] object_store::Error),
    #[error(transparent)]
    MemoryUnavailable(#[from] MemoryUnavailable),
}

/// A running upload. Dropping it deletes its data from the store.
pub struct StagedUpload {
    store: Arc<dyn ObjectStore>,
    stem: Path,
    digest: Sha256,
    bytes: u64,
    max_pixels: u64,
    memory: AccountMemory,
    /// Does the image take memory from the budget, from its first megabyte on?
    is_large: bool,
    /// Until the upload holds it.
    reservation: Option<Reservation>,
    stage: Stage,
}

enum Stage {
    /// Too few bytes have arrived to detect the format.
    Sniffing(BytesMut),
    Storing(Box<Storing>),
}

struct Storing {
    kind: ImageKind,
    key: String,
    header: HeaderReader,
    upload: Upload,
}

/// An image that is complete in the store. Dropping it deletes the image; [`StoredUpload::keep`] keeps it.
pub struct StoredUpload {
    image: InputImage,
    kind: ImageKind,
    has_alpha: bool,
    sha256: [u8; 32],
    stored: StoredObject,
}

impl StagedUpload {
    /// Begins an upload. The key is `stem` plus an extension; `stem` must belong to this upload alone. The limits of one image apply.
    /// Needs a Tokio runtime.
    pub(super) fn begin(store: Arc<dyn ObjectStore>, stem: Path, limits: &InputLimits) -> Self {
        Self {
            store,
            stem,
            digest: Sha256::new(),
            bytes: 0,
            max_pixels: limits.max_pixels,
            memory: limits.memory.clone(),
            is_large: false,
            reservation: None,
            stage: Stage::Sniffing(BytesMut::new()),
        }
    }

    /// Writes the next chunk, of any size. Waits while the store writes earlier chunks.
    ///
    /// # Errors
    /// When the bytes are not an image or a damaged one, no memory becomes free in time, or the store fails.
    pub async fn push(mut self, bytes: Bytes) -> Result<Self, UploadFault> {
        self.digest.update(&bytes);
        self.bytes += bytes.len() as u64;
        if self.bytes > SMALL && !self.is_large {
            self.reservation = Some(self.memory.reserve_soon().await?);
            self.is_large = true;
        }
        let bytes = match &mut self.stage {
            Stage::Storing(_) => bytes,
            Stage::Sniffing(first) => {
                first.extend_from_slice(&bytes);
                if first.len() < SNIFFED_BYTES {
                    return Ok(self);
                }
                first.split().freeze()
            }
        };
        self.write(bytes).await
    }

    /// Completes the upload.
    ///
    /// # Errors
    /// As [`StagedUpload::push`]; also when the image ends within its header.
    pub async fn finish(mut self) -> Result<StoredUpload, UploadFault> {
        if let Stage::Sniffing(first) = &mut self.stage {
            let first = first.split().freeze();
            self = self.write(first).await?;
        }
        let Self {
            stage,
            digest,
            bytes,
            max_pixels,
            ..
        } = self;
        let Stage::Storing(storing) = stage else {
            return Err(UploadFault::Image("is empty".into()));
        };
        let Storing {
            kind,
            key,
            header,
            upload,
        } = *storing;
        let has_alpha = header.has_alpha();
        let size = header.finish().map_err(|wrong| damaged(kind, wrong))?;
        let size = size
            .check(max_pixels)
            .map_err(|wrong| UploadFault::Image(wrong.to_string()))?;
        let image = InputImage {
            key,
            bytes,
            width: size.width,
            height: size.height,
        };
        Ok(StoredUpload {
            image,
            kind,
            has_alpha,
            sha256: digest.finalize().into(),
            stored: upload.complete().await?,
        })
    }

    async fn write(mut self, bytes: Bytes) -> Result<Self, UploadFault> {
        let mut storing = match self.stage {
            Stage::Storing(storing) => storing,
            Stage::Sniffing(_) => detect_format(&self.store, &self.stem, &bytes)?,
        };
        storing
            .header
            .push(&bytes)
            .map_err(|wrong| damaged(storing.kind, wrong))?;
        if let Some(reservation) = self.reservation.take() {
            storing.upload = storing.upload.hold(reservation).await?;
        }
        storing.upload = storing.upload.write(bytes).await?;
        self.stage = Stage::Storing(storing);
        Ok(self)
    }
}

fn detect_format(
    store: &Arc<dyn ObjectStore>,
    stem: &Path,
    first: &[u8],
) -> Result<Box<Storing>, UploadFault> {
    let kind = ImageKind::from_bytes(first).ok_or_else(|| {
        let message = if first.is_empty() {
            "is empty"
        } else {
            "is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image, judging by its bytes"
        };
        UploadFault::Image(message.into())
    })?;
    let key = format!("{stem}.{}", kind.extension());
    // No caller waits for the cleanup of a single image, so the receiver is dropped.
    let (alive, _) = mpsc::channel(1);
    let path = Path::from(key.as_str());
    Ok(Box::new(Storing {
        kind,
        key,
        header: HeaderReader::new(kind),
        upload: Upload::begin(Arc::clone(store), path, alive),
    }))
}

fn damaged(kind: ImageKind, wrong: impl std::fmt::Display) -> UploadFault {
    UploadFault::Image(format!("is a {} image {wrong}", kind.name()))
}

impl StoredUpload {
    pub fn image(&self) -> &InputImage {
        &self.image
    }

    /// Detected from the bytes.
    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// Of a PNG; false for every other format.
    pub fn has_alpha(&self) -> bool {
        self.has_alpha
    }

    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    pub fn keep(self) -> InputImage {
        self.stored.keep();
        self.image
    }
}
