//! The deadlines for the start of jobs.

use super::{JobStatus, Model};
use std::collections::BTreeMap;
use tintype_storage::domain::ids::{AccountId, JobId};

/// An expired job is failed within this time, in milliseconds.
const LATENESS: i64 = 10_000;

impl Model {
    /// Checks that a deadline is recorded with its job, and deleted only when it is over.
    pub(super) fn expiries_step(&mut self, changed: &BTreeMap<(JobId, i64), Option<AccountId>>) {
        for ((job, due), account) in changed {
            let known = self.jobs.get_mut(job);
            let fits = match (known, account) {
                (Some(known), Some(account)) => {
                    let was_recorded = known.expiry.replace(*due).is_some();
                    let after = self.requests[known.request].cancel_after;
                    let of_request = after.map(|it| known.created_at + it);
                    !was_recorded && known.account == *account && of_request == Some(*due)
                }
                (Some(known), None) => {
                    known.expiry.take() == Some(*due)
                        && *due <= self.clock_high
                        && known.status != JobStatus::Queued
                }
                (None, _) => false,
            };
            if !fits {
                self.fault(format!(
                    "the deadline {due} of job {job} was changed to {account:?}"
                ));
            }
        }
    }

    /// Could a job that is still queued have expired?
    pub(super) fn may_expire(&self, job: JobId) -> bool {
        let known = self.jobs.get(&job);
        known.is_some_and(|it| it.expiry.is_some_and(|due| due <= self.clock_high))
    }

    /// The deadlines that are over and still recorded.
    pub(super) fn late_expiries(&self, now: i64) -> Vec<String> {
        let is_late = |due: i64| due + LATENESS < now;
        let late = self.jobs.values();
        let late = late.filter(|it| it.expiry.is_some_and(is_late));
        late.map(|it| format!("the deadline of job {} is still recorded", it.number))
            .collect()
    }
}
