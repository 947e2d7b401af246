//! What was refunded of the charges of jobs.

use super::tables::{ACCOUNT_REFUNDS, JOB_REFUNDS};
use super::{All, Store, StoreError};
use crate::domain::amount::Amount;
use crate::domain::job::Job;

impl Store {
    /// What is left to refund of the price of a job.
    pub async fn refundable(&self, job: &Job) -> Result<Amount, StoreError> {
        let refunded = JOB_REFUNDS.get(self, &(job.account, job.id)).await?;
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
}
