//! The objects of jobs: validates each result and stores it durably, reads prompts, and deletes inputs.

mod check;

use crate::image_decoding::RESULT_DECODING;
use crate::inputs::JobInputs;
use crate::objects::{ObjectStorage, result_key};
use crate::request_text;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use image::{ImageFormat, ImageReader};
use std::io::Cursor;
use tintype_actors::dispatch::backoff;
use tintype_actors::ports::{GenerateError, GeneratedImage, JobObjects, PortFuture};
use tintype_imaging::{DecodePermit, ImageKind};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, JobState, PromptText, ResultImage};
use tokio::time::sleep;

/// With the backoff, the tries take 8 to 16 s.
const PUT_TRIES: u32 = 6;

#[derive(Clone)]
pub struct ResultStore {
    objects: ObjectStorage,
    writers: Writers,
    inputs: JobInputs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    One,
    /// Several nodes. A node that was declared dead may store the image of its run after another node has stored that of a later run.
    /// The keys hold the run number, so that the older image does not replace the newer one.
    Nodes,
}

impl Writers {
    fn key(self, job: &Job, kind: ImageKind) -> String {
        let run = match (self, &job.state) {
            (Self::Nodes, JobState::Processing { runs, .. }) => Some(*runs),
            _ => None,
        };
        result_key(job.id, run, kind)
    }
}

impl ResultStore {
    pub fn new(objects: ObjectStorage, writers: Writers, inputs: JobInputs) -> Self {
        Self {
            objects,
            writers,
            inputs,
        }
    }
}

struct CheckedImage {
    bytes: Vec<u8>,
    probed: ImageProperties,
}

struct ImageProperties {
    kind: ImageKind,
    format: ImageFormat,
    width: u32,
    height: u32,
}

fn probe(bytes: &[u8]) -> Result<ImageProperties, GenerateError> {
    let broken =
        || GenerateError::Broken("the image generator did not return a valid image".into());
    let kind = ImageKind::from_bytes(bytes).ok_or_else(broken)?;
    // The server cannot validate a format that it cannot decode.
    let format = kind.decodable().ok_or_else(|| {
        GenerateError::Broken(format!(
            "the image generator returned an image in {}, which is not accepted",
            kind.name()
        ))
    })?;
    let reader = ImageReader::with_format(Cursor::new(bytes), format);
    let (width, height) = reader.into_dimensions().map_err(|_| broken())?;
    Ok(ImageProperties {
        kind,
        format,
        width,
        height,
    })
}

/// Decodes on the blocking pool. Decoders may panic on hostile bytes; a panic counts as a fault of the backend.
async fn decoding(
    job: &Job,
    work: impl FnOnce(&DecodePermit) -> Result<CheckedImage, GenerateError> + Send + 'static,
) -> Result<CheckedImage, GenerateError> {
    RESULT_DECODING
        .run(job.account, work)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(job = %job.id, %error, "decoding an image panicked");
            Err(GenerateError::Broken(
                "the image generator returned a damaged image".into(),
            ))
        })
}

async fn store_image(
    objects: ObjectStorage,
    writers: Writers,
    job: Job,
    image: GeneratedImage,
) -> Result<ResultImage, GenerateError> {
    let CheckedImage { bytes, probed } = match image.own {
        true => finish_own(&job, image.bytes).await?,
        false => {
            let (ratio, options) = (job.ratio, job.options());
            let validate =
                move |permit: &DecodePermit| check::validate(permit, image.bytes, ratio, options);
            decoding(&job, validate).await?
        }
    };
    let key = writers.key(&job, probed.kind);
    let length = bytes.len() as u64;
    put(&objects, job.id, &key, bytes.into(), probed.kind.mime()).await?;
    Ok(ResultImage {
        key,
        bytes: length,
        width: probed.width,
        height: probed.height,
        backend: None,
    })
}

