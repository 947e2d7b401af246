//! The job queues, for the operator: the next jobs, and bulk cancellation.

use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use crate::application::jobs;
use crate::application::services::JobService;
use crate::application::settings::Settings;
use futures_util::future::join_all;
use std::sync::Arc;
use tintype_actors::system::NextJob;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;

/// Jobs that one call cancels.
const MAX_CANCELED: usize = 500;
/// Jobs canceled in parallel, so that they share commits.
const STEP: usize = 100;

/// Has the queue of the service room for this many jobs?
pub fn has_room(core: &Core, settings: &Settings, jobs: usize) -> bool {
    (core.system.queue().live() + jobs) as u64 <= settings.config.jobs.max_live
}

/// `None` matches every job.
#[derive(Clone, Copy)]
pub struct QueueFilter {
    pub tier: Option<Tier>,
    pub account: Option<AccountId>,
}

impl QueueFilter {
    pub fn tiers(&self) -> impl Iterator<Item = Tier> + '_ {
        let all = Tier::ALL.iter().copied();
        all.filter(|tier| self.tier.is_none_or(|it| it == *tier))
    }

    pub fn count(&self, core: &Core) -> usize {
        let count = |tier: Tier| match self.account {
            Some(_) => self.next(core, tier, usize::MAX).len(),
            None => core.system.queue().queued(tier),
        };
        self.tiers().map(count).sum()
    }

    /// The next jobs of a model, up to `limit`.
    pub fn next(&self, core: &Core, tier: Tier, limit: usize) -> Vec<NextJob> {
        core.system
            .queue()
            .next(tier, self.account, limit, &|_| true)
    }
}

/// When the job of a model that has waited longest for its first run was created. Reads its record, because its id may be ahead of the
/// clock.
///
/// # Errors
/// The engine fails, or the record is damaged.
pub async fn oldest_created_at(core: &Core, tier: Tier) -> Result<Option<Timestamp>, StoreError> {
    let Some((account, job)) = core.system.queue().oldest(tier) else {
        return Ok(None);
    };
    // The job may be deleted meanwhile.
    let job = core.store.job(account, job).await?;
    Ok(job.map(|it| it.created_at))
}

pub struct CanceledJobs {
    pub count: usize,
    /// Whether matching jobs remain for another call.
    pub more: bool,
}

/// Cancels up to `MAX_CANCELED` queued jobs that were created before `before`. Skips jobs that start or end meanwhile.
///
/// # Errors
/// `Forbidden`; the service stops or is overloaded before it has canceled any job
pub async fn cancel(
    jobs: &Arc<JobService>,
    caller: &Caller,
    filter: QueueFilter,
    before: Timestamp,
) -> Result<CanceledJobs, Error> {
    let core = &jobs.core;
    let before = JobId::first_of(before);
    // Without the refresh, jobs of other nodes could be missed and `more` could be wrong.
    core.system.queue().refresh(&core.store).await?;
    let mut selected: Vec<(AccountId, JobId)> = Vec::new();
    let mut more = false;
    for tier in filter.tiers() {
        let room = MAX_CANCELED - selected.len();
        let is_old = |job: JobId| job < before;
        let system = &core.system;
        let found = system.queue().next(tier, filter.account, room + 1, &is_old);
        more |= found.len() > room;
        let found = found.iter().take(room);
        selected.extend(found.map(|it| (it.account, it.job)));
    }
    let mut count = 0;
    for step in selected.chunks(STEP) {
        let cancel =
            |(account, job): &(AccountId, JobId)| jobs::cancel(jobs, caller, *account, *job);
        for outcome in join_all(step.iter().map(cancel)).await {
            match outcome {
                Ok(_) => count += 1,
                Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Conflict) => {}
                Err(error) if count == 0 => return Err(error),
                // Overloaded: report the progress, and another call continues.
                Err(_) => more = true,
            }
        }
    }
    Ok(CanceledJobs { count, more })
}
