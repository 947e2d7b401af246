//! What the jobs of one key came to on one day of UTC, in all and by model: what charts of pictures and spending are drawn from.
//!
//! A record for each key and day, changed in the commit that ends a job, so that two weeks of a busy account are read in a
//! few records and not in all of its jobs.

use super::amount::{Amount, AmountError};
use super::job::{Job, JobState};
use super::tier::{Resolution, Tier};
use serde::{Deserialize, Serialize};

/// Jobs that ended, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Jobs that made a picture.
    pub done: u64,
    /// Jobs that did not, the canceled ones included.
    pub failed: u64,
    /// The charges of those that did.
    pub spent: Amount,
}

impl UsageTotals {
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

    /// What is left of these without others that are part of them.
    fn without(self, part: Self) -> Result<Self, AmountError> {
        Ok(Self {
            done: self.done.saturating_sub(part.done),
            failed: self.failed.saturating_sub(part.failed),
            spent: self.spent.minus(part.spent)?,
        })
    }
}

/// Those of one model and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    pub tier: Tier,
    pub resolution: Resolution,
    pub totals: UsageTotals,
}

/// Jobs that ended on one day, and what they cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailyUsage {
    pub done: u64,
    pub failed: u64,
    pub spent: Amount,
    /// In the order of models and sizes. Jobs that were counted before there was a count by model are in none of them.
    #[serde(default)]
    pub models: Vec<ModelUsage>,
}

impl DailyUsage {
    /// Of all models.
    pub fn totals(&self) -> UsageTotals {
        UsageTotals {
            done: self.done,
            failed: self.failed,
            spent: self.spent,
        }
    }

    /// Counts a job, if it has ended. An error leaves everything as it was.
    pub fn count(&mut self, job: &Job) -> Result<(), AmountError> {
        if !job.state.is_terminal() {
            return Ok(());
        }
        let sum = self.totals().with(job)?;
        let (tier, resolution) = (job.tier, job.resolution);
        let found = self
            .models
            .binary_search_by_key(&(tier, resolution), |it| (it.tier, it.resolution));
        match found {
            Ok(at) => self.models[at].totals = self.models[at].totals.with(job)?,
            Err(at) => {
                let totals = UsageTotals::default().with(job)?;
                let model = ModelUsage {
                    tier,
                    resolution,
                    totals,
                };
                self.models.insert(at, model);
            }
        }
        (self.done, self.failed, self.spent) = (sum.done, sum.failed, sum.spent);
        Ok(())
    }

    /// The jobs that were counted before there was a count by model.
    pub fn without_model(&self) -> Result<UsageTotals, AmountError> {
        let mut models = self.models.iter();
        models.try_fold(self.totals(), |rest, model| rest.without(model.totals))
    }
}
