//! A job's life cycle as one total function.

use super::amount::Amount;
use super::aspect_ratio::{AspectChoice, AspectRatio};
use super::batch_member::{BatchMember, InputUrls};
use super::ids::{AccountId, JobId, KeyId};
use super::image_options::ImageOptions;
use super::named_enum::named_enum;
use super::tier::{Mode, Resolution, Tier};
use super::time::Timestamp;
use super::webhook::WebhookId;
use serde::{Deserialize, Serialize};

/// The `error` of a canceled job.
pub const CANCELED: &str = "canceled";
/// The `error` of a job that was canceled because no caller waits for it any more.
pub const ABANDONED: &str = "canceled because its caller disconnected";
/// The `error` of a job that did not start before its caller's deadline.
pub const EXPIRED: &str = "expired before it started";
/// The `error` of a job whose caller waited on a connection while no backend of its model was in service.
pub const UNSERVED: &str =
    "canceled because no backend of its model was in service; send the request again later";
/// The `error` of a job that used up its runs on restarts.
pub const INTERRUPTED: &str = "interrupted";
/// The `error` of a failed job whose content was erased, instead of what a backend or a host answered. Also the name of erased keys.
pub const ERASED: &str = "erased";
/// Errors that quote nothing. An erased job keeps them.
const FIXED_ERRORS: [&str; 5] = [CANCELED, ABANDONED, EXPIRED, UNSERVED, INTERRUPTED];
/// Longer errors are truncated.
const MAX_ERROR_CHARS: usize = 500;

/// One accepted generation request.
///
/// `S` is the type of its texts. A reader of many records uses `&str`, which copies none of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job<S = String> {
    /// Sorts by time of acceptance.
    pub id: JobId,
    pub account: AccountId,
    pub key: KeyId,
    pub tier: Tier,
    pub mode: Mode,
    /// As requested.
    pub aspect: AspectChoice,
    /// The ratio to generate.
    pub ratio: AspectRatio,
    pub resolution: Resolution,
    pub prompt: PromptRef<S>,
    /// The webhook that the caller named for the event.
    pub callback: Option<Callback<S>>,
    pub origin: Origin<S>,
    /// In the order given.
    pub inputs: Vec<InputImage<S>>,
    /// Fixed at acceptance; later configuration does not change it.
    pub price: Amount,
    pub created_at: Timestamp,
    pub state: JobState<S>,
    pub options: Option<ImageOptions>,
}

impl<S> Job<S> {
    pub fn options(&self) -> ImageOptions {
        self.options.unwrap_or_default()
    }

    pub fn member(&self) -> Option<&BatchMember<S>> {
        match &self.origin {
            Origin::Batch(member) => Some(member),
            Origin::Native | Origin::Synchronous | Origin::Background => None,
        }
    }

    /// The URLs of the input images, if they are not fetched yet.
    pub fn input_urls(&self) -> Option<&InputUrls<S>> {
        let urls = &self.member()?.input_urls;
        (self.inputs.is_empty() && !urls.is_empty()).then_some(urls)
    }

    pub fn result_image(&self) -> Option<&ResultImage<S>> {
        match &self.state {
            JobState::Done { image, .. } => Some(image),
            JobState::Queued | JobState::Processing { .. } | JobState::Failed { .. } => None,
        }
    }
}

impl Job {
    /// The job without the texts of its caller, of backends and of hosts. What the ledger, the daily usage and verification need stays.
    pub fn erased(&self) -> Self {
        let mut job = self.clone();
        job.prompt = PromptRef::Inline(PromptText::default());
        job.callback = job.callback.as_ref().map(Callback::erased);
        if let Origin::Batch(member) = &mut job.origin {
            member.custom_id = None;
            member.input_urls = InputUrls::Inline(Vec::new());
        }
        if let JobState::Failed { error, .. } = &mut job.state
            && !FIXED_ERRORS.contains(&error.as_str())
        {
            *error = ERASED.into();
        }
        job
    }

    /// Was the content erased? No request has an empty prompt.
    pub fn is_erased(&self) -> bool {
        matches!(&self.prompt, PromptRef::Inline(text) if text.prompt.is_empty())
    }

    /// May a repeated call with the same idempotency key create a new job? Yes if a synchronous job failed for a reason that is
    /// neither the request's nor a backend's answer to it. Other calls were answered with the job itself.
    pub fn frees_idempotency_key(&self) -> bool {
        let JobState::Failed { kind, .. } = &self.state else {
            return false;
        };
        let may_retry = match kind {
            FailureKind::Unavailable
            | FailureKind::TimedOut
            | FailureKind::Canceled
            | FailureKind::Interrupted => true,
            FailureKind::Refused | FailureKind::Blocked | FailureKind::Broken => false,
        };
        self.origin == Origin::Synchronous && may_retry
    }
}

