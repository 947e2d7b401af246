//! The queues of all tiers. Commits that accept jobs fill them, the dispatcher empties them, and lookups read positions from them
//! without a message, so that a busy dispatcher delays no lookup.

use super::backlog::{Backlog, BacklogStart, TurnCounts};
use super::fair_queue::{FairQueue, Lane};
use parking_lot::Mutex;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Job, Origin};
use tintype_storage::domain::tier::Tier;
use tokio::sync::Notify;

/// A job that waits for its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    pub job: JobId,
    pub account: AccountId,
    pub tier: Tier,
    pub lane: Lane,
}

impl From<&Job> for QueuedJob {
    fn from(job: &Job) -> Self {
        Self {
            job: job.id,
            account: job.account,
            tier: job.tier,
            lane: match job.origin {
                Origin::Native | Origin::Synchronous | Origin::Background => Lane::Single,
                Origin::Batch(_) => Lane::Batch,
            },
        }
    }
}

/// The numbers of waiting and running jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depths {
    /// By tier.
    pub queued: [usize; 3],
    /// Of all tiers.
    pub running: usize,
}

/// One queue for each tier.
#[derive(Default)]
pub struct JobQueues {
    tiers: [Mutex<TierQueue>; 3],
    /// Wakes the dispatcher. It stores one wake-up, so a wake-up while the dispatcher works is not lost.
    wake: Arc<Notify>,
}

#[derive(Default)]
struct TierQueue {
    queue: FairQueue,
    /// Waiting jobs that have begun a run before.
    begun: HashSet<JobId>,
    /// Jobs whose turn has begun and not ended: at most twice the slots of the tier's backends, plus the jobs that fetch input images
    /// or whose end is being written.
    taken: HashMap<JobId, AccountId>,
    /// The fetches of input images in progress, by account.
    fetches: HashMap<AccountId, Fetches>,
    turns: TurnCounts,
    backlog: BacklogStart,
}

/// Fetches of an account's batch jobs.
struct Fetches {
    in_progress: usize,
    /// With so many in progress, no further batch job of the account begins.
    most: usize,
}

impl Fetches {
    fn is_full(&self) -> bool {
        self.in_progress >= self.most
    }
}

/// Must the account's batch jobs wait?
fn is_held(fetches: &HashMap<AccountId, Fetches>, account: AccountId) -> bool {
    fetches.get(&account).is_some_and(Fetches::is_full)
}

impl TierQueue {
    /// The accounts whose batch jobs must wait.
    fn held(&self) -> impl Iterator<Item = AccountId> + '_ {
        let fetches = self.fetches.iter();
        fetches.filter_map(|(account, it)| it.is_full().then_some(*account))
    }

    fn has_next(&self) -> bool {
        self.queue
            .has_next(|account| is_held(&self.fetches, account))
    }

    fn push(&mut self, queued: QueuedJob) {
        if self.queue.is_empty() {
            self.backlog = BacklogStart::at(queued.job, self.turns);
        }
        self.queue.push(queued.account, queued.job, queued.lane);
    }
}

/// A waiting job, with its position in the order in which jobs begin if none is added or removed: 1 is the next job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextJob {
    pub account: AccountId,
    pub job: JobId,
    pub position: usize,
}

impl JobQueues {
    fn of(&self, tier: Tier) -> &Mutex<TierQueue> {
        &self.tiers[tier.index()]
    }

    /// Wakes the dispatcher. The backend pool shares it, because a free slot is another reason to dispatch.
    pub fn waker(&self) -> Arc<Notify> {
        Arc::clone(&self.wake)
    }

    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Appends jobs to their accounts. Returns true if no job of one of the queues could begin before, or none of one of the accounts
    /// waited: the caller must then wake the dispatcher. Otherwise the dispatcher waits for a slot, and a slot that becomes free wakes it.
    pub fn push_all(&self, jobs: impl IntoIterator<Item = QueuedJob>) -> bool {
        let mut was_idle = false;
        for job in jobs {
            let mut tier = self.of(job.tier).lock();
            was_idle |= !tier.has_next() || tier.queue.len_of(job.account) == 0;
            tier.push(job);
        }
        was_idle
    }

