//! Usage of one key on one UTC day, by model: the source of the usage and spending charts.
//!
//! The commit that ends a job updates the record of its key and day, so two weeks of a busy account are a few records.

use super::amount::{Amount, AmountError};
use super::job::{Job, JobState};
use super::tier::{Resolution, Tier};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Jobs that generated an image.
    pub done: u64,
    /// Includes canceled jobs.
    pub failed: u64,
    /// The charges of the `done` jobs.
    pub spent: Amount,
}

impl UsageTotals {
    fn with_done(self, price: Amount) -> Result<Self, AmountError> {
        Ok(Self {
            done: self.done.saturating_add(1),
            spent: self.spent.plus(price)?,
            ..self
        })
    }

    fn with_failed(self) -> Self {
        Self {
            failed: self.failed.saturating_add(1),
            ..self
        }
    }

    /// Adds a job if it has ended.
    pub fn with(self, job: &Job) -> Result<Self, AmountError> {
        match job.state {
            JobState::Done { .. } => self.with_done(job.price),
            JobState::Failed { .. } => Ok(self.with_failed()),
            JobState::Queued | JobState::Processing { .. } => Ok(self),
        }
    }

    /// Ignores an overflow, which no balance can pay for.
    pub fn add(&mut self, other: Self) {
        if let Ok(spent) = self.spent.plus(other.spent) {
            *self = Self {
                done: self.done.saturating_add(other.done),
                failed: self.failed.saturating_add(other.failed),
                spent,
            };
        }
    }
}

/// The usage of one model and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    pub tier: Tier,
    pub resolution: Resolution,
    pub totals: UsageTotals,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DailyUsage {
    /// Ordered by model and size.
    pub models: Vec<ModelUsage>,
}

impl DailyUsage {
    /// The totals of all models.
    pub fn totals(&self) -> UsageTotals {
        let mut sum = UsageTotals::default();
        self.models.iter().for_each(|it| sum.add(it.totals));
        sum
    }

    /// Counts a job if it has ended. On an error nothing changes.
    pub fn count(&mut self, job: &Job) -> Result<(), AmountError> {
        if !job.state.is_terminal() {
            return Ok(());
        }
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
        Ok(())
    }
}