/// The text of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PromptRef<S = String> {
    Inline(PromptText<S>),
    /// Too large for a record: the object store holds an encoded [`PromptText`] under this key.
    Stored(S),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptText<S = String> {
    pub prompt: S,
    /// The caller's object as compact JSON, `_` keys included.
    pub metadata: Option<S>,
}

/// The webhook that a caller named by its URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback<S = String> {
    /// The webhook's id when the job was accepted.
    pub webhook: WebhookId,
    /// Exactly as the caller wrote it. Empty after an erasure: then it differs from the URL of every webhook.
    pub url: S,
}

impl Callback {
    /// The callback without its URL. A webhook that gets another URL still receives nothing for the job.
    pub fn erased(&self) -> Self {
        Self {
            url: String::new(),
            ..self.clone()
        }
    }

    /// The URL, unless it was erased.
    pub fn url(&self) -> Option<&str> {
        (!self.url.is_empty()).then_some(&*self.url)
    }
}

/// The interface that accepted a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin<S = String> {
    /// Native: a webhook reports the end.
    Native,
    /// Synchronous: the caller waits, and no webhook is called.
    Synchronous,
    /// Batch: a webhook reports the end of the whole batch.
    Batch(Box<BatchMember<S>>),
    /// In the background of a synchronous interface: the caller looks the job up, and no webhook is called.
    Background,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputImage<S = String> {
    /// The object store's key.
    pub key: S,
    pub bytes: u64,
    /// Pixels, after EXIF orientation.
    pub width: u32,
    /// Pixels, after EXIF orientation.
    pub height: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultImage<S = String> {
    /// The object store's key.
    pub key: S,
    pub bytes: u64,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// The configured name of the backend that generated the image.
    pub backend: Option<S>,
}

/// Each state holds only its own data, so an impossible job cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState<S = String> {
    Queued,
    /// Running, or waiting to run again after a restart.
    Processing {
        /// When the first run started.
        started_at: Timestamp,
        /// Runs started, except those that an orderly shutdown interrupted.
        runs: u32,
    },
    /// An image exists and is paid.
    Done {
        /// When the first run started.
        started_at: Timestamp,
        /// When the image was stored.
        finished_at: Timestamp,
        image: ResultImage<S>,
    },
    /// No image, and no charge.
    Failed {
        /// When the first run started; `None` if the job never started.
        started_at: Option<Timestamp>,
        finished_at: Timestamp,
        /// A sentence in plain ASCII that the caller can act on.
        error: S,
        kind: FailureKind,
    },
}

named_enum!(
    /// A [`JobState`] without its data.
    JobStatus {
        Queued = "queued",
        Processing = "processing",
        Done = "done",
        Failed = "failed",
    }
);

impl<S> JobState<S> {
    pub fn status(&self) -> JobStatus {
        match self {
            Self::Queued => JobStatus::Queued,
            Self::Processing { .. } => JobStatus::Processing,
            Self::Done { .. } => JobStatus::Done,
            Self::Failed { .. } => JobStatus::Failed,
        }
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &'static str {
        self.status().as_str()
    }

    pub fn finished_at(&self) -> Option<Timestamp> {
        match self {
            Self::Queued | Self::Processing { .. } => None,
            Self::Done { finished_at, .. } | Self::Failed { finished_at, .. } => Some(*finished_at),
        }
    }

    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Queued | Self::Processing { .. } => false,
            Self::Done { .. } | Self::Failed { .. } => true,
        }
    }
}

impl JobState {
    /// Was the job canceled because its caller disconnected? The record of a failure has no kind for it, but a fixed text.
    pub fn is_abandoned(&self) -> bool {
        matches!(self, Self::Failed { error, .. } if error == ABANDONED)
    }
}

named_enum!(
    /// The kind of failure, for programs; `error` is for people.
    FailureKind {
        /// The request is invalid.
        Refused = "refused",
        /// The prompt or the image was blocked for safety.
        Blocked = "blocked",
        /// No backend was reachable or free, or the service's own storage failed.
        Unavailable = "unavailable",
        /// A backend, or the whole run, took too long.
        TimedOut = "timed_out",
        /// A backend returned an unusable response.
        Broken = "broken",
        /// The caller canceled the job, or its start deadline passed.
        Canceled = "canceled",
        /// Restarts interrupted every run.
        Interrupted = "interrupted",
    }
);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// A run starts: the first, or one after a restart. A run beyond `max_runs` does not start.
    Begin { max_runs: u32 },
    /// The input images of a batch job were fetched.
    InputsFetched {
        inputs: Vec<InputImage>,
        /// The ratio to generate; `auto` takes the first image's.
        ratio: AspectRatio,
    },
    /// An orderly shutdown interrupted a run.
    CutOff,
    /// An image exists.
    Finish { image: ResultImage },
    /// A run ended without an image.
    Fail { error: String, kind: FailureKind },
    /// The caller canceled the job.
    Cancel,
    /// The caller's connection is lost.
    Abandon,
    /// The caller waits on a connection, and no backend of the model is in service.
    Unserved,
    /// The start deadline passed, which was at `due`.
    Expire { due: Timestamp },
}

