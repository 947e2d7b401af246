//! Answers of the native interface.

use serde::Serialize;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::job::{Job, JobState};

/// The 202 of a generation call.
#[derive(Serialize)]
pub struct Created {
    /// The job's id.
    pub job_id: String,
    /// Always `queued`.
    pub status: &'static str,
    /// The path to poll.
    pub status_url: String,
}

/// What a call would make and cost.
#[derive(Serialize)]
pub struct Estimate {
    /// What would be held.
    pub price: String,
    /// The model.
    pub tier: &'static str,
    /// With input images or without.
    pub mode: &'static str,
    /// The shape that would be made: `auto` has been worked out.
    pub aspect_ratio: String,
    /// The size that would be made.
    pub resolution: &'static str,
    /// What the account can spend now.
    pub available: String,
}

/// A job as the lookup tells it. Every field is always there.
#[derive(Serialize)]
pub struct JobView<'a> {
    job_id: String,
    status: &'static str,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
    result: Option<ResultView>,
    error: Option<&'a str>,
    /// Only of a queued job.
    queue_position: Option<usize>,
}

/// A job as the list tells it: with what lists are filtered by.
#[derive(Serialize)]
pub struct ListedJob<'a> {
    #[serde(flatten)]
    job: JobView<'a>,
    tier: &'static str,
    mode: &'static str,
    aspect_ratio: String,
    resolution: &'static str,
    price: String,
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

#[derive(Serialize)]
struct ResultView {
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
#[derive(Serialize)]
pub struct BalanceView {
    balance: String,
    reserved: String,
    available: String,
}

impl BalanceView {
    /// All three amounts of one moment.
    pub fn new(account: &Account) -> Self {
        Self {
            balance: account.books.balance.to_string(),
            reserved: account.books.reserved.to_string(),
            available: account.books.available().to_string(),
        }
    }
}
