//! The first shape of a job's record, which did not say of which kind a failure was.

use crate::domain::amount::Amount;
use crate::domain::aspect_ratio::{AspectChoice, AspectRatio};
use crate::domain::ids::{AccountId, JobId, KeyId};
use crate::domain::job::{
    Brief, CANCELED, Callback, FailureKind, INTERRUPTED, InputImage, Job, JobState, Origin,
    ResultImage,
};
use crate::domain::tier::{Mode, Resolution, Tier};
use crate::domain::time::Timestamp;
use serde::Deserialize;

/// A job as version 1 wrote it.
#[derive(Deserialize)]
pub struct JobV1 {
    id: JobId,
    account: AccountId,
    key: KeyId,
    tier: Tier,
    mode: Mode,
    aspect: AspectChoice,
    ratio: AspectRatio,
    resolution: Resolution,
    brief: Brief,
    callback: Option<Callback>,
    origin: Origin,
    inputs: Vec<InputImage>,
    price: Amount,
    created_at: Timestamp,
    state: StateV1,
}

#[derive(Deserialize)]
enum StateV1 {
    Queued,
    Processing {
        started_at: Timestamp,
        runs: u32,
    },
    Done {
        started_at: Timestamp,
        finished_at: Timestamp,
        image: ResultImage,
    },
    Failed {
        started_at: Option<Timestamp>,
        finished_at: Timestamp,
        error: String,
    },
}

impl From<JobV1> for Job {
    fn from(job: JobV1) -> Self {
        Self {
            id: job.id,
            account: job.account,
            key: job.key,
            tier: job.tier,
            mode: job.mode,
            aspect: job.aspect,
            ratio: job.ratio,
            resolution: job.resolution,
            brief: job.brief,
            callback: job.callback,
            origin: job.origin,
            inputs: job.inputs,
            price: job.price,
            created_at: job.created_at,
            state: job.state.into(),
        }
    }
}

impl From<StateV1> for JobState {
    fn from(state: StateV1) -> Self {
        match state {
            StateV1::Queued => Self::Queued,
            StateV1::Processing { started_at, runs } => Self::Processing { started_at, runs },
            StateV1::Done {
                started_at,
                finished_at,
                image,
            } => Self::Done {
                started_at,
                finished_at,
                image,
            },
            StateV1::Failed {
                started_at,
                finished_at,
                error,
            } => Self::Failed {
                started_at,
                finished_at,
                // Two of the sentences were fixed words; the others may say anything.
                kind: match error.as_str() {
                    CANCELED => FailureKind::Canceled,
                    INTERRUPTED => FailureKind::Interrupted,
                    _ => FailureKind::Unrecorded,
                },
                error,
            },
        }
    }
}
