//! Jobs: as a creation, the lookup and the lists answer them, and with all that is on record.

use crate::schema::{Count, Metadata};
use crate::stats::BackendError;
use crate::text::{
    AspectWord, Id, JobStatus, ModeWord, Moment, Money, OriginWord, Queued, RatioWord,
    ResolutionWord, TierWord, Url, UrlPath,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use tintype_storage::domain::aspect_ratio::AspectChoice;
use tintype_storage::domain::batch_member::BatchMember;
use tintype_storage::domain::job::{self, JobState, Origin, PromptText};
use tintype_storage::domain::time::Timestamp;

/// A job that has been accepted.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CreatedJob {
    /// The job's id.
    pub job_id: Id,
    /// Always `queued`.
    pub status: Queued,
    /// The path to poll.
    pub status_url: UrlPath,
}

/// What a call would make and cost.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Estimate {
    /// What would be held.
    pub price: Money,
    /// The model.
    pub tier: TierWord,
    /// With input images or without.
    pub mode: ModeWord,
    /// The shape that would be made: `auto` has been worked out.
    pub aspect_ratio: RatioWord,
    /// The size that would be made.
    pub resolution: ResolutionWord,
    /// What the account can spend now.
    pub available: Money,
}

/// A job as the lookup tells it. Every field is always there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Job<'a> {
    /// The job's id.
    pub job_id: Id,
    /// Where it is in its life: the last two are the ends.
    pub status: JobStatus,
    /// When it was accepted.
    pub created_at: Moment,
    /// When its processing began.
    pub started_at: Option<Moment>,
    /// When it ended.
    pub finished_at: Option<Moment>,
    /// Only of a job that is done.
    pub result: Option<JobResult>,
    /// Only of a job that failed: why.
    pub error: Option<Cow<'a, str>>,
    /// Only of a queued job: 1 for the one that begins next.
    #[schemars(with = "Option<Count>")]
    pub queue_position: Option<usize>,
    /// Only of a queued job: when it will begin, by how many have begun in the last minutes; `null` without data.
    pub estimated_start_at: Option<Moment>,
}

/// The place of a queued job.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// 1 for the one that begins next.
    pub position: usize,
    /// When it will begin; `None` without data.
    pub starts_at: Option<Timestamp>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct JobResult {
    /// Where the picture is fetched from: signed, and made anew by each lookup.
    pub image_url: Url,
}

impl<'a> Job<'a> {
    /// A job with the fresh download URL of its picture, where it has one, and its place in the queue, where it has one.
    pub fn new(job: &'a job::Job, image_url: Option<String>, waiting: Option<Waiting>) -> Self {
        let (started_at, finished_at, error) = match &job.state {
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
            } => (*started_at, Some(*finished_at), Some(error.as_str())),
        };
        Self {
            job_id: job.id.into(),
            status: job.state.word().into(),
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

/// A job as the list tells it: with what lists are filtered by.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ListedJob<'a> {
    #[serde(flatten)]
    job: Job<'a>,
    /// The model.
    tier: TierWord,
    /// With input images or without.
    mode: ModeWord,
    /// The shape: `auto` has been worked out.
    aspect_ratio: RatioWord,
    /// The size.
    resolution: ResolutionWord,
    /// What it costs, fixed when it was accepted.
    price: Money,
    /// The key that asked for it.
    key_id: Id,
    /// The batch that it belongs to.
    batch_id: Option<Id>,
    /// Only of a job of a batch: the caller's name for its request, or its position.
    custom_id: Option<String>,
}

impl<'a> ListedJob<'a> {
    /// A job with its form in the lookup.
    pub fn new(job: &'a job::Job, looked_up: Job<'a>) -> Self {
        Self {
            job: looked_up,
            tier: job.tier.word().into(),
            mode: job.mode.word().into(),
            aspect_ratio: job.ratio.into(),
            resolution: job.resolution.word().into(),
            price: job.price.into(),
            key_id: job.key.into(),
            batch_id: job.member().map(|it| it.batch.into()),
            custom_id: job.member().map(BatchMember::custom_id),
        }
    }
}

/// A job as its keepers see it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct JobRecord<'a> {
    #[serde(flatten)]
    pub job: Job<'a>,
    /// Whose it is.
    pub account_id: Id,
    /// The key that asked for it.
    pub key_id: Id,
    /// The model.
    pub tier: TierWord,
    /// With input images or without.
    pub mode: ModeWord,
    /// The shape that was asked for.
    pub aspect_ratio: AspectWord,
    /// The shape that it came to, where `auto` was asked for.
    pub ratio: RatioWord,
    /// The size.
    pub resolution: ResolutionWord,
    /// What it costs, fixed when it was accepted.
    pub price: Money,
    /// `null` where it was too long for the record and its object is gone; in a list also where the object store does not answer.
    pub prompt: Option<String>,
    /// As the caller sent it; `null` where there was none, and with a `prompt` that is `null`.
    #[schemars(with = "Option<Metadata>")]
    pub metadata: Option<Box<RawValue>>,
    /// The webhook that the caller chose.
    pub callback_url: Option<Cow<'a, str>>,
    /// The interface that it came by.
    pub origin: OriginWord,
    /// The batch that it belongs to.
    pub batch_id: Option<Id>,
    /// Only of a job of a batch: the caller's name for its request, or its position.
    pub custom_id: Option<String>,
    /// The input images.
    pub inputs: Vec<InputImage>,
    /// Only of a job that is done.
    pub picture: Option<Picture>,
    /// Only of a failed job that the operator looks up: the last error of each back end that it was tried on. Kept for the newest
    /// 1,000 failed jobs, until the service restarts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<BackendError>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct InputImage {
    #[schemars(with = "Count")]
    pub bytes: u64,
    /// In pixels; 0 where it is not known.
    #[schemars(with = "Count")]
    pub width: u32,
    /// In pixels; 0 where it is not known.
    #[schemars(with = "Count")]
    pub height: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Picture {
    #[schemars(with = "Count")]
    pub bytes: u64,
    /// In pixels.
    #[schemars(with = "Count")]
    pub width: u32,
    /// In pixels.
    #[schemars(with = "Count")]
    pub height: u32,
    /// Only for the operator: the name of the back end that made it; not known of images that were made before it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub backend: Option<String>,
}

impl<'a> JobRecord<'a> {
    /// A job with the text of its prompt, the fresh download URL of its picture and its place in the queue, where it has them.
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
            tier: job.tier.word().into(),
            mode: job.mode.word().into(),
            aspect_ratio: match job.aspect {
                AspectChoice::Auto => "auto".into(),
                AspectChoice::Fixed(ratio) => ratio.into(),
            },
            ratio: job.ratio.into(),
            resolution: job.resolution.word().into(),
            price: job.price.into(),
            prompt,
            // Stored metadata is well-formed. If it were not, none is better than a part of it.
            metadata: metadata.and_then(|text| RawValue::from_string(text).ok()),
            callback_url: job.callback.as_ref().map(|it| it.url.as_str().into()),
            origin: match job.origin {
                Origin::Native => "native".into(),
                Origin::Synchronous => "synchronous".into(),
                Origin::Batch(_) => "batch".into(),
            },
            batch_id: job.member().map(|it| it.batch.into()),
            custom_id: job.member().map(BatchMember::custom_id),
            inputs: job.inputs.iter().map(input).collect(),
            picture: job.picture().map(|it| Picture {
                bytes: it.bytes,
                width: it.width,
                height: it.height,
                backend: None,
            }),
            job: Job::new(job, image_url, waiting),
            causes: Vec::new(),
        }
    }
}
