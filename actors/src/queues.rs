//! The queues of all tiers: filled from the commits that accept jobs, emptied by the dispatcher, and looked at by whoever asks
//! for a job's place. None of that costs a message, so it goes as fast while the dispatcher is busy.

use crate::dispatcher::Depths;
use crate::queue::FairQueue;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::tier::Tier;

/// A job that waits for its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    /// The job.
    pub job: JobId,
    /// Whose.
    pub account: AccountId,
    /// Which queue.
    pub tier: Tier,
}

/// A job whose turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The job.
    pub job: JobId,
    /// Whose.
    pub account: AccountId,
    /// Has a run of it begun before? A back end may hold the work of that.
    pub resumed: bool,
}

/// One queue for each tier.
#[derive(Default)]
pub struct Queues {
    tiers: [Mutex<Waiting>; 3],
    /// The dispatcher has been told that there are jobs, and has not looked since.
    hinted: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    queue: FairQueue,
    /// Waiting jobs of which a run has begun before.
    begun: HashSet<JobId>,
    /// Jobs whose turn has come and whose run has not ended: as many as the back ends have places hold one, at most as many again
    /// wait for their next one, and a few are just being written down as ended.
    taken: HashMap<JobId, AccountId>,
}

impl Queues {
    fn of(&self, tier: Tier) -> &Mutex<Waiting> {
        &self.tiers[tier.index()]
    }

    /// Puts jobs behind the others of their accounts, each in its turn. Was one of their queues empty before? If none was, the
    /// dispatcher has left it as it is because no back end has a place, and it looks by itself when one has.
    pub fn push_all(&self, jobs: impl IntoIterator<Item = QueuedJob>) -> bool {
        let mut was_empty = false;
        for QueuedJob { job, account, tier } in jobs {
            let queue = &mut self.of(tier).lock().queue;
            was_empty |= queue.is_empty();
            queue.push(account, job);
        }
        was_empty
    }

    /// Puts a job, a run of which has begun before, behind the others of its account.
    pub fn push_begun(&self, QueuedJob { job, account, tier }: QueuedJob) {
        let mut waiting = self.of(tier).lock();
        waiting.queue.push(account, job);
        waiting.begun.insert(job);
    }

    /// Puts a job, a run of which has begun before, in front of the others of its account.
    pub fn push_front(&self, QueuedJob { job, account, tier }: QueuedJob) {
        let mut waiting = self.of(tier).lock();
        waiting.queue.push_front(account, job);
        waiting.begun.insert(job);
    }

    /// Takes the next job.
    pub fn pop(&self, tier: Tier) -> Option<Turn> {
        let mut waiting = self.of(tier).lock();
        let (account, job) = waiting.queue.pop()?;
        waiting.taken.insert(job, account);
        Some(Turn {
            job,
            account,
            resumed: waiting.begun.remove(&job),
        })
    }

    /// Forgets a job, wherever it stands.
    pub fn forget(&self, QueuedJob { job, account, tier }: QueuedJob) {
        let mut waiting = self.of(tier).lock();
        if waiting.taken.remove(&job).is_none() {
            waiting.queue.remove(account, job);
            waiting.begun.remove(&job);
        }
    }

    /// After jobs were put in: has the dispatcher to be told? Not while it has yet to look since it was told last.
    pub fn is_hint_due(&self) -> bool {
        !self.hinted.swap(true, Ordering::AcqRel)
    }

    /// The dispatcher is going to look: to be called before it does.
    pub fn hint_taken(&self) {
        // A swap, so that whoever found the hint still there has put its jobs in before this look.
        self.hinted.swap(false, Ordering::AcqRel);
    }

    /// Jobs that wait for their first run.
    pub fn len(&self, tier: Tier) -> usize {
        let waiting = self.of(tier).lock();
        waiting.queue.len().saturating_sub(waiting.begun.len())
    }

    /// Jobs of one account that wait, and those whose turn has come.
    pub fn depths_of(&self, account: AccountId) -> Depths {
        let mut depths = Depths::default();
        for tier in Tier::ALL {
            let waiting = self.of(*tier).lock();
            depths.queued[tier.index()] = waiting.queue.len_of(account);
            depths.running += waiting.taken.values().filter(|it| **it == account).count();
        }
        depths
    }

