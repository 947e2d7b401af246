//! What was refunded of the charges of jobs.

use super::tables::{ACCOUNT_REFUNDS, JOB_REFUNDS};
use super::{All, Store, StoreError};
use crate::domain::amount::Amount;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;
use crate::engine::Direction;

impl Store {
    /// What was refunded of the charge of a job; `None` if nothing was.
    pub async fn refund_of(
        &self,
        account: AccountId,
        job: JobId,
    ) -> Result<Option<Amount>, StoreError> {
        JOB_REFUNDS.get(self, &(account, job)).await
    }

    /// What is left to refund of the price of a job.
    pub async fn refundable(&self, job: &Job) -> Result<Amount, StoreError> {
        let refunded = self.refund_of(job.account, job.id).await?;
        let left = job.price.minus(refunded.unwrap_or_default());
        Ok(left.unwrap_or_default())
    }

    /// The refunds of each account that has any, also of deleted jobs.
    pub async fn each_account_refunds(
        &self,
        mut visit: impl FnMut(Amount),
    ) -> Result<(), StoreError> {
        let each = ACCOUNT_REFUNDS.each(self, &All, |_, refunded| {
            visit(refunded);
            Ok(())
        });
        each.await
    }

    /// The jobs from `first` to `last` that were refunded, also in part.
    pub(super) async fn refunded_jobs_of(
        &self,
        account: AccountId,
        first: JobId,
        last: JobId,
    ) -> Result<Vec<JobId>, StoreError> {
        let (from, below) = ((account, first), (account, last.next()));
        let range = JOB_REFUNDS.between(&account, Some(from), Some(below));
        let found = JOB_REFUNDS.scan(self, &range, Direction::Rising, usize::MAX);
        Ok(found.await?.into_iter().map(|((_, job), _)| job).collect())
    }
}