    /// Appends a job that has begun a run before.
    pub fn push_begun(&self, job: QueuedJob) {
        let mut tier = self.of(job.tier).lock();
        tier.push(job);
        tier.begun.insert(job.job);
    }

    /// Takes the next job of a tier. The job counts as running until its [`Turn`] ends.
    pub fn pop(self: &Arc<Self>, tier: Tier) -> Option<Turn> {
        let mut queues = self.of(tier).lock();
        loop {
            let TierQueue { queue, fetches, .. } = &mut *queues;
            let (account, job, lane) = queue.pop(|account| is_held(fetches, account))?;
            let resumed = queues.begun.remove(&job);
            // A job that is queued twice has one turn at a time.
            if queues.taken.insert(job, account).is_none() {
                queues.turns.begun += 1;
                return Some(Turn {
                    job: QueuedJob {
                        job,
                        account,
                        tier,
                        lane,
                    },
                    resumed,
                    queues: Arc::clone(self),
                    has_ended: false,
                });
            }
        }
    }

    /// Removes a job that ended without a run. A job whose turn has begun stays: its actor finds the end in the record.
    pub fn remove(&self, tier: Tier, account: AccountId, job: JobId) {
        let mut tier = self.of(tier).lock();
        if !tier.taken.contains_key(&job) {
            tier.queue.remove(account, job);
            tier.begun.remove(&job);
        }
    }

    /// The number of jobs that wait for a slot, by tier.
    pub fn waiting(&self) -> [usize; 3] {
        Tier::ALL.map(|tier| {
            let tier = self.of(tier).lock();
            let held = tier.held().map(|account| tier.queue.batch_len_of(account));
            tier.queue.len() - held.sum::<usize>()
        })
    }

    /// The number of jobs that wait for their first run.
    pub fn len(&self, tier: Tier) -> usize {
        let tier = self.of(tier).lock();
        tier.queue.len().saturating_sub(tier.begun.len())
    }

    /// May a job begin as soon as it gets a slot?
    pub fn has_next(&self, tier: Tier) -> bool {
        self.of(tier).lock().has_next()
    }

    /// Does a job of an account other than this one wait for a slot?
    pub fn has_other(&self, tier: Tier, account: AccountId) -> bool {
        let tier = self.of(tier).lock();
        let held = tier.held().filter(|it| *it != account);
        let held = held.map(|it| tier.queue.batch_len_of(it)).sum::<usize>();
        tier.queue.len() > tier.queue.len_of(account) + held
    }

    /// The accounts that fetch as many input images as they may: none of their batch jobs begins.
    pub fn held_accounts(&self, tier: Tier) -> HashSet<AccountId> {
        self.of(tier).lock().held().collect()
    }

    /// Counts a batch job that fetches its input images. While `most` of an account's jobs do so, its other batch jobs wait, so that
    /// slow hosts do not collect ever more jobs.
    pub fn begin_fetch(self: &Arc<Self>, tier: Tier, account: AccountId, most: usize) -> Fetch {
        let mut queues = self.of(tier).lock();
        let none = Fetches {
            in_progress: 0,
            most,
        };
        queues.fetches.entry(account).or_insert(none).in_progress += 1;
        Fetch {
            tier,
            account,
            queues: Arc::clone(self),
        }
    }

    pub fn depths(&self) -> Depths {
        let running = |tier| self.of(tier).lock().taken.len();
        Depths {
            queued: Tier::ALL.map(|tier| self.len(tier)),
            running: Tier::ALL.into_iter().map(running).sum(),
        }
    }

