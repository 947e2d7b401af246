//! Batches.

use crate::job::JobResult;
use crate::schema::Metadata;
use crate::text::{BatchStatus, Id, JobStatus, Moment, Money, UrlPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use tintype_storage::domain::batch;
use tintype_storage::domain::batch_member::BatchMember;
use tintype_storage::domain::job;

/// A batch. Every field is always present.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Batch {
    /// The batch's id.
    pub batch_id: Id,
    /// `canceling`: queued jobs are being canceled, and some jobs still run. `ended`: all jobs are done or failed.
    pub status: BatchStatus,
    /// When the batch was accepted.
    pub created_at: Moment,
    /// When the last job ended. `null` before.
    pub ended_at: Option<Moment>,
    /// The number of jobs in each state.
    pub counts: BatchCounts,
    /// The sum of the job prices, fixed when the batch was accepted. Failed jobs are not charged.
    pub price: Money,
    /// The sum of the prices of the jobs that are done so far.
    pub charged: Money,
    /// The metadata as you sent it, or `null`.
    #[schemars(with = "Option<Metadata>")]
    pub metadata: Option<Box<RawValue>>,
    /// The path of the results.
    pub results_url: UrlPath,
}

/// The number of jobs of a batch in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchCounts {
    /// All jobs.
    pub total: u32,
    /// Jobs that wait for their start.
    pub queued: u32,
    /// Running jobs.
    pub processing: u32,
    /// Jobs with an image.
    pub done: u32,
    /// Failed and canceled jobs.
    pub failed: u32,
}

impl Batch {
    /// `metadata` is JSON text, if known.
    pub fn new(
        batch: &batch::Batch,
        progress: &batch::BatchProgress,
        metadata: Option<String>,
    ) -> Self {
        let id = batch.id;
        Self {
            batch_id: id.into(),
            status: progress.status().as_str().into(),
            created_at: batch.created_at.into(),
            ended_at: progress.ended_at.map(Moment::from),
            counts: BatchCounts {
                total: batch.total,
                queued: progress.queued,
                processing: progress.processing,
                done: progress.done,
                failed: progress.failed,
            },
            price: batch.price.into(),
            charged: progress.charged.into(),
            // Stored metadata is valid JSON. If it is not, the response omits it.
            metadata: metadata.and_then(|text| RawValue::from_string(text).ok()),
            results_url: format!("/api/v1/batches/{id}/results").into(),
        }
    }
}

/// The estimated cost of a batch.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct BatchEstimate {
    /// The amount that would be reserved.
    pub price: Money,
    /// The number of jobs.
    pub requests: usize,
    /// The amount that the account can spend now.
    pub available: Money,
}

/// The result of one job of a batch.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchResult<'a> {
    /// Your id of the request, or its position.
    pub custom_id: Cow<'a, str>,
    /// The job's id.
    pub job_id: Id,
    /// The job's state.
    pub status: JobStatus,
    /// The result of a job that is done, or `null`.
    pub result: Option<JobResult>,
    /// Why the job failed, or `null`.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> BatchResult<'a> {
    /// `image_url` is a fresh download URL of the job's image, if it has one.
    pub fn new(job: &'a job::Job, image_url: Option<String>) -> Self {
        let response = crate::job::Job::new(job, image_url, None);
        let custom_id = job.member().map(BatchMember::custom_id);
        Self {
            custom_id: custom_id.unwrap_or_default().into(),
            job_id: response.job_id,
            status: response.status,
            result: response.result,
            error: response.error,
        }
    }
}