/// What happens to the reserved price of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoneyStep {
    /// The price stays reserved.
    Keep,
    /// The price is charged.
    Settle,
    /// The price is released.
    Release,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub job: Job,
    pub money: MoneyStep,
}

/// Why an event does not apply. The job stays unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    #[error("the job has not been started")]
    NotStarted,
    #[error("the job is being processed and can no longer be canceled")]
    AlreadyStarted,
    #[error("the job is already {0}")]
    AlreadyTerminal(&'static str),
}

/// Total: every state meets every event.
pub fn transition(job: &Job, event: JobEvent, at: Timestamp) -> Result<Step, TransitionError> {
    let mut job = job.clone();
    let state = match (&job.state, event) {
        (JobState::Queued, JobEvent::Begin { .. }) => JobState::Processing {
            started_at: at.max(job.created_at),
            runs: 1,
        },
        (JobState::Queued, JobEvent::Cancel) => failed_state(
            None,
            at.max(job.created_at),
            CANCELED,
            FailureKind::Canceled,
        ),
        (JobState::Queued, JobEvent::Abandon) => failed_state(
            None,
            at.max(job.created_at),
            ABANDONED,
            FailureKind::Canceled,
        ),
        // The kind of a failure in which no backend was reachable, which it would be if the job had begun.
        (JobState::Queued, JobEvent::Unserved) => failed_state(
            None,
            at.max(job.created_at),
            UNSERVED,
            FailureKind::Unavailable,
        ),
        (JobState::Queued, JobEvent::Expire { .. }) => {
            failed_state(None, at.max(job.created_at), EXPIRED, FailureKind::Canceled)
        }
        (
            JobState::Queued,
            JobEvent::InputsFetched { .. }
            | JobEvent::CutOff
            | JobEvent::Finish { .. }
            | JobEvent::Fail { .. },
        ) => return Err(TransitionError::NotStarted),
        (JobState::Processing { started_at, runs }, JobEvent::Begin { max_runs }) => {
            if *runs < max_runs {
                JobState::Processing {
                    started_at: *started_at,
                    runs: runs + 1,
                }
            } else {
                failed_state(Some(*started_at), at, INTERRUPTED, FailureKind::Interrupted)
            }
        }
        (state @ JobState::Processing { .. }, JobEvent::InputsFetched { inputs, ratio }) => {
            let state = state.clone();
            (job.inputs, job.ratio) = (inputs, ratio);
            state
        }
        (JobState::Processing { started_at, runs }, JobEvent::CutOff) => JobState::Processing {
            started_at: *started_at,
            runs: runs.saturating_sub(1),
        },
        (JobState::Processing { started_at, .. }, JobEvent::Finish { image }) => JobState::Done {
            started_at: *started_at,
            finished_at: at.max(*started_at),
            image,
        },
        (JobState::Processing { started_at, .. }, JobEvent::Fail { error, kind }) => {
            failed_state(Some(*started_at), at, &error, kind)
        }
        (
            JobState::Processing { .. },
            JobEvent::Cancel | JobEvent::Abandon | JobEvent::Unserved | JobEvent::Expire { .. },
        ) => {
            return Err(TransitionError::AlreadyStarted);
        }
        (state @ (JobState::Done { .. } | JobState::Failed { .. }), _) => {
            return Err(TransitionError::AlreadyTerminal(state.as_str()));
        }
    };
    let money = match state {
        JobState::Queued | JobState::Processing { .. } => MoneyStep::Keep,
        JobState::Done { .. } => MoneyStep::Settle,
        JobState::Failed { .. } => MoneyStep::Release,
    };
    Ok(Step {
        job: Job { state, ..job },
        money,
    })
}

fn failed_state(
    started_at: Option<Timestamp>,
    at: Timestamp,
    error: &str,
    kind: FailureKind,
) -> JobState {
    let plain = |c: char| {
        if c == ' ' || c.is_ascii_graphic() {
            c
        } else {
            '?'
        }
    };
    let error = error.chars().take(MAX_ERROR_CHARS).map(plain).collect();
    JobState::Failed {
        started_at,
        finished_at: started_at.map_or(at, |start| at.max(start)),
        error,
        kind,
    }
}

#[cfg(test)]
mod tests;
