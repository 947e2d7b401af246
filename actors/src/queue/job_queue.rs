//! The queue of the service as accounts and lookups use it: that of a single process, or the one that several nodes share.

use super::backlog::Backlog;
use super::fair_queue::Lane;
use super::queue_change::QueueChange;
use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::store::{RoundReads, Store, StoreError, Writes};

/// A job that waits for its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    pub job: JobId,
    pub account: AccountId,
    pub tier: Tier,
    pub lane: Lane,
}

impl<S> From<&Job<S>> for QueuedJob {
    fn from(job: &Job<S>) -> Self {
        Self {
            job: job.id,
            account: job.account,
            tier: job.tier,
            lane: Lane::of(job),
        }
    }
}

impl QueuedJob {
    /// `None` for a job that is not queued.
    pub fn if_queued<S>(job: &Job<S>) -> Option<Self> {
        matches!(job.state, JobState::Queued).then(|| job.into())
    }
}

/// The numbers of jobs that are not terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    /// Jobs that wait for their first run, by tier.
    pub queued: [usize; 3],
    /// Jobs of all tiers that lookups call `processing`; see [`JobQueue::begun`].
    pub running: usize,
}

/// A waiting job, with its position in the order in which jobs begin if none is added or removed: 1 is the next job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextJob {
    pub account: AccountId,
    pub job: JobId,
    pub position: usize,
}

/// All live jobs of the service. The provided methods are those of a single process, whose queue has no records.
pub trait JobQueue: Send + Sync {
    /// Adds jobs that a commit of this process has accepted. Returns true if the caller must wake the dispatcher.
    fn add(&self, jobs: Vec<QueuedJob>) -> bool;

    /// Removes the entries of jobs that end without a run, and returns all changes of the queue by `writes`.
    ///
    /// # Errors
    /// A record is damaged, or was not read.
    fn remove_ended(
        &self,
        _jobs: &[(Tier, JobId)],
        _reads: &RoundReads<'_>,
        _writes: &mut Writes,
    ) -> Result<Vec<QueueChange>, StoreError> {
        Ok(Vec::new())
    }

    /// Applies a commit of this process.
    fn apply(&self, _changes: Vec<QueueChange>) {}

    /// Tells the queue that this process may have a free slot.
    fn slot_freed(&self) {}

    /// Reads the newest commits of other nodes, which lookups otherwise miss for a moment. Returns the number of entries that it lists.
    fn refresh<'a>(&'a self, _store: &'a Store) -> BoxFuture<'a, Result<usize, StoreError>> {
        ready(Ok(0)).boxed()
    }

    /// Does a job that may begin belong to an account other than this one?
    fn has_other(&self, tier: Tier, account: AccountId, pause: &Pause) -> bool;

    /// The number of live jobs.
    fn live(&self) -> usize;

    /// The position, among the waiting jobs of its tier, of a job that is queued in the store: 1 is the next job. It is also 1 for a
    /// job that a dispatcher or a node has taken.
    fn position(&self, job: QueuedJob) -> usize;

    /// Up to `limit` next jobs of a tier that `matches` accepts, of all accounts or of one. Jobs that wait for a further run are left out.
    fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        matches: &dyn Fn(JobId) -> bool,
    ) -> Vec<NextJob>;

    fn depths(&self) -> Depths;

    fn depths_of(&self, account: AccountId) -> Depths;

    /// The number of jobs of a tier that wait for their first run.
    fn queued(&self, tier: Tier) -> usize;

    /// The number of jobs of a tier that lookups call `processing`: those that have been taken, and those that wait for a further run.
    fn begun(&self, tier: Tier) -> usize;

    /// Has another node taken a job of a tier that has not ended? Always false in a single process.
    fn runs_elsewhere(&self, tier: Tier) -> bool;

    /// The job of a tier with the longest wait for its first run.
    fn oldest(&self, tier: Tier) -> Option<(AccountId, JobId)>;

    /// This process's turns since the queue of a tier was last empty; `None` for an empty queue.
    fn backlog(&self, tier: Tier) -> Option<Backlog>;
}
