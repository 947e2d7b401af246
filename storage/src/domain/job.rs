//! A job's life as one total function.

use super::amount::Amount;
use super::aspect_ratio::{AspectChoice, AspectRatio};
use super::batch_member::{BatchMember, InputUrls};
use super::ids::{AccountId, JobId, KeyId};
use super::tier::{Mode, Resolution, Tier};
use super::time::Timestamp;
use super::webhook::WebhookId;
use serde::{Deserialize, Serialize};

/// The `error` of a canceled job.
pub const CANCELED: &str = "canceled";
/// The `error` of a job that its caller wanted only until a moment before it could begin.
pub const EXPIRED: &str = "expired before it started";
/// The `error` of a job whose every run was cut off.
pub const INTERRUPTED: &str = "interrupted";
/// Characters that an `error` may have; a longer one is cut.
const MAX_ERROR_CHARS: usize = 500;

/// One accepted generation request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its id; sorts by acceptance.
    pub id: JobId,
    pub account: AccountId,
    pub key: KeyId,
    pub tier: Tier,
    /// With input images or without.
    pub mode: Mode,
    /// The shape as it was asked for.
    pub aspect: AspectChoice,
    /// The shape to make.
    pub ratio: AspectRatio,
    /// The size to make.
    pub resolution: Resolution,
    /// What to show.
    #[serde(rename = "brief")]
    pub prompt: PromptRef,
    /// The registered webhook that the event is for, where the caller named one.
    pub callback: Option<Callback>,
    /// Which interface asked for it.
    pub origin: Origin,
    /// The input images, in the order given.
    pub inputs: Vec<InputImage>,
    /// Fixed at acceptance, whatever the configuration says later.
    pub price: Amount,
    pub created_at: Timestamp,
    pub state: JobState,
}

impl Job {
    /// Its place in its batch, if it has one.
    pub fn member(&self) -> Option<&BatchMember> {
        match &self.origin {
            Origin::Batch(member) => Some(member),
            Origin::Native | Origin::Synchronous => None,
        }
    }

    /// The URLs of its input images, where they have not been fetched yet.
    pub fn input_urls(&self) -> Option<&InputUrls> {
        let urls = &self.member()?.input_urls;
        (self.inputs.is_empty() && !urls.is_empty()).then_some(urls)
    }

    /// The picture of a done job.
    pub fn picture(&self) -> Option<&ResultImage> {
        match &self.state {
            JobState::Done { image, .. } => Some(image),
            JobState::Queued | JobState::Processing { .. } | JobState::Failed { .. } => None,
        }
    }

    /// Did a caller who waited for it get no answer that a repeat would find again? Then a repeated call makes a new job. What the request itself is at fault for, or a back end made of it, is an answer; and a job of the native
    /// interface was itself the answer.
    pub fn came_to_nothing(&self) -> bool {
        let JobState::Failed { kind, .. } = &self.state else {
            return false;
        };
        let is_no_answer = match kind {
            FailureKind::Unavailable
            | FailureKind::TimedOut
            | FailureKind::Canceled
            | FailureKind::Interrupted => true,
            FailureKind::Refused | FailureKind::Blocked | FailureKind::Broken => false,
        };
        self.origin == Origin::Synchronous && is_no_answer
    }
}

/// The words of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PromptRef {
    /// In the record itself.
    Inline(PromptText),
    /// Too large for a record: in the object store under this key, encoded as [`Words`].
    Stored(String),
}

/// Prompt and metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptText {
    pub prompt: String,
    /// The caller's object as compact JSON, `_` keys included.
    pub metadata: Option<String>,
}

/// The webhook that a caller named by its URL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    /// As it was registered when the job was accepted.
    pub webhook: WebhookId,
    /// Its URL, character for character.
    pub url: String,
}

/// The interface that a job came through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// The native one: a webhook reports the end.
    Native,
    /// The synchronous one: the caller waits, so no webhook is called.
    Synchronous,
    /// A batch: a webhook reports the end of the whole batch.
    Batch(Box<BatchMember>),
}

/// An input image in the object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputImage {
    /// In the object store.
    pub key: String,
    pub bytes: u64,
    /// Pixels, after EXIF orientation.
    pub width: u32,
    /// Pixels, after EXIF orientation.
    pub height: u32,
}

/// A finished picture in the object store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultImage {
    /// In the object store.
    pub key: String,
    pub bytes: u64,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// The operator's name for the back end that made it.
    #[serde(default)]
    pub backend: Option<String>,
}

