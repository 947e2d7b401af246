//! The jobs that wait in this process, in one queue for each tier. Commits that accept jobs fill the queues of a single process, takes
//! those of one of several nodes. The dispatcher empties them. Lookups of a single process read positions from them without a message,
//! so that a busy dispatcher delays no lookup.

use super::backlog::{Backlog, BacklogStart, TurnCounts};
use super::fair_queue::FairQueue;
use super::job_queue::{Depths, JobQueue, NextJob, QueuedJob};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::tier::Tier;
use tintype_storage::fast_hash::HashMap;
use tokio::sync::Notify;

/// The jobs of this process, in one queue for each tier.
#[derive(Default)]
pub struct LocalQueue {
    tiers: [Mutex<TierQueue>; 3],
    /// The live jobs of a single process, as its accounts count them.
    pub live: AtomicUsize,
    /// Wakes the dispatcher. It stores one wake-up, so a wake-up while the dispatcher works is not lost.
    wake: Arc<Notify>,
}

#[derive(Default)]
struct TierQueue {
    /// Jobs that wait for their first run. None of them begins during a pause.
    queue: FairQueue,
    /// Jobs that wait for a further run. They go first, also during a pause: lookups call them `processing`.
    begun: FairQueue,
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

    /// The queues from which jobs begin, the first one first.
    fn startable(&self, is_paused: bool) -> impl Iterator<Item = &FairQueue> {
        [Some(&self.begun), (!is_paused).then_some(&self.queue)]
            .into_iter()
            .flatten()
    }

    fn has_next(&self, is_paused: bool) -> bool {
        let is_held = |account| is_held(&self.fetches, account);
        self.startable(is_paused).any(|it| it.has_next(is_held))
    }

    /// The number of jobs that wait for a slot, of all accounts or of all but one.
    fn waiting(&self, is_paused: bool, except: Option<AccountId>) -> usize {
        let waiting = self.startable(is_paused).map(|queue| {
            let held = self.held().filter(|it| Some(*it) != except);
            let held = held.map(|it| queue.batch_len_of(it)).sum::<usize>();
            queue.len() - except.map_or(0, |it| queue.len_of(it)) - held
        });
        waiting.sum()
    }

    fn push(&mut self, queued: QueuedJob) {
        if self.queue.is_empty() {
            self.backlog = BacklogStart::at(queued.job, self.turns);
        }
        self.queue.push(queued.account, queued.job, queued.lane);
    }
}

impl LocalQueue {
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
            was_idle |= !tier.has_next(false) || tier.queue.len_of(job.account) == 0;
            tier.push(job);
        }
        was_idle
    }

    /// Appends a job that has begun a run before.
    pub fn push_begun(&self, job: QueuedJob) {
        let mut tier = self.of(job.tier).lock();
        tier.begun.push(job.account, job.job, job.lane);
    }

    /// Takes the next job of a tier. The job is in progress until its [`Turn`] ends.
    pub fn pop(self: &Arc<Self>, tier: Tier, pause: &Pause) -> Option<Turn> {
        let mut queues = self.of(tier).lock();
        loop {
            let TierQueue {
                queue,
                begun,
                fetches,
                ..
            } = &mut *queues;
            let is_held = |account| is_held(fetches, account);
            let further = begun.pop(is_held);
            let resumed = further.is_some();
            let first = || (!pause.covers(tier)).then(|| queue.pop(is_held)).flatten();
            let (account, job, lane) = further.or_else(first)?;
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
            let _ = tier.queue.remove(account, job) || tier.begun.remove(account, job);
        }
    }

    /// The number of jobs that wait for a slot, by tier.
    pub fn waiting(&self, pause: &Pause) -> [usize; 3] {
        Tier::ALL.map(|tier| self.of(tier).lock().waiting(pause.covers(tier), None))
    }

    /// May a job begin as soon as it gets a slot?
    pub fn has_next(&self, tier: Tier, pause: &Pause) -> bool {
        self.of(tier).lock().has_next(pause.covers(tier))
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

    /// The number of jobs whose turn has begun and not ended.
    pub fn in_progress(&self) -> usize {
        let taken = |tier| self.of(tier).lock().taken.len();
        Tier::ALL.into_iter().map(taken).sum()
    }

    pub fn turns(&self) -> [TurnCounts; 3] {
        Tier::ALL.map(|tier| self.of(tier).lock().turns)
    }
}

impl JobQueue for LocalQueue {
    fn add(&self, jobs: Vec<QueuedJob>) -> bool {
        self.push_all(jobs)
    }

    fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    fn queued(&self, tier: Tier) -> usize {
        self.of(tier).lock().queue.len()
    }

    fn has_other(&self, tier: Tier, account: AccountId, pause: &Pause) -> bool {
        let queues = self.of(tier).lock();
        queues.waiting(pause.covers(tier), Some(account)) > 0
    }

    fn depths(&self) -> Depths {
        Depths {
            queued: Tier::ALL.map(|tier| self.queued(tier)),
            running: Tier::ALL.into_iter().map(|tier| self.begun(tier)).sum(),
        }
    }

    fn next(
        &self,
        tier: Tier,
        account: Option<AccountId>,
        limit: usize,
        matches: &dyn Fn(JobId) -> bool,
    ) -> Vec<NextJob> {
        let tier = self.of(tier).lock();
        if let Some(account) = account {
            let jobs = tier.queue.of_account(account);
            let jobs = jobs.filter(|job| matches(*job)).take(limit);
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
            if matches(job) {
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

    fn depths_of(&self, account: AccountId) -> Depths {
        let mut depths = Depths::default();
        for tier in Tier::ALL {
            let queues = self.of(tier).lock();
            depths.queued[tier.index()] = queues.queue.len_of(account);
            depths.running += queues.taken.values().filter(|it| **it == account).count();
            depths.running += queues.begun.len_of(account);
        }
        depths
    }

    fn begun(&self, tier: Tier) -> usize {
        let tier = self.of(tier).lock();
        tier.taken.len() + tier.begun.len()
    }

    fn runs_elsewhere(&self, _: Tier) -> bool {
        false
    }

    fn backlog(&self, tier: Tier) -> Option<Backlog> {
        let tier = self.of(tier).lock();
        tier.backlog
            .until(tier.turns)
            .filter(|_| !tier.queue.is_empty())
    }

    fn oldest(&self, tier: Tier) -> Option<(AccountId, JobId)> {
        let tier = self.of(tier).lock();
        tier.queue.oldest()
    }

    /// The position of a job that is queued in the store; see [`FairQueue::position`]. It is 1 for a job whose turn has begun. A
    /// job that is not in the queue yet is the last of its account; its final position is higher if other jobs enter before it.
    fn position(&self, queued: QueuedJob) -> usize {
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
    queues: Arc<LocalQueue>,
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
        tier.begun.push_front(job.account, job.job, job.lane);
        drop(tier);
        self.queues.wake();
    }
}

/// A fetch of input images in progress. The end of the last one allowed wakes the dispatcher.
pub struct Fetch {
    tier: Tier,
    account: AccountId,
    queues: Arc<LocalQueue>,
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
