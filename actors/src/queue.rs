//! Who is next: first in, first out within an account; round robin between accounts.

use std::collections::{HashMap, VecDeque};
use tintype_storage::domain::ids::{AccountId, JobId};

/// The waiting jobs of one tier.
#[derive(Default)]
pub struct FairQueue {
    /// Accounts that have jobs here, the next one first. Each stands once.
    turns: VecDeque<AccountId>,
    jobs: HashMap<AccountId, VecDeque<JobId>>,
    len: usize,
}

impl FairQueue {
    /// Puts a job behind the others of its account.
    pub fn push(&mut self, account: AccountId, job: JobId) {
        self.line(account).push_back(job);
    }

    /// Puts a job before the others of its account: one whose turn had come before.
    pub fn push_front(&mut self, account: AccountId, job: JobId) {
        self.line(account).push_front(job);
    }

    fn line(&mut self, account: AccountId) -> &mut VecDeque<JobId> {
        self.len += 1;
        let line = self.jobs.entry(account).or_default();
        if line.is_empty() {
            self.turns.push_back(account);
        }
        line
    }

    /// The next job; its account then waits for its next turn.
    pub fn pop(&mut self) -> Option<JobId> {
        let account = self.turns.pop_front()?;
        let line = self.jobs.get_mut(&account)?;
        let job = line.pop_front()?;
        self.len -= 1;
        if line.is_empty() {
            self.jobs.remove(&account);
        } else {
            self.turns.push_back(account);
        }
        Some(job)
    }

    /// Takes a job out, wherever it stands.
    pub fn remove(&mut self, account: AccountId, job: JobId) -> bool {
        let Some(line) = self.jobs.get_mut(&account) else {
            return false;
        };
        let Some(at) = line.iter().position(|it| *it == job) else {
            return false;
        };
        line.remove(at);
        self.len -= 1;
        if line.is_empty() {
            self.jobs.remove(&account);
            self.turns.retain(|it| *it != account);
        }
        true
    }

    /// Waiting jobs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Nobody waits?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::ids::IdSource;
    use tintype_storage::domain::time::Timestamp;

    fn ids() -> impl FnMut() -> uuid::Uuid {
        let source = IdSource::new(Timestamp::from_millis(0));
        move || source.next(Timestamp::from_millis(1))
    }

    #[test]
    fn hostile_117_one_account_with_many_jobs_does_not_hold_up_another() {
        let mut next = ids();
        let (flood, other) = (AccountId(next()), AccountId(next()));
        let mut queue = FairQueue::default();
        let flooding: Vec<JobId> = (0..1_000).map(|_| JobId(next())).collect();
        flooding.iter().for_each(|job| queue.push(flood, *job));
        let late = JobId(next());
        queue.push(other, late);
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(flooding[0]), Some(late), Some(flooding[1])]
        );
        assert_eq!(queue.len(), 998);
        let rest: Vec<JobId> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest, flooding[2..], "first in, first out within an account");
        assert!(queue.is_empty());
    }

    #[test]
    fn a_removed_job_leaves_no_turn_behind() {
        let mut next = ids();
        let (a, b) = (AccountId(next()), AccountId(next()));
        let (job_a, job_b) = (JobId(next()), JobId(next()));
        let mut queue = FairQueue::default();
        queue.push(a, job_a);
        queue.push(b, job_b);
        assert!(queue.remove(a, job_a) && !queue.remove(a, job_a));
        queue.push(a, job_a);
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(job_b), Some(job_a), None]
        );
    }

    #[test]
    fn a_job_whose_turn_had_come_goes_first() {
        let mut next = ids();
        let account = AccountId(next());
        let (waiting, begun) = (JobId(next()), JobId(next()));
        let mut queue = FairQueue::default();
        queue.push(account, waiting);
        queue.push_front(account, begun);
        assert_eq!([queue.pop(), queue.pop()], [Some(begun), Some(waiting)]);
    }
}
