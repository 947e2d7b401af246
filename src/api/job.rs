//! Answers of the native interface.

use super::kinds;
use schemars::JsonSchema;
use serde::Serialize;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::job::{Job, JobState};

/// A job that has been accepted.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CreatedJob", deny_unknown_fields)]
pub struct Created {
    /// The job's id.
    #[schemars(with = "kinds::Id")]
    pub job_id: String,
    /// Always `queued`.
    #[schemars(with = "kinds::Queued")]
    pub status: &'static str,
    /// The path to poll.
    #[schemars(with = "kinds::PathText")]
    pub status_url: String,
}

/// What a call would make and cost.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Estimate {
    /// What would be held.
    #[schemars(with = "kinds::Money")]
    pub price: String,
    /// The model.
    #[schemars(with = "kinds::TierWord")]
    pub tier: &'static str,
    /// With input images or without.
    #[schemars(with = "kinds::ModeWord")]
    pub mode: &'static str,
    /// The shape that would be made: `auto` has been worked out.
    #[schemars(with = "kinds::RatioWord")]
    pub aspect_ratio: String,
    /// The size that would be made.
    #[schemars(with = "kinds::ResolutionWord")]
    pub resolution: &'static str,
    /// What the account can spend now.
    #[schemars(with = "kinds::Money")]
    pub available: String,
}

/// A job as the lookup tells it. Every field is always there.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Job", deny_unknown_fields)]
pub struct JobView<'a> {
    /// The job's id.
    #[schemars(with = "kinds::Id")]
    job_id: String,
    /// Where it is in its life: the last two are the ends.
    #[schemars(with = "kinds::JobStatus")]
    status: &'static str,
    /// When it was accepted.
    #[schemars(with = "kinds::Moment")]
    created_at: String,
    /// When its processing began.
    #[schemars(with = "Option<kinds::Moment>")]
    started_at: Option<String>,
    /// When it ended.
    #[schemars(with = "Option<kinds::Moment>")]
    finished_at: Option<String>,
    /// Only of a job that is done.
    result: Option<ResultView>,
    /// Only of a job that failed: why.
    error: Option<&'a str>,
    /// Only of a queued job: 1 for the one that begins next.
    #[schemars(with = "Option<kinds::Count>")]
    queue_position: Option<usize>,
}

/// A job as the list tells it: with what lists are filtered by.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListedJob", deny_unknown_fields)]
pub struct ListedJob<'a> {
    #[serde(flatten)]
    job: JobView<'a>,
    /// The model.
    #[schemars(with = "kinds::TierWord")]
    tier: &'static str,
    /// With input images or without.
    #[schemars(with = "kinds::ModeWord")]
    mode: &'static str,
    /// The shape: `auto` has been worked out.
    #[schemars(with = "kinds::RatioWord")]
    aspect_ratio: String,
    /// The size.
    #[schemars(with = "kinds::ResolutionWord")]
    resolution: &'static str,
    /// What it costs, fixed when it was accepted.
    #[schemars(with = "kinds::Money")]
    price: String,
    /// The key that asked for it.
    #[schemars(with = "kinds::Id")]
    key_id: String,
}

impl<'a> ListedJob<'a> {
    /// A job with its form in the lookup.
    pub fn new(job: &'a Job, view: JobView<'a>) -> Self {
        Self {
            job: view,
            tier: job.tier.word(),
            mode: job.mode.word(),
            aspect_ratio: job.ratio.to_string(),
            resolution: job.resolution.word(),
            price: job.price.to_string(),
            key_id: job.key.to_string(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobResult", deny_unknown_fields)]
struct ResultView {
    /// Where the picture is fetched from: signed, and made anew by each lookup.
    #[schemars(with = "kinds::Url")]
    image_url: String,
}

impl<'a> JobView<'a> {
    /// A job with the fresh download URL of its picture, where it has one, and its place in the queue, where it has one.
    pub fn new(job: &'a Job, image_url: Option<String>, queue_position: Option<usize>) -> Self {
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
            job_id: job.id.to_string(),
            status: job.state.word(),
            created_at: job.created_at.to_string(),
            started_at: started_at.map(|at| at.to_string()),
            finished_at: finished_at.map(|at| at.to_string()),
            result: image_url.map(|image_url| ResultView { image_url }),
            error,
            queue_position,
        }
    }
}

/// An account's money as its owner sees it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Balance", deny_unknown_fields)]
pub struct BalanceView {
    /// What has been paid in and not been charged.
    #[schemars(with = "kinds::Money")]
    balance: String,
    /// What is held for jobs that are not over.
    #[schemars(with = "kinds::Money")]
    reserved: String,
    /// What can be spent now.
    #[schemars(with = "kinds::Money")]
    available: String,
}

impl BalanceView {
    /// All three amounts of one moment.
    pub fn new(account: &Account) -> Self {
        Self {
            balance: account.balances.balance.to_string(),
            reserved: account.balances.reserved.to_string(),
            available: account.balances.available().to_string(),
        }
    }
}
