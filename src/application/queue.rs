//! The queues of jobs, for the operator: which job begins when, and the cancellation of many.

use super::caller::Caller;
use super::error::{Error, ErrorKind};
use super::jobs;
use super::state::AppState;
use futures_util::future::join_all;
use std::sync::Arc;
use tintype_actors::system::NextJob;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;

/// Jobs that one call cancels at the most.
const MOST_CANCELED: usize = 500;
/// Jobs that are canceled at the same time, so that they share commits.
const STEP: usize = 100;

/// Which queued jobs are meant. `None` for no matter.
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

    /// How many jobs wait.
    pub fn count(&self, state: &AppState) -> usize {
        let count = |tier: Tier| match self.account {
            Some(_) => self.next(state, tier, usize::MAX).len(),
            None => state.system.waiting_jobs().of_tier(tier).0,
        };
        self.tiers().map(count).sum()
    }

    /// The next jobs of a model, at most so many.
    pub fn next(&self, state: &AppState, tier: Tier, limit: usize) -> Vec<NextJob> {
        state
            .system
            .waiting_jobs()
            .next(tier, self.account, limit, |_| true)
    }
}

/// What came of the cancellation of many.
pub struct Canceled {
    pub count: usize,
    /// Are there more that were created before the moment? Then another call goes on.
    pub more: bool,
}

/// Cancels queued jobs that were created before a moment, a bounded number of them; those that begin or end meanwhile stay.
///
/// # Errors
/// `Forbidden`; the service stops or is too busy before any was canceled
pub async fn cancel(
    state: &Arc<AppState>,
    caller: &Caller,
    filter: QueueFilter,
    before: Timestamp,
) -> Result<Canceled, Error> {
    let before = JobId::first_of(before);
    // A job that is not known of would stay, and the caller would hear that there are no more.
    state.system.waiting_jobs().refresh(&state.store).await?;
    let mut wanted: Vec<(AccountId, JobId)> = Vec::new();
    let mut more = false;
    for tier in filter.tiers() {
        let room = MOST_CANCELED - wanted.len();
        let is_old = |job: JobId| job < before;
        let system = &state.system;
        let found = system
            .waiting_jobs()
            .next(tier, filter.account, room + 1, is_old);
        more |= found.len() > room;
        let found = found.iter().take(room);
        wanted.extend(found.map(|it| (it.account, it.job)));
    }
    let mut count = 0;
    for step in wanted.chunks(STEP) {
        let cancel =
            |(account, job): &(AccountId, JobId)| jobs::cancel(state, caller, *account, *job);
        for outcome in join_all(step.iter().map(cancel)).await {
            match outcome {
                Ok(_) => count += 1,
                Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::Conflict) => {}
                Err(error) if count == 0 => return Err(error),
                // Too much at once. What has been done is told, and another call goes on.
                Err(_) => more = true,
            }
        }
    }
    Ok(Canceled { count, more })
}
