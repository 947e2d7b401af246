//! Waiting and running jobs: in this process's queues, or in the queue that several nodes share.

use super::backlog::Backlog;
use super::job_queues::{Depths, JobQueues, NextJob, QueuedJob};
use super::shared_queue::{QueueChange, SharedQueue};
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::{RoundReads, Store, StoreError, Writes};

#[derive(Clone)]
pub struct WaitingJobs {
    /// The jobs of this process.
    own: Arc<JobQueues>,
    /// The jobs of all nodes; `None` for a single process, which has its queue in memory.
    shared: Option<Arc<SharedQueue>>,
}

impl WaitingJobs {
    pub(crate) fn new(is_one_of_several: bool) -> Self {
        Self {
            own: Arc::default(),
            shared: is_one_of_several.then(Arc::default),
        }
    }

    pub(crate) fn own(&self) -> &Arc<JobQueues> {
        &self.own
    }

    /// Applies a commit of this node. A single process has no changes.
    pub(crate) fn apply(&self, changes: Vec<QueueChange>) {
        if let Some(shared) = &self.shared {
            shared.apply(changes, self.own.turns());
        }
    }

    /// See [`SharedQueue::remove_ended`].
    pub(crate) fn remove_ended(
        &self,
        jobs: &[(Tier, JobId)],
        reads: &RoundReads<'_>,
        writes: &mut Writes,
    ) -> Result<Vec<QueueChange>, StoreError> {
        match &self.shared {
            Some(shared) => shared.remove_ended(jobs, reads, writes),
            None => Ok(Vec::new()),
        }
    }

    /// Does a job that may begin belong to an account other than this one?
    pub(crate) fn has_other(&self, tier: Tier, account: AccountId, pause: &Pause) -> bool {
        let own = &self.own;
        let held = || own.held_accounts(tier);
        let shared = self.shared.as_ref();
        own.has_other(tier, account, pause)
            || shared.is_some_and(|it| it.has_other(tier, account, &held(), pause.covers(tier)))
    }

    /// The number of jobs of all nodes that are not terminal; `None` for a single process, whose accounts count them.
    pub(crate) fn live(&self) -> Option<usize> {
        self.shared.as_ref().map(|it| it.live())
    }

    /// The number of listed entries of the shared queue.
    pub(crate) fn listed(&self) -> usize {
        self.shared.as_ref().map_or(0, |it| it.listed())
    }

    /// The position of a job among the waiting jobs of its tier: 1 is the next job. `None` for a job that is not queued.
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

    /// Reads the newest commits of other nodes, which lookups otherwise miss for a moment.
    ///
    /// # Errors
    /// The engine fails, or a record is damaged.
    pub async fn refresh(&self, store: &Store) -> Result<(), StoreError> {
        match &self.shared {
            Some(shared) => shared.refresh(store, self.own.turns()).await,
            None => Ok(()),
        }
    }

    /// Up to `limit` next jobs of a tier that `matches` accepts, of all accounts or of one.
    pub fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        matches: impl Fn(JobId) -> bool,
    ) -> Vec<NextJob> {
        match &self.shared {
            None => self.own.next(tier, account, limit, matches),
            Some(shared) => shared.next(tier, account, limit, matches),
        }
    }

    pub fn depths(&self) -> Depths {
        match &self.shared {
            None => self.own.depths(),
            Some(shared) => shared.depths(),
        }
    }

    pub fn depths_of(&self, account: AccountId) -> Depths {
        match &self.shared {
            None => self.own.depths_of(account),
            Some(shared) => shared.depths_of(account),
        }
    }

    /// The number of jobs of a tier that wait for their first run.
    pub fn queued(&self, tier: Tier) -> usize {
        match &self.shared {
            None => self.own.len(tier),
            Some(shared) => shared.len(tier),
        }
    }

    /// The number of jobs of a tier that lookups call `processing`.
    pub fn begun(&self, tier: Tier) -> usize {
        match &self.shared {
            None => self.own.begun(tier),
            Some(shared) => shared.begun(tier),
        }
    }

    /// The job of a tier with the longest wait for its first run.
    pub fn oldest(&self, tier: Tier) -> Option<(AccountId, JobId)> {
        match &self.shared {
            None => self.own.oldest(tier),
            Some(shared) => shared.oldest(tier),
        }
    }

    /// This process's turns since the queue of a tier was last empty; `None` for an empty queue.
    pub fn backlog(&self, tier: Tier) -> Option<Backlog> {
        match &self.shared {
            None => self.own.backlog(tier),
            Some(shared) => shared.backlog(tier, self.own.turns()[tier.index()]),
        }
    }
}
