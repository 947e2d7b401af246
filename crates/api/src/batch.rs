//! Batches.

use crate::job::JobResult;
use crate::schema::{Count, Metadata};
use crate::text::{BatchStatus, Id, JobStatus, Moment, Money, UrlPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use tintype_storage::domain::batch;
use tintype_storage::domain::batch_member::BatchMember;
use tintype_storage::domain::job;

/// A batch. Every field is always there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Batch {
    /// The batch's id.
    pub batch_id: Id,
    /// `canceling`: its queued jobs are being canceled, and some still run. `ended`: all of its jobs are done or failed.
    pub status: BatchStatus,
    /// When it was accepted.
    pub created_at: Moment,
    /// When its last job ended.
    pub ended_at: Option<Moment>,
    /// How many of its jobs are in which state.
    pub counts: BatchCounts,
    /// The sum of the prices of its jobs, fixed when it was accepted. A job that fails is not charged.
    pub price: Money,
    /// As the caller sent it; `null` where there was none.
    #[schemars(with = "Option<Metadata>")]
    pub metadata: Option<Box<RawValue>>,
    /// The path of its results.
    pub results_url: UrlPath,
}

/// How many jobs of a batch are in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BatchCounts {
    /// All of them.
    #[schemars(with = "Count")]
    pub total: u32,
    #[schemars(with = "Count")]
    pub queued: u32,
    #[schemars(with = "Count")]
    pub processing: u32,
    #[schemars(with = "Count")]
    pub done: u32,
    #[schemars(with = "Count")]
    pub failed: u32,
}

impl Batch {
    /// A batch with the text of its metadata, where that is known.
    pub fn new(
        batch: &batch::Batch,
        progress: &batch::BatchProgress,
        metadata: Option<String>,
    ) -> Self {
        let id = batch.id;
        Self {
            batch_id: id.into(),
            status: progress.status().word().into(),
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
            // Stored metadata is well-formed. If it were not, none is better than a part of it.
            metadata: metadata.and_then(|text| RawValue::from_string(text).ok()),
            results_url: format!("/api/v1/batches/{id}/results").into(),
        }
    }
}

/// What a batch would cost.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BatchEstimate {
    /// What would be held.
    pub price: Money,
    /// How many jobs it would have.
    #[schemars(with = "Count")]
    pub requests: usize,
    /// What the account can spend now.
    pub available: Money,
}

/// A line of a batch's results.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BatchResult<'a> {
    /// The caller's name for the request, or its position.
    pub custom_id: Cow<'a, str>,
    /// The job's id.
    pub job_id: Id,
    /// Where the job is in its life.
    pub status: JobStatus,
    /// Only of a job that is done.
    pub result: Option<JobResult>,
    /// Only of a job that failed: why.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> BatchResult<'a> {
    /// A job of a batch with the fresh download URL of its picture, where it has one.
    pub fn new(job: &'a job::Job, image_url: Option<String>) -> Self {
        let looked_up = crate::job::Job::new(job, image_url, None);
        let custom_id = job.member().map(BatchMember::custom_id);
        Self {
            custom_id: custom_id.unwrap_or_default().into(),
            job_id: looked_up.job_id,
            status: looked_up.status,
            result: looked_up.result,
            error: looked_up.error,
        }
    }
}
