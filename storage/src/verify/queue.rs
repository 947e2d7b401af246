//! Checks what nodes record of live jobs: each job is queued or taken by a node, and the sums of its account count it.

use super::Report;
use crate::domain::adoption::Adoption;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::{JobState, Origin};
use crate::domain::node::AccountLoad;
use crate::engine::Wait as _;
use crate::store::tables::{ACCOUNT_LOADS, ADOPTION, LIVE_JOBS, QUEUE, TAKEN_JOBS};
use crate::store::{Store, StoreError};
use std::collections::HashMap;

/// Skips the store of a single process, which has its queue in memory.
pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    if ADOPTION.get(store, &()).wait()? != Some(Adoption::Done) {
        return Ok(());
    }
    let mut positions: HashMap<JobId, u32> = HashMap::new();
    let mut count = |job| {
        *positions.entry(job).or_default() += 1;
        Ok(())
    };
    QUEUE.visit(store, |position, _| count(position.job))?;
    TAKEN_JOBS.visit(store, |(_, job), _| count(job))?;
    let mut loads: HashMap<AccountId, AccountLoad> = HashMap::new();
    LIVE_JOBS.visit(store, |(_, id), job| {
        loads.entry(job.account).or_default().add(&job);
        let positions = positions.get(&id).copied().unwrap_or_default();
        // The caller of a synchronous job may have left: the job fails soon and never starts.
        let may_be_left = job.state == JobState::Queued && job.origin == Origin::Synchronous;
        if positions > 1 || positions == 0 && !may_be_left {
            report.fault(format!(
                "job {id} is {} and is recorded {positions} times in the queue and at nodes",
                job.state.as_str()
            ));
        }
        Ok(())
    })?;
    let mut compare = |account: AccountId, recorded: &AccountLoad, counted: &AccountLoad| {
        if (recorded.live_jobs, &recorded.keys) != (counted.live_jobs, &counted.keys) {
            report.fault(format!(
                "account {account}: the recorded sums of its live jobs do not match: {} jobs recorded, {} counted; the sums of its keys may \
                 differ",
                recorded.live_jobs, counted.live_jobs
            ));
        }
    };
    ACCOUNT_LOADS.visit(store, |account, recorded| {
        let counted = loads.remove(&account).unwrap_or_default();
        compare(account, &recorded, &counted);
        Ok(())
    })?;
    for (account, counted) in loads {
        compare(account, &AccountLoad::default(), &counted);
    }
    Ok(())
}
