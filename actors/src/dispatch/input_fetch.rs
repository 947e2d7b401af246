//! Fetches the input images of a batch job at its first run, and records them before they are used.

use super::context::DispatchContext;
use crate::ports::{FetchedInputs, GenerateError};
use tintype_storage::domain::job::{Job, JobEvent};

/// Fetches the input images of a job that does not have them yet.
pub async fn fetch_inputs(job: &mut Job, context: &DispatchContext) -> Result<(), GenerateError> {
    if job.input_urls().is_none() {
        return Ok(());
    }
    let FetchedInputs { inputs, ratio } = context.input_fetcher.fetch(job).await?;
    let recorded = record(job, JobEvent::InputsFetched { inputs, ratio }, context).await;
    let error = || "the input images could not be recorded; try again".to_owned();
    *job = recorded.ok_or_else(|| GenerateError::Storage(error()))?;
    Ok(())
}

/// The job after the event; `None` if the event was not applied.
async fn record(job: &Job, event: JobEvent, context: &DispatchContext) -> Option<Job> {
    let account = context.account(job.account)?;
    account.apply(job.id, event, None).await.ok()?.ok()
}
