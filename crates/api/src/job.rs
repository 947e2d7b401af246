//! Jobs: the responses of a creation, a lookup and a list, and the whole record.

use crate::schema::Metadata;
use crate::service::BackendError;
use crate::text::{
    AspectWord, Id, JobStatus, ModeWord, Moment, Money, OriginWord, Queued, RatioWord,
    ResolutionWord, TierWord, Url, UrlPath,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Not;
use tintype_storage::domain::aspect_ratio::AspectChoice;
use tintype_storage::domain::batch_member::BatchMember;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{self, JobState, Origin, PromptText};
use tintype_storage::domain::time::Timestamp;
use uuid::fmt::Hyphenated;

/// An accepted job.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct CreatedJob {
    /// The job's id.
    pub job_id: Id,
    /// Always `queued`.
    pub status: Queued,
    /// The path to poll.
    pub status_url: UrlPath,
}

const JOBS: &str = "/api/v1/jobs/";

impl CreatedJob {
    /// The path to poll.
    pub fn path(job: JobId) -> String {
        let mut id = [0; Hyphenated::LENGTH];
        [JOBS, job.0.hyphenated().encode_lower(&mut id)].concat()
    }

    /// The JSON of a new job, with one copy for each part. All creations need it.
    pub fn json(job: JobId) -> String {
        let mut id = [0; Hyphenated::LENGTH];
        let id = &*job.0.hyphenated().encode_lower(&mut id);
        let (before, between) = (r#"{"job_id":""#, r#"","status":"queued","status_url":""#);
        [before, id, between, JOBS, id, r#""}"#].concat()
    }
}

/// The estimate of a request: the image that it would generate, and its price.
#[derive(Serialize, JsonSchema)]
pub struct Estimate {
    /// The amount that would be reserved.
    pub price: Money,
    /// The model.
    pub tier: TierWord,
    /// With input images or without.
    pub mode: ModeWord,
    /// The aspect ratio, with `auto` resolved.
    pub aspect_ratio: RatioWord,
    /// The resolution.
    pub resolution: ResolutionWord,
    /// The amount that the account can spend now.
    pub available: Money,
}

/// A job. Every field is always present.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Job<'a> {
    /// The job's id.
    pub job_id: Id,
    /// The job's state. `done` and `failed` are final.
    pub status: JobStatus,
    /// When the job was accepted.
    pub created_at: Moment,
    /// When processing began, or `null`.
    pub started_at: Option<Moment>,
    /// When the job ended, or `null`.
    pub finished_at: Option<Moment>,
    /// The result of a job that is done, or `null`.
    pub result: Option<JobResult>,
    /// Why the job failed, or `null`.
    pub error: Option<Cow<'a, str>>,
    /// The position of a queued job: 1 for the next one. `null` for other jobs.
    pub queue_position: Option<usize>,
    /// When a queued job will probably start, from the job starts of the last minutes. `null` without data.
    pub estimated_start_at: Option<Moment>,
}

/// The position of a queued job.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// 1 for the next job.
    pub position: usize,
    /// The estimated start. `None` without data.
    pub starts_at: Option<Timestamp>,
}

/// The result of a job that is done.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// The signed download URL of the image. Each lookup signs a new one.
    pub image_url: Url,
}

impl<'a> Job<'a> {
    /// `image_url` is a fresh download URL of a finished image, `waiting` the position of a queued job.
    pub fn new(job: &'a job::Job, image_url: Option<String>, waiting: Option<Waiting>) -> Self {
        let (started_at, finished_at, error) = times_and_error(&job.state);
        Self {
            job_id: job.id.into(),
            status: job.state.as_str().into(),
            created_at: job.created_at.into(),
            started_at: started_at.map(Moment::from),
            finished_at: finished_at.map(Moment::from),
            result: image_url.map(|url| JobResult {
                image_url: url.into(),
            }),
            error: error.map(Cow::Borrowed),
            queue_position: waiting.map(|it| it.position),
            estimated_start_at: waiting.and_then(|it| it.starts_at).map(Moment::from),
        }
    }
}

/// When a job started and ended, and why it failed.
pub(crate) fn times_and_error<S: AsRef<str>>(
    state: &JobState<S>,
) -> (Option<Timestamp>, Option<Timestamp>, Option<&str>) {
    match state {
        JobState::Queued => (None, None, None),
        JobState::Processing { started_at, .. } => (Some(*started_at), None, None),
        JobState::Done {
            started_at,
            finished_at,
            ..
        } => (Some(*started_at), Some(*finished_at), None),
        JobState::Failed {
            started_at,
            finished_at,
            error,
            ..
        } => (*started_at, Some(*finished_at), Some(error.as_ref())),
    }
}

/// A job in a list: with the fields that lists can be filtered by. [`JobPage`](crate::JobPage) writes it faster.
#[derive(Serialize, JsonSchema)]
pub struct ListedJob<'a> {
    #[serde(flatten)]
    job: Job<'a>,
    /// The model.
    tier: TierWord,
    /// With input images or without.
    mode: ModeWord,
    /// The aspect ratio, with `auto` resolved.
    aspect_ratio: RatioWord,
    /// The resolution.
    resolution: ResolutionWord,
    /// The price, fixed when the job was accepted.
    price: Money,
    /// The key that created the job.
    key_id: Id,
    /// The batch of the job, or `null`.
    batch_id: Option<Id>,
    /// In a batch: your id of the request, or its position. Otherwise `null`.
    custom_id: Option<String>,
}

