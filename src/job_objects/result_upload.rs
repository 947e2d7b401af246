//! The image of a run: validates it, converts it if its job needs another format, and stores it durably with retries.

use super::result_validation::{self, ValidImage, damaged, probe};
use crate::decode_permits::RESULT_DECODING;
use crate::objects::{ObjectStorage, result_key};
use bytes::Bytes;
use tintype_actors::dispatch::backoff;
use tintype_actors::ports::{CheckedImage, GenerateError, GeneratedImage, set_cause};
use tintype_imaging::{DecodePermit, ImageKind, describe};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Job, JobState, ResultImage};
use tokio::time::sleep;

/// With the backoff, the tries take 8 to 16 s.
const PUT_TRIES: u32 = 6;
/// After so many tries, which take about two seconds, no other job starts: its image would probably be lost too.
const REPORTED_TRIES: u32 = 3;

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

/// Decodes on the blocking pool. Decoders may panic on hostile bytes; a panic counts as a fault of the backend.
async fn decoding(
    job: &Job,
    work: impl FnOnce(&DecodePermit) -> Result<ValidImage, GenerateError> + Send + 'static,
) -> Result<ValidImage, GenerateError> {
    RESULT_DECODING
        .run(job.account, work)
        .await
        .unwrap_or_else(|error| {
            tracing::error!(job = %job.id, %error, "decoding an image panicked");
            Err(damaged())
        })
}

pub async fn check_image(job: Job, image: GeneratedImage) -> Result<CheckedImage, GenerateError> {
    let ValidImage { bytes, probed } = match image.own {
        true => finish_own(&job, image.bytes).await?,
        false => {
            let (ratio, options) = (job.ratio, job.options());
            let description = describe(&image.bytes);
            let validate = move |permit: &DecodePermit| {
                result_validation::validate(permit, image.bytes, ratio, options)
            };
            let valid = decoding(&job, validate).await;
            valid.inspect_err(|error| set_cause(format!("{error}: {description}")))?
        }
    };
    Ok(CheckedImage {
        bytes,
        width: probed.width,
        height: probed.height,
    })
}

pub async fn store_image(
    objects: ObjectStorage,
    writers: Writers,
    job: Job,
    image: CheckedImage,
) -> Result<ResultImage, GenerateError> {
    let CheckedImage {
        bytes,
        width,
        height,
    } = image;
    let kind = ImageKind::from_bytes(&bytes).ok_or_else(damaged)?;
    let key = writers.key(&job, kind);
    let length = bytes.len() as u64;
    put(&objects, job.id, &key, bytes.into(), kind.mime()).await?;
    Ok(ResultImage {
        key,
        bytes: length,
        width,
        height,
        backend: None,
    })
}

/// The built-in generator's image is valid and has the requested size; decoding it would cost more than drawing it. So it is decoded
/// only for another format.
async fn finish_own(job: &Job, bytes: Vec<u8>) -> Result<ValidImage, GenerateError> {
    let probed = probe(&bytes)?;
    match job.options().output {
        Some(output) if !result_validation::has_format(output, probed.format) => {
            decoding(job, move |permit| {
                result_validation::convert(permit, bytes, output)
            })
            .await
        }
        _ => Ok(ValidImage { bytes, probed }),
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
        if tries >= REPORTED_TRIES {
            objects.report_refused_write(bytes.len());
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
        assert!(!objects.is_usable());
    }
}
