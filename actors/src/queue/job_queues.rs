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
                Origin::Native | Origin::Synchronous => Lane::Single,
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

impl TierQueue {
    /// The accounts whose batch jobs must wait.
    fn held(&self) -> impl Iterator<Item = AccountId> + '_ {
        let fetches = self.fetches.iter();
        fetches.filter_map(|(account, it)| it.is_full().then_some(*account))
    }

    fn has_next(&self) -> bool {
        let fetches = |account| self.fetches.get(&account);
        let is_held = |account| fetches(account).is_some_and(Fetches::is_full);
        self.queue.has_next(is_held)
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

    /// Appends jobs to their accounts. Returns true if no job of one of the queues could begin before: the caller must then wake the
    /// dispatcher. Otherwise the dispatcher waits for a slot, and a slot that becomes free wakes it.
    pub fn push_all(&self, jobs: impl IntoIterator<Item = QueuedJob>) -> bool {
        let mut was_idle = false;
        for job in jobs {
            let mut tier = self.of(job.tier).lock();
            was_idle |= !tier.has_next();
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
            let is_held = |account| fetches.get(&account).is_some_and(Fetches::is_full);
            let (account, job, lane) = queue.pop(is_held)?;
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

    /// Removes a canceled job. A job whose turn has begun stays: its actor finds the cancellation in the record.
    pub fn remove(
        &self,
        QueuedJob {
            job, account, tier, ..
        }: QueuedJob,
    ) {
        let mut tier = self.of(tier).lock();
        if !tier.taken.contains_key(&job) {
            tier.queue.remove(account, job);
            tier.begun.remove(&job);
        }
    }

    /// The number of jobs that wait for a slot, by tier.
    pub fn waiting(&self) -> [usize; 3] {
        std::array::from_fn(|at| {
            let tier = self.of(Tier::ALL[at]).lock();
            let held = tier.held().map(|account| tier.queue.batch_len_of(account));
            tier.queue.len() - held.sum::<usize>()
        })
    }

    /// The number of jobs that wait for their first run.
    pub fn len(&self, tier: Tier) -> usize {
        let tier = self.of(tier).lock();
        tier.queue.len().saturating_sub(tier.begun.len())
    }

    pub fn is_empty(&self, tier: Tier) -> bool {
        self.of(tier).lock().queue.is_empty()
    }

    /// May a job begin as soon as it gets a slot?
    pub fn has_next(&self, tier: Tier) -> bool {
        self.of(tier).lock().has_next()
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
        let running = |tier: &Tier| self.of(*tier).lock().taken.len();
        Depths {
            queued: [Tier::Fast, Tier::Quality, Tier::Pro].map(|tier| self.len(tier)),
            running: Tier::ALL.iter().map(running).sum(),
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
            let queues = self.of(*tier).lock();
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
        [Tier::Fast, Tier::Quality, Tier::Pro].map(|tier| self.of(tier).lock().turns)
    }

    /// The job with the longest wait for its first run.
    pub fn oldest(&self, tier: Tier) -> Option<JobId> {
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
        let mut tier = self.queues.of(self.job.tier).lock();
        tier.taken.remove(&self.job.job);
        tier.turns.ended += 1;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let job = self.job;
        let mut tier = self.queues.of(job.tier).lock();
        tier.taken.remove(&job.job);
        tier.turns.ended += 1;
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
mod tests {
    use super::*;
    use futures_util::FutureExt as _;
    use uuid::Uuid;

    fn job(id: u128, tier: Tier) -> QueuedJob {
        QueuedJob {
            job: JobId(Uuid::from_u128(id)),
            account: AccountId(Uuid::from_u128(1)),
            tier,
            lane: Lane::Single,
        }
    }

    #[test]
    fn a_push_reports_whether_a_queue_was_empty() {
        let queues = Arc::new(JobQueues::default());
        let job = |id| job(id, Tier::Pro);
        assert!(!queues.push_all([]));
        assert!(queues.push_all([job(1), job(2)]));
        assert!(!queues.push_all([job(3)]));
        let fast = |id| super::tests::job(id, Tier::Fast);
        assert!(queues.push_all([job(4), fast(5)]));
        queues.pop(Tier::Fast).expect("a job").end();
        assert!(queues.push_all([fast(6)]));
    }

    #[test]
    fn a_backlog_begins_with_the_job_that_enters_the_empty_queue() {
        let queues = Arc::new(JobQueues::default());
        let job = |id| job(id, Tier::Pro);
        let backlog = || {
            queues
                .backlog(Tier::Pro)
                .map(|it| (it.first, it.begun, it.ended))
        };
        assert_eq!(backlog(), None);
        queues.push_all([job(1)]);
        let running = queues.pop(Tier::Pro).expect("a turn");
        assert_eq!(backlog(), None, "none waits");
        queues.push_all([job(2), job(3), job(4)]);
        let first = job(2).job;
        assert_eq!(backlog(), Some((first, 0, 0)), "one ran before it began");
        let second = queues.pop(Tier::Pro).expect("a turn");
        assert_eq!(backlog(), Some((first, 1, 0)));
        running.end();
        assert_eq!(backlog(), Some((first, 1, 1)));
        second.end();
        assert_eq!(backlog(), Some((first, 1, 2)));
        assert_eq!(queues.backlog(Tier::Fast), None);
    }

    #[test]
    fn a_dequeued_job_has_position_1_until_its_turn_ends() {
        let queues = Arc::new(JobQueues::default());
        let jobs = [1, 2, 3].map(|id| job(id, Tier::Pro));
        let account = jobs[0].account;
        let positions = || jobs.map(|job| queues.position(job));
        queues.push_begun(jobs[0]);
        assert!(!queues.push_all([jobs[1]]), "one waited already");
        assert_eq!(positions(), [1, 2, 3], "the third is not in the queue yet");
        // The first one waits as well, but not for its first run.
        assert_eq!((queues.len(Tier::Pro), queues.begun(Tier::Pro)), (1, 1));
        assert_eq!(queues.oldest(Tier::Pro), Some(jobs[1].job));
        let turn = queues.pop(Tier::Pro).expect("a turn");
        assert_eq!((turn.job(), turn.is_resumed()), (jobs[0], true));
        assert_eq!(positions(), [1, 1, 2]);
        let depths = queues.depths_of(account);
        assert_eq!((depths.queued, depths.running), ([0, 0, 1], 1));
        assert_eq!(queues.depths(), depths);
        let other = AccountId(Uuid::from_u128(2));
        assert_eq!(queues.depths_of(other), Depths::default());
        assert_eq!((queues.len(Tier::Pro), queues.len(Tier::Fast)), (1, 0));
        assert_eq!((queues.begun(Tier::Pro), queues.begun(Tier::Fast)), (1, 0));
        assert_eq!(queues.oldest(Tier::Pro), Some(jobs[1].job));
        assert_eq!(queues.oldest(Tier::Fast), None);
        queues.remove(jobs[0]);
        assert_eq!(queues.depths().running, 1, "its actor ends the turn");
        turn.end();
        jobs[1..].iter().for_each(|job| queues.remove(*job));
        let tier = queues.of(Tier::Pro).lock();
        assert!(tier.queue.is_empty() && tier.taken.is_empty() && tier.begun.is_empty());
    }

    #[test]
    fn a_turn_that_is_dropped_puts_its_job_in_front_and_wakes_the_dispatcher() {
        let queues = Arc::new(JobQueues::default());
        queues.push_all([job(1, Tier::Fast), job(2, Tier::Fast)]);
        let waker = queues.waker();
        let turn = queues.pop(Tier::Fast).expect("a turn");
        assert!(!turn.is_resumed() && waker.notified().now_or_never().is_none());
        drop(turn);
        assert!(waker.notified().now_or_never().is_some());
        assert_eq!(queues.depths().running, 0);
        let again = queues.pop(Tier::Fast).expect("a turn");
        assert_eq!(
            (again.job(), again.is_resumed()),
            (job(1, Tier::Fast), true)
        );
        again.end();
        assert!(waker.notified().now_or_never().is_none());
    }

    #[test]
    fn an_account_at_its_fetch_limit_starts_only_single_jobs() {
        let queues = Arc::new(JobQueues::default());
        let batch = |id| QueuedJob {
            lane: Lane::Batch,
            ..job(id, Tier::Pro)
        };
        let account = batch(1).account;
        queues.push_all([batch(1), batch(2), batch(3), batch(4)]);
        let pop = || queues.pop(Tier::Pro).map(|turn| turn.job().job);
        let end = || queues.pop(Tier::Pro).expect("a turn").end();
        let fetch = || queues.begin_fetch(Tier::Pro, account, 2);
        end();
        let first = fetch();
        assert_eq!(queues.waiting(), [0, 0, 3]);
        end();
        let second = fetch();
        assert_eq!(pop(), None);
        assert!(!queues.has_next(Tier::Pro) && !queues.is_empty(Tier::Pro));
        assert_eq!(queues.waiting(), [0; 3], "they do not wait for a slot");
        assert_eq!(queues.held_accounts(Tier::Pro), HashSet::from([account]));
        assert_eq!(queues.held_accounts(Tier::Fast), HashSet::new());
        assert!(queues.push_all([job(9, Tier::Pro)]), "none could begin");
        assert!(!queues.push_all([]) && queues.has_next(Tier::Pro));
        assert_eq!(queues.waiting(), [0, 0, 1]);
        let single = queues.pop(Tier::Pro).expect("a turn");
        assert_eq!(single.job(), job(9, Tier::Pro));
        single.end();
        let other = QueuedJob {
            account: AccountId(Uuid::from_u128(2)),
            ..batch(10)
        };
        queues.push_all([other]);
        let turn = queues.pop(Tier::Pro).expect("a turn");
        assert_eq!(turn.job(), other, "another account's batch begins");
        turn.end();
        let waker = queues.waker();
        assert!(waker.notified().now_or_never().is_none());
        drop(first);
        assert!(waker.notified().now_or_never().is_some());
        assert_eq!(queues.waiting(), [0, 0, 2]);
        end();
        drop(second);
        end();
        assert!(queues.is_empty(Tier::Pro));
        assert!(queues.of(Tier::Pro).lock().fetches.is_empty());
    }

    #[test]
    fn a_job_that_is_queued_twice_has_one_turn_at_a_time() {
        let queues = Arc::new(JobQueues::default());
        queues.push_all([job(1, Tier::Fast), job(1, Tier::Fast)]);
        let turn = queues.pop(Tier::Fast).expect("a turn");
        assert!(queues.pop(Tier::Fast).is_none());
        turn.end();
    }
}