impl<'a> ListedJob<'a> {
    /// `response` is the job as a lookup returns it.
    pub fn new(job: &'a job::Job, response: Job<'a>) -> Self {
        Self {
            job: response,
            tier: job.tier.as_str().into(),
            mode: job.mode.as_str().into(),
            aspect_ratio: job.ratio.as_str().into(),
            resolution: job.resolution.as_str().into(),
            price: job.price.into(),
            key_id: job.key.into(),
            batch_id: job.member().map(|it| it.batch.into()),
            custom_id: job.member().map(BatchMember::custom_id),
        }
    }
}

/// The whole record of a job.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct JobRecord<'a> {
    #[serde(flatten)]
    pub job: Job<'a>,
    /// The account of the job.
    pub account_id: Id,
    /// The key that created the job.
    pub key_id: Id,
    /// The model.
    pub tier: TierWord,
    /// With input images or without.
    pub mode: ModeWord,
    /// The requested aspect ratio.
    pub aspect_ratio: AspectWord,
    /// The aspect ratio, with `auto` resolved.
    pub ratio: RatioWord,
    /// The resolution.
    pub resolution: ResolutionWord,
    /// The price, fixed when the job was accepted.
    pub price: Money,
    /// The prompt. `null` if it was erased, or too long for the record and its object is gone. In a list also if the object store does not answer.
    pub prompt: Option<String>,
    /// The metadata of the request. `null` if there was none, or `prompt` is `null`.
    #[schemars(with = "Option<Metadata>")]
    pub metadata: Option<Box<RawValue>>,
    /// The URL of the webhook that the request named, or `null`.
    pub callback_url: Option<Cow<'a, str>>,
    /// The API that created the job.
    pub origin: OriginWord,
    /// The batch of the job, or `null`.
    pub batch_id: Option<Id>,
    /// In a batch: the caller's id of the request, or its position. Otherwise `null`.
    pub custom_id: Option<String>,
    /// The input images.
    pub inputs: Vec<InputImage>,
    /// The image of a job that is done, or `null`.
    pub picture: Option<Picture>,
    /// Only for the operator, for a failed job: the last error of each backend that tried it. Kept for the newest 1,000 failed jobs until a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<BackendError>,
    /// Only for the operator: whether the image was deleted on demand. Absent if not.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub image_deleted: bool,
    /// Only for the operator: whether the content was erased. Absent if not.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub erased: bool,
    /// Only for the operator: what was refunded of the charge. Absent if nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Money")]
    pub refunded: Option<Money>,
}

/// An input image, without its content.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct InputImage {
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The width, in pixels. 0 if unknown.
    pub width: u32,
    /// The height, in pixels. 0 if unknown.
    pub height: u32,
}

/// The size of a generated image.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The width, in pixels.
    pub width: u32,
    /// The height, in pixels.
    pub height: u32,
    /// Only for the operator: the name of the backend that generated the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub backend: Option<String>,
}

impl<'a> JobRecord<'a> {
    /// `image_url` is a fresh download URL of a finished image, `waiting` the position of a queued job.
    pub fn new(
        job: &'a job::Job,
        text: Option<PromptText>,
        image_url: Option<String>,
        waiting: Option<Waiting>,
    ) -> Self {
        let (prompt, metadata) = text.map_or((None, None), |it| (Some(it.prompt), it.metadata));
        let input = |it: &job::InputImage| InputImage {
            bytes: it.bytes,
            width: it.width,
            height: it.height,
        };
        Self {
            account_id: job.account.into(),
            key_id: job.key.into(),
            tier: job.tier.as_str().into(),
            mode: job.mode.as_str().into(),
            aspect_ratio: match job.aspect {
                AspectChoice::Auto => "auto".into(),
                AspectChoice::Fixed(ratio) => ratio.into(),
            },
            ratio: job.ratio.as_str().into(),
            resolution: job.resolution.as_str().into(),
            price: job.price.into(),
            // No request has an empty prompt.
            prompt: prompt.filter(|it| !it.is_empty()),
            // Stored metadata is valid JSON. If it is not, the response omits it.
            metadata: metadata.and_then(|text| RawValue::from_string(text).ok()),
            callback_url: job.callback.as_ref().and_then(|it| Some(it.url()?.into())),
            origin: match job.origin {
                Origin::Native => "native".into(),
                Origin::Synchronous => "synchronous".into(),
                Origin::Batch(_) => "batch".into(),
                Origin::Background => "background".into(),
            },
            batch_id: job.member().map(|it| it.batch.into()),
            custom_id: job.member().map(BatchMember::custom_id),
            inputs: job.inputs.iter().map(input).collect(),
            picture: job.result_image().map(|it| Picture {
                bytes: it.bytes,
                width: it.width,
                height: it.height,
                backend: None,
            }),
            job: Job::new(job, image_url, waiting),
            causes: Vec::new(),
            image_deleted: false,
            erased: false,
            refunded: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn the_json_of_a_new_job_is_that_of_its_type() {
        let id = JobId(Uuid::from_u128(0x0189_0a5d_ac96_774b_bcce_b302_099a_8057));
        let created = CreatedJob {
            job_id: id.into(),
            status: "queued".into(),
            status_url: CreatedJob::path(id).into(),
        };
        assert_eq!(
            CreatedJob::json(id),
            serde_json::to_string(&created).unwrap()
        );
        assert_eq!(&*created.status_url, format!("/api/v1/jobs/{id}"));
    }
}