    /// Jobs whose turn has come and whose run has not ended, and those that wait for a further run: what lookups call
    /// `processing`.
    pub fn begun(&self, tier: Tier) -> usize {
        let waiting = self.of(tier).lock();
        waiting.taken.len() + waiting.begun.len()
    }

    /// The job that has waited longest for its first run.
    pub fn oldest(&self, tier: Tier) -> Option<JobId> {
        let waiting = self.of(tier).lock();
        waiting.queue.oldest(&waiting.begun)
    }

    /// Does none wait?
    pub fn is_empty(&self, tier: Tier) -> bool {
        self.of(tier).lock().queue.is_empty()
    }

    /// The place of a job that is queued in the store; see [`FairQueue::place`]. One whose turn has come is the next, and one
    /// that is not here yet stands last in its line; it may be told a lower place than it gets when others before it are on
    /// their way as well.
    pub fn position(&self, QueuedJob { job, account, tier }: QueuedJob) -> usize {
        let waiting = self.of(tier).lock();
        if waiting.taken.contains_key(&job) {
            return 1;
        }
        let place = waiting.queue.place(account, job);
        place.unwrap_or_else(|| waiting.queue.next_place(account))
    }
}

impl From<&Job> for QueuedJob {
    fn from(job: &Job) -> Self {
        Self {
            job: job.id,
            account: job.account,
            tier: job.tier,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn whoever_fills_an_empty_queue_is_told_so() {
        let queues = Queues::default();
        let job = |id, tier| QueuedJob {
            job: JobId(Uuid::from_u128(id)),
            account: AccountId(Uuid::from_u128(1)),
            tier,
        };
        assert!(!queues.push_all([]));
        assert!(queues.push_all([job(1, Tier::Pro), job(2, Tier::Pro)]));
        assert!(!queues.push_all([job(3, Tier::Pro)]));
        assert!(queues.push_all([job(4, Tier::Pro), job(5, Tier::Fast)]));
        queues.pop(Tier::Fast);
        assert!(queues.push_all([job(6, Tier::Fast)]));
    }

    #[test]
    fn a_job_whose_turn_has_come_is_the_next_until_it_is_forgotten() {
        let queues = Queues::default();
        let account = AccountId(Uuid::from_u128(1));
        let jobs = [1, 2, 3].map(|id| QueuedJob {
            job: JobId(Uuid::from_u128(id)),
            account,
            tier: Tier::Pro,
        });
        let places = || jobs.map(|job| queues.position(job));
        queues.push_begun(jobs[0]);
        assert!(!queues.push_all([jobs[1]]), "one waited already");
        assert_eq!(places(), [1, 2, 3], "the third is on its way");
        // The first one waits as well, but not for its first run.
        assert_eq!((queues.len(Tier::Pro), queues.begun(Tier::Pro)), (1, 1));
        assert_eq!(queues.oldest(Tier::Pro), Some(jobs[1].job));
        let turn = Turn {
            job: jobs[0].job,
            account,
            resumed: true,
        };
        assert_eq!(queues.pop(Tier::Pro), Some(turn));
        assert_eq!(places(), [1, 1, 2]);
        let depths = queues.depths_of(account);
        assert_eq!((depths.queued, depths.running), ([0, 0, 1], 1));
        let other = AccountId(Uuid::from_u128(2));
        assert_eq!(queues.depths_of(other), Depths::default());
        assert_eq!((queues.len(Tier::Pro), queues.len(Tier::Fast)), (1, 0));
        assert_eq!((queues.begun(Tier::Pro), queues.begun(Tier::Fast)), (1, 0));
        assert_eq!(queues.oldest(Tier::Pro), Some(jobs[1].job));
        assert_eq!(queues.oldest(Tier::Fast), None);
        jobs.iter().for_each(|job| queues.forget(*job));
        let waiting = queues.of(Tier::Pro).lock();
        assert!(waiting.queue.is_empty() && waiting.taken.is_empty());
        assert!(waiting.begun.is_empty());
    }

    #[test]
    fn the_dispatcher_is_told_once_until_it_looks() {
        let queues = Queues::default();
        assert!(queues.is_hint_due() && !queues.is_hint_due());
        queues.hint_taken();
        assert!(queues.is_hint_due());
    }
}
