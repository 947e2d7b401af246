//! Streams the images of a batch as one ZIP archive. Only one chunk of an image is in memory at a time.

use super::zip_archive::ZipArchive;
use crate::api::file_names::FileNames;
use crate::application::jobs::batch_jobs::BatchJobs;
use crate::application::services::JobService;
use crate::objects::{FAULT_TARGET, ObjectError};
use actix_web::HttpResponse;
use actix_web::rt;
use actix_web::web::Data;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use std::io;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::job::Job;
use tokio::sync::mpsc;

/// Chunks that are buffered for a slow receiver.
const BUFFERED_CHUNKS: usize = 2;
/// The file that lists images that retention has deleted. No image has this extension.
const MISSING: &str = "missing.txt";

/// Why an archive is incomplete.
enum Stop {
    ReceiverGone,
    /// The connection is closed early, so that no client mistakes a partial archive for a whole one.
    Failed(io::Error),
}

/// Responds with the images of the done jobs, named after their custom ids.
pub fn respond(jobs: Data<JobService>, batch: Batch) -> HttpResponse {
    let (pieces, arrived) = mpsc::channel(BUFFERED_CHUNKS);
    rt::spawn(async move {
        if let Err(Stop::Failed(error)) = write(jobs, batch, &pieces).await {
            // This fails if the receiver has gone too.
            let _ = pieces.send(Err(error)).await;
        }
    });
    let body = stream::unfold(arrived, |mut arrived| async {
        Some((arrived.recv().await?, arrived))
    });
    HttpResponse::Ok()
        .content_type("application/zip")
        .streaming(body)
}

type Pieces = mpsc::Sender<io::Result<Bytes>>;

async fn send(pieces: &Pieces, piece: impl Into<Bytes>) -> Result<(), Stop> {
    pieces
        .send(Ok(piece.into()))
        .await
        .map_err(|_| Stop::ReceiverGone)
}

async fn write(service: Data<JobService>, batch: Batch, pieces: &Pieces) -> Result<(), Stop> {
    let failed = |error| Stop::Failed(io::Error::other(error));
    let mut archive = ZipArchive::default();
    let (mut names, mut missing) = (FileNames::default(), String::new());
    let (created, mut position) = (batch.created_at, 0);
    let mut jobs = BatchJobs::of(&service.core.store, batch);
    while let Some(job) = jobs
        .next()
        .await
        .map_err(|error| failed(error.to_string()))?
    {
        let custom_id = job.member().map(|it| it.custom_id()).unwrap_or_default();
        // Jobs without an image take a name too, so that names do not depend on which jobs have ended.
        let name = names.assign(&custom_id, position);
        position += 1;
        if !add(&service, &job, &name, &mut archive, pieces).await? {
            missing.push_str(&format!("{custom_id}\n"));
        }
    }
    if !missing.is_empty() {
        let list = format!("Retention has deleted these images:\n{missing}");
        send(pieces, archive.begin(MISSING, created)).await?;
        archive.add(list.as_bytes());
        send(pieces, list).await?;
        send(pieces, archive.end().map_err(Stop::Failed)?).await?;
    }
    send(pieces, archive.finish()).await
}

/// Adds the image of a job, if it has one. Returns false if retention has deleted the image.
async fn add(
    jobs: &JobService,
    job: &Job,
    name: &str,
    archive: &mut ZipArchive,
    pieces: &Pieces,
) -> Result<bool, Stop> {
    let Some(image) = job.result_image() else {
        return Ok(true);
    };
    let unreadable = |error: ObjectError| {
        tracing::error!(target: FAULT_TARGET, job = %job.id, %error, "could not read an image");
        Stop::Failed(io::Error::other(error.to_string()))
    };
    let mut chunks = match jobs.objects.chunks(&image.key).await {
        Ok(chunks) => chunks,
        Err(ObjectError::NotFound { .. }) => return Ok(false),
        Err(error) => return Err(unreadable(error)),
    };
    let extension = image.key.rsplit_once('.').map_or("png", |(_, it)| it);
    let ended = job.state.finished_at().unwrap_or(job.created_at);
    send(pieces, archive.begin(&format!("{name}.{extension}"), ended)).await?;
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(unreadable)?;
        archive.add(&chunk);
        send(pieces, chunk).await?;
    }
    send(pieces, archive.end().map_err(Stop::Failed)?).await?;
    Ok(true)
}
