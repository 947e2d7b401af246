//! Checks the nodes' queue against the live jobs: each job is queued or taken by a node.

use super::Report;
use crate::domain::adoption::Adoption;
use crate::domain::ids::JobId;
use crate::domain::job::{JobState, Origin};
use crate::engine::Wait as _;
use crate::store::tables::{ADOPTION, LIVE_JOBS, QUEUE, TAKEN_JOBS};
use crate::store::{All, Store, StoreError};
use std::collections::HashMap;

/// A single process keeps its queue in memory.
pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    if ADOPTION.get(store, &()).wait()? != Some(Adoption::Done) {
        return Ok(());
    }
    let mut places: HashMap<JobId, u32> = HashMap::new();
    let mut count = |job| {
        *places.entry(job).or_default() += 1;
        Ok(())
    };
    QUEUE
        .each(store, &All, |place, _| count(place.job))
        .wait()?;
    TAKEN_JOBS
        .each(store, &All, |(_, job), _| count(job))
        .wait()?;
    LIVE_JOBS
        .each(store, &All, |(_, id), job| {
            let places = places.get(&id).copied().unwrap_or_default();
            // The caller of a synchronous job may have left: the job fails soon and never starts.
            let may_be_left = job.state == JobState::Queued && job.origin == Origin::Synchronous;
            if places > 1 || places == 0 && !may_be_left {
                report.fault(format!(
                    "job {id} is {} and has {places} places in the queue and at nodes",
                    job.state.word()
                ));
            }
            Ok(())
        })
        .wait()
}
