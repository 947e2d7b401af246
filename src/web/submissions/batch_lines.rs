//! Streams JSON Lines about the requests of a batch, in their order.

use crate::application::error::Error;
use crate::application::jobs::image_url;
use crate::application::services::JobService;
use crate::web::no_store;
use crate::web::problem::Problem;
use crate::web::streaming;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use std::vec;
use tintype_api::BatchResult;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;

/// Jobs read at a time. A response to a slow client holds the rest of a page.
const PAGE_SIZE: usize = 50;
/// A chunk of the response ends with the line that reaches this size.
const CHUNK_BYTES: usize = 64 << 10;

/// Streams the results of a batch, one line per request.
pub fn results(request: &HttpRequest, jobs: web::Data<JobService>, batch: Batch) -> HttpResponse {
    respond(request, jobs, batch, async |jobs, job| {
        let url = image_url(jobs, job).await?;
        // A struct of strings always serializes.
        Ok(Some(
            serde_json::to_vec(&BatchResult::new(job, url)).unwrap_or_default(),
        ))
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
    let jobs = Jobs::of(service, batch);
    let lines = stream::unfold(Some((jobs, write)), |rest| async move {
        let (mut jobs, write) = rest?;
        match chunk(&mut jobs, &write).await {
            // A chunk of the response must not be empty.
            Ok(chunk) if chunk.is_empty() => None,
            Ok(chunk) => Some((Ok(chunk), Some((jobs, write)))),
            // Aborts the connection, so that a client cannot mistake a part for the whole.
            Err(error) => Some((Err(Problem::from(error)), None)),
        }
    });
    let mut response = no_store::ok();
    response.content_type("application/x-ndjson");
    streaming::respond(request, &mut response, lines)
}

/// Returns the lines of the next jobs; empty at the end.
async fn chunk<W>(jobs: &mut Jobs, write: &W) -> Result<Bytes, Error>
where
    W: AsyncFn(&JobService, &Job) -> Result<Option<Vec<u8>>, Error>,
{
    let mut chunk = Vec::new();
    while chunk.len() < CHUNK_BYTES
        && let Some(job) = jobs.next().await?
    {
        if let Some(line) = write(&jobs.service, &job).await? {
            chunk.extend(line);
            chunk.push(b'\n');
        }
    }
    Ok(chunk.into())
}

/// Reads the jobs of a batch page by page.
pub struct Jobs {
    service: web::Data<JobService>,
    batch: Batch,
    page: vec::IntoIter<Job>,
    /// The last job of the page.
    last: Option<JobId>,
}

impl Jobs {
    pub fn of(service: web::Data<JobService>, batch: Batch) -> Self {
        Self {
            service,
            batch,
            page: vec::IntoIter::default(),
            last: None,
        }
    }

    /// The next job in the order of the requests; `None` at the end.
    ///
    /// # Errors
    /// The store fails.
    pub async fn next(&mut self) -> Result<Option<Job>, Error> {
        if self.page.as_slice().is_empty() {
            let store = &self.service.core.store;
            let page = store.jobs_of_batch(&self.batch, self.last, PAGE_SIZE);
            let page = page.await?;
            self.last = page.last().map(|job| job.id).or(self.last);
            self.page = page.into_iter();
        }
        Ok(self.page.next())
    }
}
