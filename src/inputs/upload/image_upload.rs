//! Streams one image to the object store: detects its format from the first bytes, and parses its header on the way.

use super::object_upload::{Alive, ObjectUpload, StoredObject};
use crate::inputs::{InputImage, Reservation, SharedStore, UploadFault};
use bytes::{Bytes, BytesMut};
use object_store::path::Path;
use std::fmt::Display;
use tintype_imaging::{HeaderReader, ImageKind, SNIFFED_BYTES};

/// A running upload. Dropping it deletes its data from the store.
pub struct ImageUpload {
    store: SharedStore,
    stem: Path,
    alive: Alive,
    /// The number of bytes that have arrived.
    pub bytes: u64,
    /// Until the upload holds it.
    memory: Option<Reservation>,
    /// The bytes that have arrived, while they are too few to detect the format.
    first: BytesMut,
    storing: Option<Storing>,
}

struct Storing {
    kind: ImageKind,
    key: String,
    header: HeaderReader,
    upload: ObjectUpload,
}

/// An image that is complete in the store. Dropping it deletes the image; [`StoredImage::keep`] keeps it.
pub struct StoredImage {
    pub image: InputImage,
    pub kind: ImageKind,
    pub has_alpha: bool,
    object: StoredObject,
}

impl ImageUpload {
    /// Begins an upload. The key is `stem` plus an extension; `stem` must belong to this upload alone.
    pub fn begin(store: SharedStore, stem: Path, alive: Alive) -> Self {
        Self {
            store,
            stem,
            alive,
            bytes: 0,
            memory: None,
            first: BytesMut::new(),
            storing: None,
        }
    }

    /// Holds the memory of this image until it is complete or the upload has failed.
    pub fn hold(&mut self, memory: Reservation) {
        self.memory = Some(memory);
    }

    /// Writes the next chunk, of any size. Waits while the store writes earlier chunks.
    pub async fn push(mut self, bytes: Bytes) -> Result<Self, UploadFault> {
        self.bytes += bytes.len() as u64;
        let storing = match self.storing.take() {
            Some(storing) => storing.write(bytes, self.memory.take()).await?,
            None => {
                self.first.extend_from_slice(&bytes);
                if self.first.len() < SNIFFED_BYTES {
                    return Ok(self);
                }
                self.write_first().await?
            }
        };
        self.storing = Some(storing);
        Ok(self)
    }

    /// Completes the upload.
    pub async fn finish(mut self, max_pixels: u64) -> Result<StoredImage, UploadFault> {
        let storing = match self.storing.take() {
            Some(storing) => storing,
            None => self.write_first().await?,
        };
        let (kind, has_alpha) = (storing.kind, storing.header.has_alpha());
        let size = storing.header.finish();
        let size = size.map_err(|wrong| damaged(kind, wrong))?;
        let size = size.check(max_pixels);
        let size = size.map_err(|wrong| UploadFault::Image(wrong.to_string()))?;
        Ok(StoredImage {
            image: InputImage {
                key: storing.key,
                bytes: self.bytes,
                width: size.width,
                height: size.height,
            },
            kind,
            has_alpha,
            object: storing.upload.complete().await?,
        })
    }

    async fn write_first(&mut self) -> Result<Storing, UploadFault> {
        let first = self.first.split().freeze();
        let kind = ImageKind::from_bytes(&first).ok_or_else(|| {
            let message = match first.is_empty() {
                true => "is empty",
                false => "is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image, judging by its bytes",
            };
            UploadFault::Image(message.into())
        })?;
        let key = format!("{}.{}", self.stem, kind.extension());
        let path = Path::from(key.as_str());
        let storing = Storing {
            kind,
            key,
            header: HeaderReader::new(kind),
            upload: ObjectUpload::begin(self.store.clone(), path, self.alive.clone()),
        };
        storing.write(first, self.memory.take()).await
    }
}

impl Storing {
    async fn write(
        mut self,
        bytes: Bytes,
        memory: Option<Reservation>,
    ) -> Result<Self, UploadFault> {
        let parsed = self.header.push(&bytes);
        parsed.map_err(|wrong| damaged(self.kind, wrong))?;
        if let Some(memory) = memory {
            self.upload = self.upload.hold(memory).await?;
        }
        self.upload = self.upload.write(bytes).await?;
        Ok(self)
    }
}

fn damaged(kind: ImageKind, wrong: impl Display) -> UploadFault {
    UploadFault::Image(format!("is a {} image {wrong}", kind.name()))
}

impl StoredImage {
    /// Keeps the image in the store; the caller owns it from now on.
    pub fn keep(self) -> InputImage {
        self.object.keep();
        self.image
    }
}