/// Where a job stands, with what is known only there: an impossible job cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// Waiting.
    Queued,
    /// Being generated, or to be generated again after a restart.
    Processing {
        /// When the first run began.
        started_at: Timestamp,
        /// Runs begun and not cut off by an orderly stop.
        runs: u32,
    },
    /// A picture exists and has been paid.
    Done {
        /// When the first run began.
        started_at: Timestamp,
        /// When the picture was there.
        finished_at: Timestamp,
        image: ResultImage,
    },
    /// No picture, and nothing paid.
    Failed {
        /// When the first run began; `None` when it was canceled before.
        started_at: Option<Timestamp>,
        finished_at: Timestamp,
        /// A sentence in plain ASCII that the caller can act on.
        error: String,
        /// The kind of failure that the sentence tells of.
        kind: FailureKind,
    },
}

impl JobState {
    /// The word on the wire.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Processing { .. } => "processing",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
        }
    }

    /// When it ended, if it has.
    pub fn finished_at(&self) -> Option<Timestamp> {
        match self {
            Self::Queued | Self::Processing { .. } => None,
            Self::Done { finished_at, .. } | Self::Failed { finished_at, .. } => Some(*finished_at),
        }
    }

    /// Done or failed?
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Queued | Self::Processing { .. } => false,
            Self::Done { .. } | Self::Failed { .. } => true,
        }
    }
}

/// The kind of failure, for programs; the `error` is a sentence for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The request itself is at fault.
    Refused,
    /// The prompt or the picture was blocked for safety.
    Blocked,
    /// No back end could be reached, or none had room; or what the service keeps could not be read or written.
    Unavailable,
    /// A back end, or the run as a whole, took too long.
    TimedOut,
    /// A back end gave something that is of no use.
    Broken,
    /// The caller wanted it no more, or not so late.
    Canceled,
    /// Every run was cut off.
    Interrupted,
}

/// What can happen to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// A run begins: the first one, or one after a restart. The run after `max_runs` is not begun.
    Begin {
        /// Runs that a job may have in all.
        max_runs: u32,
    },
    /// The input images of a job of a batch were fetched.
    InputsFetched {
        inputs: Vec<InputImage>,
        /// The shape to make, which may be that of the first image.
        ratio: AspectRatio,
    },
    /// An orderly stop ended a run before it was through.
    CutOff,
    /// A picture exists.
    Finish { image: ResultImage },
    /// A run ended without a picture.
    Fail {
        error: String,
        /// Which kind of failure that is.
        kind: FailureKind,
    },
    /// The caller wants it no more.
    Cancel,
    /// The time is up until which the caller wanted it to begin.
    Expire,
}

/// What happens to the price that is held for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoneyStep {
    /// It stays held.
    Keep,
    /// It is charged.
    Settle,
    /// It is given back.
    Release,
}

/// The outcome of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The job as it is now.
    pub job: Job,
    /// What happens to its price.
    pub money: MoneyStep,
}

/// Why an event does not apply. The job is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransitionError {
    /// No run is on its way.
    #[error("the job has not been started")]
    NotStarted,
    /// A run is on its way, so the job cannot be canceled.
    #[error("the job is being processed and can no longer be canceled")]
    AlreadyStarted,
    /// It is over.
    #[error("the job is already {0}")]
    AlreadyTerminal(&'static str),
}

/// Applies an event. Total: every state meets every event.
pub fn transition(job: &Job, event: JobEvent, at: Timestamp) -> Result<Step, TransitionError> {
    let mut job = job.clone();
    let state = match (&job.state, event) {
        (JobState::Queued, JobEvent::Begin { .. }) => JobState::Processing {
            started_at: at.max(job.created_at),
            runs: 1,
        },
        (JobState::Queued, JobEvent::Cancel) => failed(
            None,
            at.max(job.created_at),
            CANCELED,
            FailureKind::Canceled,
        ),
        (JobState::Queued, JobEvent::Expire) => {
            failed(None, at.max(job.created_at), EXPIRED, FailureKind::Canceled)
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
                failed(Some(*started_at), at, INTERRUPTED, FailureKind::Interrupted)
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
            failed(Some(*started_at), at, &error, kind)
        }
        (JobState::Processing { .. }, JobEvent::Cancel | JobEvent::Expire) => {
            return Err(TransitionError::AlreadyStarted);
        }
        (state @ (JobState::Done { .. } | JobState::Failed { .. }), _) => {
            return Err(TransitionError::AlreadyTerminal(state.word()));
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

fn failed(
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
