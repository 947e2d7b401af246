//! An image in the body of a request: its bytes are streamed to the object store as they arrive.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use object_store::{ObjectStore, path::Path};
use sha2::{Digest, Sha256};
use tintype_imaging::{HeaderReader, ImageKind, SNIFFED_BYTES};
use tokio::sync::mpsc;

use super::{
    InputImage, InputLimits,
    memory_budget::{AccountMemory, MemoryUnavailable, Reservation},
    upload::{Stored, Upload},
};

/// Bytes of an image that needs no memory of the budget: a connection may hold as many of any body.
const SMALL: u64 = 1 << 20;

/// Why an uploaded image is refused.
#[derive(Debug, thiserror::Error)]
pub enum UploadFault {
    /// The caller's doing. Completes a sentence that begins with the name of the field.
    #[error("{0}")]
    Image(String),
    /// The object store's doing.
    #[error("the object store: {0}")]
    Store(#[from] object_store::Error),
    /// There was no memory for it in time.
    #[error(transparent)]
    MemoryUnavailable(#[from] MemoryUnavailable),
}

/// An image that is being uploaded. Dropping it deletes what has reached the store.
pub struct StagedUpload {
    store: Arc<dyn ObjectStore>,
    stem: Path,
    digest: Sha256,
    bytes: u64,
    max_pixels: u64,
    memory: AccountMemory,
    /// Held while a part of a large image fills.
    reservation: Option<Reservation>,
    stage: Stage,
}

enum Stage {
    /// Too little has arrived to tell what it is.
    Sniffing(BytesMut),
    Storing(Box<Storing>),
}

struct Storing {
    kind: ImageKind,
    key: String,
    header: HeaderReader,
    upload: Upload,
}

/// An image that is complete in the store. Dropping it deletes it, unless [`StoredUpload::keep`] is called.
pub struct StoredUpload {
    image: InputImage,
    sha256: [u8; 32],
    stored: Stored,
}

impl StagedUpload {
    /// Begins an image. Its key will be `stem` and an extension; `stem` must belong to it alone. It is held
    /// to the bounds of one image. Must be fed where tasks can be spawned.
    pub fn begin(store: Arc<dyn ObjectStore>, stem: Path, limits: &InputLimits) -> Self {
        Self {
            store,
            stem,
            digest: Sha256::new(),
            bytes: 0,
            max_pixels: limits.max_pixels,
            memory: limits.memory.clone(),
            reservation: None,
            stage: Stage::Sniffing(BytesMut::new()),
        }
    }

    /// Writes the next bytes, in pieces of any size. Waits while the store is busy with those before.
    ///
    /// # Errors
    /// It is no image, or a damaged one; there is no memory for it in time; or the store failed.
    pub async fn push(mut self, bytes: Bytes) -> Result<Self, UploadFault> {
        self.digest.update(&bytes);
        self.bytes += bytes.len() as u64;
        if self.bytes > SMALL && self.reservation.is_none() {
            self.reservation = Some(self.memory.reserve_soon().await?);
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

    /// Ends the image after its last byte.
    ///
    /// # Errors
    /// As [`StagedUpload::push`]; or the image ends before it has said how large it is.
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
        let size = header.finish().map_err(|wrong| damaged(kind, wrong))?;
        let size = size
            .check(max_pixels)
            .map_err(|wrong| UploadFault::Image(wrong.to_string()))?;
        let image = InputImage {
            key,
            bytes,
            media_type: kind,
            width: size.width,
            height: size.height,
        };
        Ok(StoredUpload {
            image,
            sha256: digest.finalize().into(),
            stored: upload.complete().await?,
        })
    }

    async fn write(mut self, bytes: Bytes) -> Result<Self, UploadFault> {
        let mut storing = match self.stage {
            Stage::Storing(storing) => storing,
            Stage::Sniffing(_) => recognise(&self.store, &self.stem, &bytes)?,
        };
        storing
            .header
            .push(&bytes)
            .map_err(|wrong| damaged(storing.kind, wrong))?;
        storing.upload = storing.upload.write(bytes).await?;
        self.stage = Stage::Storing(storing);
        Ok(self)
    }
}

fn recognise(
    store: &Arc<dyn ObjectStore>,
    stem: &Path,
    first: &[u8],
) -> Result<Box<Storing>, UploadFault> {
    let kind = ImageKind::from_bytes(first).ok_or_else(|| {
        let message = if first.is_empty() {
            "is empty"
        } else {
            "is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image by its bytes"
        };
        UploadFault::Image(message.into())
    })?;
    let key = format!("{stem}.{}", kind.extension());
    // The clean-up of a single image is not waited for, so the other end is dropped.
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
    /// What it is.
    pub fn image(&self) -> &InputImage {
        &self.image
    }

    /// SHA-256 of its bytes.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// Leaves it in the store.
    pub fn keep(self) -> InputImage {
        self.stored.keep();
        self.image
    }
}
