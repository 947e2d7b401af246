//! The queues of all tiers, shared by the dispatcher, who fills and empties them, and by whoever asks for a job's place: that
//! costs no message, so it is answered as fast while the dispatcher is busy.

use crate::queue::FairQueue;
use parking_lot::Mutex;
use std::collections::HashSet;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::tier::Tier;

/// One queue for each tier.
#[derive(Default)]
pub struct Queues([Mutex<Waiting>; 3]);

#[derive(Default)]
struct Waiting {
    queue: FairQueue,
    /// Jobs whose turn has come and whose run has not ended: no more than the back ends have places.
    taken: HashSet<JobId>,
}

impl Queues {
    fn of(&self, tier: Tier) -> &Mutex<Waiting> {
        &self.0[tier.index()]
    }

    /// Puts a job behind the others of its account.
    pub fn push(&self, tier: Tier, account: AccountId, job: JobId) {
        self.of(tier).lock().queue.push(account, job);
    }

    /// Puts a job before the others of its account.
    pub fn push_front(&self, tier: Tier, account: AccountId, job: JobId) {
        self.of(tier).lock().queue.push_front(account, job);
    }

    /// Takes the next job.
    pub fn pop(&self, tier: Tier) -> Option<JobId> {
        let mut waiting = self.of(tier).lock();
        let job = waiting.queue.pop()?;
        waiting.taken.insert(job);
        Some(job)
    }

    /// Forgets a job, wherever it stands.
    pub fn forget(&self, tier: Tier, account: AccountId, job: JobId) {
        let mut waiting = self.of(tier).lock();
        if !waiting.taken.remove(&job) {
            waiting.queue.remove(account, job);
        }
    }

    /// Jobs that wait.
    pub fn len(&self, tier: Tier) -> usize {
        self.of(tier).lock().queue.len()
    }

    /// Jobs whose turn has come and whose run has not ended.
    pub fn taken(&self, tier: Tier) -> usize {
        self.of(tier).lock().taken.len()
    }

    /// The job that has waited longest.
    pub fn oldest(&self, tier: Tier) -> Option<JobId> {
        self.of(tier).lock().queue.oldest()
    }

    /// Does none wait?
    pub fn is_empty(&self, tier: Tier) -> bool {
        self.of(tier).lock().queue.is_empty()
    }

    /// The place of a job that is queued in the store; see [`FairQueue::place`]. One whose turn has come is the next, and one
    /// that the dispatcher has yet to hear of stands last in its line; it may be told a lower place than it gets when others
    /// before it are on their way as well.
    pub fn position(&self, tier: Tier, account: AccountId, job: JobId) -> usize {
        let waiting = self.of(tier).lock();
        if waiting.taken.contains(&job) {
            return 1;
        }
        let place = waiting.queue.place(account, job);
        place.unwrap_or_else(|| waiting.queue.next_place(account))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn a_job_whose_turn_has_come_is_the_next_until_it_is_forgotten() {
        let queues = Queues::default();
        let account = AccountId(Uuid::from_u128(1));
        let jobs = [1, 2, 3].map(|id| JobId(Uuid::from_u128(id)));
        let places = || jobs.map(|job| queues.position(Tier::Pro, account, job));
        queues.push(Tier::Pro, account, jobs[0]);
        queues.push(Tier::Pro, account, jobs[1]);
        assert_eq!(places(), [1, 2, 3], "the third is on its way");
        assert_eq!(queues.pop(Tier::Pro), Some(jobs[0]));
        assert_eq!(places(), [1, 1, 2]);
        assert_eq!((queues.len(Tier::Pro), queues.len(Tier::Fast)), (1, 0));
        assert_eq!((queues.taken(Tier::Pro), queues.taken(Tier::Fast)), (1, 0));
        assert_eq!(queues.oldest(Tier::Pro), Some(jobs[1]));
        assert_eq!(queues.oldest(Tier::Fast), None);
        jobs.iter()
            .for_each(|job| queues.forget(Tier::Pro, account, *job));
        assert!(queues.is_empty(Tier::Pro) && queues.of(Tier::Pro).lock().taken.is_empty());
    }
}
