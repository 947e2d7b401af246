//! Jobs as they lie in the store: live ones apart from ended ones, so that a restart reads no history.

use super::{Store, StoreError, keys};
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::Job;

impl Store {
    /// A job of an account. A job of another account is not found, in the same time as one that does not exist.
    pub fn job(&self, account: AccountId, id: JobId) -> Result<Option<Job>, StoreError> {
        // Jobs only ever move from live to ended, so looking in this order misses none that is on its way.
        match self.read(&keys::live_job(account, id))? {
            Some(job) => Ok(Some(job)),
            None => self.read(&keys::ended_job(account, id)),
        }
    }

    /// Is there a live record of this job?
    pub fn live_job_exists(&self, account: AccountId, id: JobId) -> Result<bool, StoreError> {
        Ok(self.engine().get(&keys::live_job(account, id))?.is_some())
    }

    /// Visits every job that is not terminal, in the order of account and acceptance.
    pub fn each_live_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::live_jobs(), |_, job| visit(job))
    }

    /// Visits the live jobs of one account.
    pub fn each_live_job_of(
        &self,
        account: AccountId,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::live_jobs_of(account), |_, job| visit(job))
    }

    /// Visits every terminal job.
    pub fn each_ended_job(
        &self,
        mut visit: impl FnMut(Job) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::ended_jobs(), |_, job| visit(job))
    }
}
