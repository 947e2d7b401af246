//! Streams JSON Lines about the requests of a batch, in their order.

use super::problem::Problem;
use super::{no_store, streaming};
use crate::application::error::Error;
use crate::application::jobs::image_url;
use crate::application::services::JobService;
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use tintype_api::BatchResult;
use tintype_storage::domain::batch::Batch;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;

/// Jobs read at a time.
const PAGE_SIZE: usize = 200;

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
        let (jobs, write) = rest?;
        match block(jobs, &write).await {
            Ok((Some(block), jobs)) => Some((Ok(block), jobs.map(|jobs| (jobs, write)))),
            Ok((None, _)) => None,
            // Aborts the connection, so that a client cannot mistake a part for the whole.
            Err(error) => Some((Err(Problem::from(error)), None)),
        }
    });
    let mut response = no_store::ok();
    response.content_type("application/x-ndjson");
    streaming::respond(request, &mut response, lines)
}

/// Returns the lines of the next jobs, and the remaining jobs; no lines at the end.
async fn block<W>(mut jobs: Jobs, write: &W) -> Result<(Option<Bytes>, Option<Jobs>), Error>
where
    W: AsyncFn(&JobService, &Job) -> Result<Option<Vec<u8>>, Error>,
{
    let mut block = Vec::new();
    // A chunk of the response must not be empty.
    while block.is_empty() {
        let next = jobs.next().await?;
        if next.is_empty() {
            return Ok((None, None));
        }
        for job in &next {
            if let Some(line) = write(&jobs.service, job).await? {
                block.extend(line);
                block.push(b'\n');
            }
        }
    }
    Ok((Some(block.into()), Some(jobs)))
}

/// Reads the jobs of a batch page by page.
pub struct Jobs {
    service: web::Data<JobService>,
    batch: Batch,
    last: Option<JobId>,
}

impl Jobs {
    pub fn of(service: web::Data<JobService>, batch: Batch) -> Self {
        Self {
            service,
            batch,
            last: None,
        }
    }

    /// The next jobs in the order of the requests; empty at the end.
    ///
    /// # Errors
    /// The store fails.
    pub async fn next(&mut self) -> Result<Vec<Job>, Error> {
        let jobs = self
            .service
            .core
            .store
            .jobs_of_batch(&self.batch, self.last, PAGE_SIZE)
            .await?;
        self.last = jobs.last().map(|job| job.id).or(self.last);
        Ok(jobs)
    }
}
