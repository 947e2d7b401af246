//! What the jobs of one key came to on one day of UTC: what charts of pictures and spending are drawn from.
//!
//! A record for each key and day, changed in the commit that ends a job, so that two weeks of a busy account are read in a
//! few records and not in all of its jobs.

use super::amount::{Amount, AmountError};
use super::job::{Job, JobState};
use serde::{Deserialize, Serialize};

/// Jobs that ended on one day, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailyUsage {
    /// Jobs that made a picture.
    pub done: u64,
    /// Jobs that did not, the canceled ones included.
    pub failed: u64,
    /// The charges of those that did.
    pub spent: Amount,
}

impl DailyUsage {
    /// With one more picture at this price.
    fn with_done(self, price: Amount) -> Result<Self, AmountError> {
        Ok(Self {
            done: self.done.saturating_add(1),
            spent: self.spent.plus(price)?,
            ..self
        })
    }

    /// With one more job that made none.
    fn with_failed(self) -> Self {
        Self {
            failed: self.failed.saturating_add(1),
            ..self
        }
    }

    /// With a job, if it has ended.
    pub fn with(self, job: &Job) -> Result<Self, AmountError> {
        match job.state {
            JobState::Done { .. } => self.with_done(job.price),
            JobState::Failed { .. } => Ok(self.with_failed()),
            JobState::Queued | JobState::Processing { .. } => Ok(self),
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Result<Self, AmountError> {
        Ok(Self {
            done: self.done.saturating_add(other.done),
            failed: self.failed.saturating_add(other.failed),
            spent: self.spent.plus(other.spent)?,
        })
    }
}
