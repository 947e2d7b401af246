//! Streams JSON Lines about the requests of a batch, in their order.

use crate::application::error::Error;
use crate::application::jobs::batch_jobs::BatchJobs;
use crate::application::jobs::image_url;
use crate::application::services::JobService;
use crate::web::no_store;
use crate::web::problem::Problem;
use crate::web::streaming;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use tintype_api::BatchResult;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::job::Job;
use tintype_storage::json;

/// A chunk of the response ends with the line that reaches this size.
const CHUNK_BYTES: usize = 64 << 10;

/// Streams the results of a batch, one line per request.
pub fn results(request: &HttpRequest, jobs: web::Data<JobService>, batch: Batch) -> HttpResponse {
    respond(request, jobs, batch, async |jobs, job| {
        let url = image_url(jobs, job).await?;
        Ok(Some(json::to_bytes(&BatchResult::new(job, url))))
    })
}

/// Streams the line that `write` returns for each job; `None` omits the job.
pub fn respond<W>(
    request: &HttpRequest,
    service: web::Data<JobService>,
    batch: Batch,
    write: W,
) -> HttpResponse
where
    W: AsyncFn(&JobService, &Job) -> Result<Option<Vec<u8>>, Error> + 'static,
{
    let jobs = BatchJobs::of(&service.core.store, batch);
    let lines = stream::unfold(Some((jobs, service, write)), |rest| async move {
        let (mut jobs, service, write) = rest?;
        match chunk(&mut jobs, &service, &write).await {
            // A chunk of the response must not be empty.
            Ok(chunk) if chunk.is_empty() => None,
            Ok(chunk) => Some((Ok(chunk), Some((jobs, service, write)))),
            // Aborts the connection, so that a client cannot mistake a part for the whole.
            Err(error) => Some((Err(Problem::from(error)), None)),
        }
    });
    let mut response = no_store::ok();
    response.content_type("application/x-ndjson");
    streaming::respond(request, &mut response, lines)
}

/// Returns the lines of the next jobs; empty at the end.
async fn chunk<W>(jobs: &mut BatchJobs, service: &JobService, write: &W) -> Result<Bytes, Error>
where
    W: AsyncFn(&JobService, &Job) -> Result<Option<Vec<u8>>, Error>,
{
    let mut chunk = Vec::new();
    while chunk.len() < CHUNK_BYTES
        && let Some(job) = jobs.next().await?
    {
        if let Some(line) = write(service, &job).await? {
            chunk.extend(line);
            chunk.push(b'\n');
        }
    }
    Ok(chunk.into())
}
