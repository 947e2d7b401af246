//! What lookups are told of waiting and running jobs.

use super::backlog::Backlog;
use super::job_queues::{Depths, JobQueues, NextJob, QueuedJob};
use super::shared_queue::SharedQueue;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::{Store, StoreError};

/// Where they are looked up.
#[derive(Clone)]
pub struct WaitingJobs {
    /// Those of this process.
    pub(crate) own: Arc<JobQueues>,
    /// Those of all nodes; `None` where this process is the only one on its store.
    pub(crate) shared: Option<Arc<SharedQueue>>,
}

impl WaitingJobs {
    /// The position of a job among the waiting jobs of its tier: 1 is the next. `None` for a job that is not queued.
    pub fn position(&self, job: &Job) -> Option<usize> {
        if job.state != JobState::Queued {
            return None;
        }
        let queued = QueuedJob::from(job);
        Some(match &self.shared {
            None => self.own.position(queued),
            Some(shared) => shared.position(&queued),
        })
    }

    /// Reads what other nodes have queued and taken until now; without it, what they did a moment ago may be missing.
    ///
    /// # Errors
    /// The engine fails, or a record is damaged.
    pub async fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        match &self.shared {
            Some(shared) => shared.refresh(store, self.own.turns()).await,
            None => Ok(()),
        }
    }

    /// The next jobs of a tier, of all accounts or of one, at most `limit` of those that `takes` takes.
    pub fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        takes: impl Fn(JobId) -> bool,
    ) -> Vec<NextJob> {
        match &self.shared {
            None => self.own.next(tier, account, limit, takes),
            Some(shared) => shared.next(tier, account, limit, takes),
        }
    }

    /// How many jobs wait and run.
    pub fn depths(&self) -> Depths {
        match &self.shared {
            None => self.own.depths(),
            Some(shared) => shared.depths(),
        }
    }

    /// How many jobs of one account wait and run.
    pub fn depths_of(&self, account: AccountId) -> Depths {
        match &self.shared {
            None => self.own.depths_of(account),
            Some(shared) => shared.depths_of(account),
        }
    }

    /// How many jobs of a tier wait, how many run, and which has waited longest.
    pub fn of_tier(&self, tier: Tier) -> (usize, usize, Option<JobId>) {
        match &self.shared {
            None => {
                let own = &self.own;
                (own.len(tier), own.begun(tier), own.oldest(tier))
            }
            Some(shared) => (shared.len(tier), shared.begun(tier), shared.oldest(tier)),
        }
    }

    /// What has happened to the queue of a tier since it was last empty; `None` for one that is empty. The turns are those of this
    /// process.
    pub fn backlog(&self, tier: Tier) -> Option<Backlog> {
        match &self.shared {
            None => self.own.backlog(tier),
            Some(shared) => shared.backlog(tier, self.own.turns()[tier.index()]),
        }
    }
}