    /// Up to `limit` next jobs that `matches` accepts, of all accounts or of one. Jobs that have begun a run before are left out:
    /// lookups call them `processing`.
    pub fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        matches: impl Fn(JobId) -> bool,
    ) -> Vec<NextJob> {
        let tier = self.of(tier).lock();
        let matches = |job: &JobId| !tier.begun.contains(job) && matches(*job);
        if let Some(account) = account {
            let jobs = tier.queue.of_account(account).filter(matches).take(limit);
            let next = |job| NextJob {
                account,
                job,
                position: tier.queue.position(account, job).unwrap_or(1),
            };
            return jobs.map(next).collect();
        }
        let (mut found, mut position) = (Vec::new(), 0);
        tier.queue.visit(|account, job| {
            if found.len() == limit {
                return ControlFlow::Break(());
            }
            position += 1;
            if matches(&job) {
                found.push(NextJob {
                    account,
                    job,
                    position,
                });
            }
            ControlFlow::Continue(())
        });
        found
    }

    pub fn depths_of(&self, account: AccountId) -> Depths {
        let mut depths = Depths::default();
        for tier in Tier::ALL {
            let queues = self.of(tier).lock();
            depths.queued[tier.index()] = queues.queue.len_of(account);
            depths.running += queues.taken.values().filter(|it| **it == account).count();
        }
        depths
    }

    /// The number of jobs that lookups call `processing`: jobs whose turn has not ended, and jobs that wait for a further run.
    pub fn begun(&self, tier: Tier) -> usize {
        let tier = self.of(tier).lock();
        tier.taken.len() + tier.begun.len()
    }

    /// `None` for an empty queue.
    pub fn backlog(&self, tier: Tier) -> Option<Backlog> {
        let tier = self.of(tier).lock();
        tier.backlog
            .until(tier.turns)
            .filter(|_| !tier.queue.is_empty())
    }

    pub fn turns(&self) -> [TurnCounts; 3] {
        Tier::ALL.map(|tier| self.of(tier).lock().turns)
    }

    /// The job with the longest wait for its first run.
    pub fn oldest(&self, tier: Tier) -> Option<(AccountId, JobId)> {
        let tier = self.of(tier).lock();
        tier.queue.oldest(&tier.begun)
    }

    /// The position of a job that is queued in the store; see [`FairQueue::position`]. It is 1 for a job whose turn has begun. A
    /// job that is not in the queue yet is the last of its account; its final position is higher if other jobs enter before it.
    pub fn position(&self, queued: QueuedJob) -> usize {
        let QueuedJob {
            job,
            account,
            tier,
            lane,
        } = queued;
        let tier = self.of(tier).lock();
        if tier.taken.contains_key(&job) {
            return 1;
        }
        let position = tier.queue.position(account, job);
        position.unwrap_or_else(|| tier.queue.next_position(account, lane))
    }
}

/// The turn of a job, held by the job's actor. Dropping a turn before it ends puts the job back to the front of its queue and wakes
/// the dispatcher.
pub struct Turn {
    job: QueuedJob,
    resumed: bool,
    queues: Arc<JobQueues>,
    has_ended: bool,
}

impl Turn {
    pub fn job(&self) -> QueuedJob {
        self.job
    }

    /// Has the job begun a run before? A backend may hold the work of that run.
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Ends the turn: the job is terminal, or goes on after a restart of the process.
    pub fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let job = self.job;
        let mut tier = self.queues.of(job.tier).lock();
        tier.taken.remove(&job.job);
        tier.turns.ended += 1;
        if self.has_ended {
            return;
        }
        tier.queue.push_front(job.account, job.job, job.lane);
        tier.begun.insert(job.job);
        drop(tier);
        self.queues.wake();
    }
}

/// A fetch of input images in progress. The end of the last one allowed wakes the dispatcher.
pub struct Fetch {
    tier: Tier,
    account: AccountId,
    queues: Arc<JobQueues>,
}

impl Drop for Fetch {
    fn drop(&mut self) {
        let mut tier = self.queues.of(self.tier).lock();
        let mut was_full = false;
        if let Entry::Occupied(mut fetches) = tier.fetches.entry(self.account) {
            was_full = fetches.get().is_full();
            fetches.get_mut().in_progress -= 1;
            if fetches.get().in_progress == 0 {
                fetches.remove();
            }
        }
        drop(tier);
        if was_full {
            self.queues.wake();
        }
    }
}

#[cfg(test)]
mod tests;
