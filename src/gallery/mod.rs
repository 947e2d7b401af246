//! Keeps finished pictures: checks them by their bytes, stores them durably, and clears away what only the job needed.

mod check;
mod jpeg_end;
mod png_text;

use crate::decoding::at_the_gate;
use crate::images::Images;
use crate::words;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use image::{ImageFormat, ImageReader};
use std::io::Cursor;
use tintype_actors::generator::{Gallery, GenerateError, Picture};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, ResultImage, Words};

/// The gallery over the object store.
pub struct ObjectGallery {
    images: Images,
}

impl ObjectGallery {
    /// A gallery in this store.
    pub fn new(images: Images) -> Self {
        Self { images }
    }
}

/// What the bytes of a picture say of it.
struct Probed {
    format: ImageFormat,
    extension: &'static str,
    media_type: &'static str,
    width: u32,
    height: u32,
}

fn probe(bytes: &[u8]) -> Result<Probed, GenerateError> {
    let broken = || {
        GenerateError::Broken(
            "the image generator answered with something that is no picture".into(),
        )
    };
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|_| broken())?;
    let format = reader.format().ok_or_else(broken)?;
    let (extension, media_type) = match format {
        ImageFormat::Png => ("png", "image/png"),
        ImageFormat::Jpeg => ("jpg", "image/jpeg"),
        ImageFormat::WebP => ("webp", "image/webp"),
        ImageFormat::Gif => ("gif", "image/gif"),
        _ => return Err(broken()),
    };
    let (width, height) = reader.into_dimensions().map_err(|_| broken())?;
    Ok(Probed {
        format,
        extension,
        media_type,
        width,
        height,
    })
}

/// Checks on the blocking pool. Decoders are known to panic on hostile bytes, which is the back end's fault like any other.
async fn checked(job: JobId, bytes: Vec<u8>, ratio: AspectRatio) -> Result<Vec<u8>, GenerateError> {
    let checking = at_the_gate(move |leave| check::checked(leave, bytes, ratio));
    checking.await.unwrap_or_else(|error| {
        tracing::error!(%job, %error, "a picture could not be checked");
        Err(GenerateError::Broken(
            "the image generator answered with a picture that is damaged".into(),
        ))
    })
}

async fn keep(images: Images, job: Job, picture: Picture) -> Result<ResultImage, GenerateError> {
    // What this process has drawn itself is sound and of the size asked for: decoding it again would cost more than drawing.
    let kept = match picture.own {
        true => picture.bytes,
        false => checked(job.id, picture.bytes, job.ratio).await?,
    };
    let probed = probe(&kept)?;
    let key = format!("results/{}.{}", job.id, probed.extension);
    let bytes = kept.len() as u64;
    images
        .put(&key, Bytes::from(kept), probed.media_type)
        .await
        .map_err(|error| {
            tracing::error!(job = %job.id, %error, "a picture could not be stored");
            GenerateError::Broken("the finished picture could not be stored; try again".into())
        })?;
    Ok(ResultImage {
        key,
        bytes,
        width: probed.width,
        height: probed.height,
    })
}

impl Gallery for ObjectGallery {
    fn keep(
        &self,
        job: &Job,
        picture: Picture,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>> {
        keep(self.images.clone(), job.clone(), picture).boxed_local()
    }

    fn words(&self, key: String) -> LocalBoxFuture<'static, Result<Words, GenerateError>> {
        let images = self.images.clone();
        async move {
            words::load(&images, &key).await.map_err(|error| {
                tracing::error!(%key, %error, "the words of a job cannot be read");
                GenerateError::Broken("the stored request could not be read; try again".into())
            })
        }
        .boxed_local()
    }

    fn forget_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()> {
        let images = self.images.clone();
        let keys: Vec<String> = job.inputs.iter().map(|input| input.key.clone()).collect();
        async move {
            for key in keys {
                if let Err(error) = images.delete(&key).await {
                    tracing::warn!(%key, %error, "an input of an ended job could not be removed");
                }
            }
        }
        .boxed_local()
    }
}