/// The built-in generator's image is valid and has the requested size; decoding it would cost more than drawing it. So it is decoded
/// only for another format.
async fn finish_own(job: &Job, bytes: Vec<u8>) -> Result<CheckedImage, GenerateError> {
    let probed = probe(&bytes)?;
    match job.options().output {
        Some(output) if !check::has_format(output, probed.format) => {
            decoding(job, move |permit| check::convert(permit, bytes, output)).await
        }
        _ => Ok(CheckedImage { bytes, probed }),
    }
}

/// Retries, because the image may have cost minutes or money.
async fn put(
    objects: &ObjectStorage,
    job: JobId,
    key: &str,
    bytes: Bytes,
    media_type: &str,
) -> Result<(), GenerateError> {
    let mut tries = 0;
    loop {
        let Err(error) = objects.put(key, bytes.clone(), media_type).await else {
            return Ok(());
        };
        tries += 1;
        if tries == 1 {
            tracing::warn!(%job, tries, %error, "could not store an image, trying again");
        }
        if tries == PUT_TRIES {
            tracing::error!(%job, tries, %error, "could not store an image");
            return Err(GenerateError::Storage(
                "the finished image could not be stored; try again".into(),
            ));
        }
        sleep(backoff::delay(tries, None, rand::random())).await;
    }
}

impl JobObjects for ResultStore {
    fn store_image(&self, job: &Job, image: GeneratedImage) -> PortFuture<ResultImage> {
        store_image(self.objects.clone(), self.writers, job.clone(), image).boxed_local()
    }

    fn is_usable(&self) -> bool {
        self.objects.is_usable()
    }

    fn read_prompt(&self, key: String) -> PortFuture<PromptText> {
        let objects = self.objects.clone();
        async move {
            request_text::load(&objects, &key).await.map_err(|error| {
                tracing::error!(%key, %error, "could not read the prompt of a job");
                GenerateError::Storage("the stored request could not be read; try again".into())
            })
        }
        .boxed_local()
    }

    fn delete_inputs(&self, job: &Job) -> LocalBoxFuture<'static, ()> {
        self.inputs.delete(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::FileSigningKey;
    use std::fs;
    use std::time::Duration;
    use tokio::time::Instant;
    use uuid::Uuid;

    const JOB: JobId = JobId(Uuid::nil());

    /// A store in a directory whose folder of results is a file.
    fn blocked() -> (tempfile::TempDir, ObjectStorage) {
        let dir = tempfile::tempdir().unwrap();
        let key = FileSigningKey::load_or_create(dir.path()).unwrap();
        let objects = ObjectStorage::open("", dir.path(), "http://localhost", key).unwrap();
        fs::write(dir.path().join("objects/results"), "in the way").unwrap();
        (dir, objects)
    }

    #[tokio::test(start_paused = true)]
    async fn an_image_is_stored_despite_a_temporary_store_failure() {
        let (dir, objects) = blocked();
        let obstacle = dir.path().join("objects/results");
        let clear = async {
            sleep(Duration::from_secs(4)).await;
            fs::remove_file(&obstacle).unwrap();
        };
        let bytes = Bytes::from_static(b"the very image");
        let put = put(&objects, JOB, "results/a.png", bytes.clone(), "image/png");
        let (stored, ()) = tokio::join!(put, clear);
        stored.unwrap();
        assert_eq!(objects.get("results/a.png").await.unwrap(), bytes);
    }

    #[tokio::test(start_paused = true)]
    async fn a_permanent_store_failure_is_reported_as_a_storage_error() {
        let (_dir, objects) = blocked();
        let began = Instant::now();
        let put = put(&objects, JOB, "results/a.png", Bytes::new(), "image/png");
        let error = put.await.unwrap_err();
        assert!(matches!(error, GenerateError::Storage(_)), "{error:?}");
        let took = began.elapsed().as_secs_f64();
        assert!((7.0..16.0).contains(&took), "{took}");
    }
}
