//! A fair queue: round robin between accounts; within an account first in, first out, single jobs before batch jobs.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;

/// The line of its account in which a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Jobs that were submitted one by one. They go first.
    Single,
    Batch,
}

impl Lane {
    pub fn of(job: &Job) -> Self {
        match job.member() {
            Some(_) => Self::Batch,
            None => Self::Single,
        }
    }
}

/// The waiting jobs of one tier.
#[derive(Default)]
pub struct FairQueue {
    /// Accounts with waiting jobs, the next one first. Each account is in it once.
    turns: VecDeque<AccountId>,
    accounts: HashMap<AccountId, AccountQueue>,
    /// The number of account queues of each length, so that [`FairQueue::position`] need not visit every account.
    lengths: BTreeMap<usize, usize>,
    len: usize,
    /// The number of the next turn.
    turn: u64,
}

#[derive(Default)]
struct AccountQueue {
    single: VecDeque<JobId>,
    batch: VecDeque<JobId>,
    /// The number of the turn that the account waits for. It rises from the front of `turns` to the back.
    turn: u64,
}

impl FairQueue {
    /// Appends a job to its account and lane.
    pub fn push(&mut self, account: AccountId, job: JobId, lane: Lane) {
        self.grow(account).lane(lane).push_back(job);
    }

    /// Puts a job whose turn had come already in front of its account and lane.
    pub fn push_front(&mut self, account: AccountId, job: JobId, lane: Lane) {
        self.grow(account).lane(lane).push_front(job);
    }

    /// The queue of an account, counted as one longer: the caller adds a job.
    fn grow(&mut self, account: AccountId) -> &mut AccountQueue {
        self.len += 1;
        let queue = self.accounts.entry(account).or_default();
        let length = queue.len();
        if length == 0 {
            queue.turn = self.turn;
            self.turn += 1;
            self.turns.push_back(account);
        }
        resize(&mut self.lengths, length, length + 1);
        queue
    }

    /// Takes the next job. Its account goes to the back of the turns. An account that `is_held` names keeps its turn until it has a
    /// single job or is held no longer.
    pub fn pop(&mut self, is_held: impl Fn(AccountId) -> bool) -> Option<(AccountId, JobId, Lane)> {
        let account = self.turns.remove(self.next_turn(is_held)?)?;
        let queue = self.accounts.get_mut(&account)?;
        let (job, lane) = queue.pop()?;
        self.len -= 1;
        let length = queue.len();
        resize(&mut self.lengths, length + 1, length);
        if length == 0 {
            self.accounts.remove(&account);
        } else {
            queue.turn = self.turn;
            self.turn += 1;
            self.turns.push_back(account);
        }
        Some((account, job, lane))
    }

    /// Would [`FairQueue::pop`] take a job?
    pub fn has_next(&self, is_held: impl Fn(AccountId) -> bool) -> bool {
        self.next_turn(is_held).is_some()
    }

    /// The index of the next turn.
    fn next_turn(&self, is_held: impl Fn(AccountId) -> bool) -> Option<usize> {
        let has_single = |account| {
            let queue = self.accounts.get(account);
            queue.is_some_and(|it| !it.single.is_empty())
        };
        let mut turns = self.turns.iter();
        turns.position(|account| !is_held(*account) || has_single(account))
    }

    /// Removes a job from any position. Returns false if it is not queued.
    pub fn remove(&mut self, account: AccountId, job: JobId) -> bool {
        let Some(queue) = self.accounts.get_mut(&account) else {
            return false;
        };
        if !queue.remove(job) {
            return false;
        }
        self.len -= 1;
        let length = queue.len();
        resize(&mut self.lengths, length + 1, length);
        if length == 0 {
            self.accounts.remove(&account);
            self.turns.retain(|it| *it != account);
        }
        true
    }

    /// The position of a job in the order in which jobs begin if none is added or removed: 1 is the next job. `None` if the job is not
    /// queued.
    ///
    /// A job with `k` jobs of its own account before it begins in that account's turn `k + 1`. Until then each other account has
    /// had `k` turns, or as many as it has jobs, and one more if its turn comes earlier and it has more than `k` jobs. The queue knows
    /// only how many accounts have more than `k` jobs, and assumes that the accounts with an earlier turn have the same share of them
    /// as all accounts. The position is therefore exact for each account's next job and between two accounts; otherwise it is off by
    /// less than the number of accounts. In return it does not visit every account.
    pub fn position(&self, account: AccountId, job: JobId) -> Option<usize> {
        let queue = self.accounts.get(&account)?;
        Some(self.position_at(queue.position(job)?, Some(queue)))
    }

    /// The position that a new job of this account and lane would get.
    pub fn next_position(&self, account: AccountId, lane: Lane) -> usize {
        let queue = self.accounts.get(&account);
        let own = queue.map_or(0, |it| match lane {
            Lane::Single => it.single.len(),
            Lane::Batch => it.len(),
        });
        self.position_at(own, queue)
    }

    fn position_at(&self, own: usize, queue: Option<&AccountQueue>) -> usize {
        let (mut shorter, mut longer) = (0, 0);
        for (length, accounts) in &self.lengths {
            shorter += accounts * own.min(*length);
            longer += if *length > own { *accounts } else { 0 };
        }
        // The loop has also counted the job's own account.
        if let Some(queue) = queue {
            shorter -= own.min(queue.len());
            longer -= usize::from(queue.len() > own);
        }
        let others = self.turns.len() - usize::from(queue.is_some());
        let first = self.turns.front().and_then(|it| self.accounts.get(it));
        let first = first.map_or(self.turn, |it| it.turn);
        let turn = queue.map_or(self.turn, |it| it.turn);
        // Accounts that leave the queue leave gaps in the turn numbers.
        let earlier = usize::try_from(turn - first).unwrap_or(others).min(others);
        let earlier_and_longer = (earlier * longer).checked_div(others).unwrap_or(0);
        1 + own + shorter + earlier_and_longer
    }

    /// The jobs of an account, the next one first.
    pub fn of_account(&self, account: AccountId) -> impl Iterator<Item = JobId> + '_ {
        let queue = self.accounts.get(&account).into_iter();
        queue
            .flat_map(|it| it.single.iter().chain(&it.batch))
            .copied()
    }

    /// Visits the jobs in the order in which they begin if none is added or removed, until `visit` breaks.
    pub fn visit(&self, mut visit: impl FnMut(AccountId, JobId) -> ControlFlow<()>) {
        let queues = self.turns.iter().filter_map(|account| {
            let queue = self.accounts.get(account)?;
            Some((*account, queue.single.iter().chain(&queue.batch)))
        });
        let mut turns: VecDeque<_> = queues.collect();
        while let Some((account, mut jobs)) = turns.pop_front() {
            if let Some(job) = jobs.next() {
                if visit(account, *job).is_break() {
                    return;
                }
                turns.push_back((account, jobs));
            }
        }
    }

    pub fn len_of(&self, account: AccountId) -> usize {
        self.accounts.get(&account).map_or(0, AccountQueue::len)
    }

    /// The number of an account's batch jobs.
    pub fn batch_len_of(&self, account: AccountId) -> usize {
        self.accounts.get(&account).map_or(0, |it| it.batch.len())
    }

    /// The oldest of the first jobs of all accounts and lanes.
    pub fn oldest(&self) -> Option<(AccountId, JobId)> {
        let first = |jobs: &VecDeque<JobId>| jobs.front().copied();
        let of_account = |(account, queue): (&AccountId, &AccountQueue)| {
            let jobs = [&queue.single, &queue.batch].into_iter();
            Some((*account, jobs.filter_map(first).min()?))
        };
        let oldest = self.accounts.iter().filter_map(of_account);
        oldest.min_by_key(|(_, job)| *job)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl AccountQueue {
    fn lane(&mut self, lane: Lane) -> &mut VecDeque<JobId> {
        match lane {
            Lane::Single => &mut self.single,
            Lane::Batch => &mut self.batch,
        }
    }

    fn len(&self) -> usize {
        self.single.len() + self.batch.len()
    }

    fn pop(&mut self) -> Option<(JobId, Lane)> {
        match self.single.pop_front() {
            Some(job) => Some((job, Lane::Single)),
            None => Some((self.batch.pop_front()?, Lane::Batch)),
        }
    }

    fn remove(&mut self, job: JobId) -> bool {
        for lane in [&mut self.single, &mut self.batch] {
            if let Some(at) = index_of(lane, job) {
                lane.remove(at);
                return true;
            }
        }
        false
    }

    /// The number of jobs of the account that begin before this one.
    fn position(&self, job: JobId) -> Option<usize> {
        let behind_single = || Some(self.single.len() + index_of(&self.batch, job)?);
        index_of(&self.single, job).or_else(behind_single)
    }
}

fn index_of(jobs: &VecDeque<JobId>, job: JobId) -> Option<usize> {
    // Jobs are in the order of their ids, except those that `push_front` added.
    let at = jobs.partition_point(|it| *it < job);
    if jobs.get(at) == Some(&job) {
        return Some(at);
    }
    jobs.iter().position(|it| *it == job)
}

/// Counts an account queue of length `from` as one of length `to`. Length 0 means no queue.
fn resize(lengths: &mut BTreeMap<usize, usize>, from: usize, to: usize) {
    if let Some(accounts) = lengths.get_mut(&from) {
        *accounts -= 1;
        if *accounts == 0 {
            lengths.remove(&from);
        }
    }
    if to > 0 {
        *lengths.entry(to).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::ids::IdSource;
    use tintype_storage::domain::time::Timestamp;

    fn next(queue: &mut FairQueue) -> Option<JobId> {
        queue.pop(|_| false).map(|(_, job, _)| job)
    }

    fn ids() -> impl FnMut() -> uuid::Uuid {
        let source = IdSource::new(Timestamp::from_millis(0));
        move || source.next(Timestamp::from_millis(1))
    }

    #[test]
    fn hostile_117_an_account_with_many_jobs_does_not_delay_another() {
        let mut new = ids();
        let (flood, other) = (AccountId(new()), AccountId(new()));
        let mut queue = FairQueue::default();
        let flooding: Vec<JobId> = (0..1_000).map(|_| JobId(new())).collect();
        flooding
            .iter()
            .for_each(|job| queue.push(flood, *job, Lane::Single));
        let late = JobId(new());
        queue.push(other, late, Lane::Single);
        assert_eq!(
            [next(&mut queue), next(&mut queue), next(&mut queue)],
            [Some(flooding[0]), Some(late), Some(flooding[1])]
        );
        assert_eq!(queue.len(), 998);
        let rest: Vec<JobId> = std::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(rest, flooding[2..], "first in, first out within an account");
        assert!(queue.is_empty());
    }

    #[test]
    fn batch_jobs_wait_behind_the_single_jobs_of_their_account() {
        let mut new = ids();
        let (flood, other) = (AccountId(new()), AccountId(new()));
        let mut queue = FairQueue::default();
        let [first, second, single, theirs] = [(); 4].map(|()| JobId(new()));
        queue.push(flood, first, Lane::Batch);
        queue.push(flood, second, Lane::Batch);
        queue.push(other, theirs, Lane::Batch);
        assert_eq!(queue.next_position(flood, Lane::Single), 1);
        queue.push(flood, single, Lane::Single);
        assert_eq!(queue.next_position(flood, Lane::Batch), 5);
        assert_eq!(queue.len_of(flood), 3);
        let order = [
            (flood, single),
            (other, theirs),
            (flood, first),
            (flood, second),
        ];
        let positions = order.map(|(account, job)| queue.position(account, job));
        assert_eq!(positions, [1, 2, 3, 4].map(Some));
        let mut visited = Vec::new();
        queue.visit(|account, job| {
            visited.push((account, job));
            match visited.len() {
                3 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        assert_eq!(visited, order[..3]);
        assert_eq!(queue.oldest(), Some((flood, first)));
        assert!(queue.remove(flood, first));
        let popped: Vec<JobId> = std::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(popped, [single, theirs, second]);
    }

    #[test]
    fn removing_the_only_job_of_an_account_removes_its_turn() {
        let mut new = ids();
        let (a, b) = (AccountId(new()), AccountId(new()));
        let (job_a, job_b) = (JobId(new()), JobId(new()));
        let mut queue = FairQueue::default();
        queue.push(a, job_a, Lane::Single);
        queue.push(b, job_b, Lane::Single);
        assert!(queue.remove(a, job_a) && !queue.remove(a, job_a));
        queue.push(a, job_a, Lane::Single);
        assert_eq!(
            [next(&mut queue), next(&mut queue), next(&mut queue)],
            [Some(job_b), Some(job_a), None]
        );
    }

    #[test]
    fn a_job_pushed_to_the_front_is_dequeued_first() {
        let mut new = ids();
        let account = AccountId(new());
        let (waiting, begun) = (JobId(new()), JobId(new()));
        let mut queue = FairQueue::default();
        queue.push(account, waiting, Lane::Single);
        queue.push_front(account, begun, Lane::Single);
        assert_eq!(
            [next(&mut queue), next(&mut queue)],
            [Some(begun), Some(waiting)]
        );
    }

    /// The reported position of each job, with the order in which the queue then pops it.
    fn reported_and_true(mut queue: FairQueue, jobs: &[(AccountId, JobId)]) -> Vec<(usize, usize)> {
        let reported: HashMap<JobId, usize> = jobs
            .iter()
            .filter_map(|(account, job)| Some((*job, queue.position(*account, *job)?)))
            .collect();
        assert_eq!(reported.len(), queue.len());
        let popped = std::iter::from_fn(|| next(&mut queue));
        (1..)
            .zip(popped)
            .map(|(at, job)| (reported[&job], at))
            .collect()
    }

    /// A queue of accounts with `lengths` jobs each, after `turns` pops, and all jobs.
    fn queue_of(lengths: &[usize], turns: usize) -> (FairQueue, Vec<(AccountId, JobId)>) {
        let mut new = ids();
        let mut queue = FairQueue::default();
        let mut jobs = Vec::new();
        for length in lengths {
            let account = AccountId(new());
            for _ in 0..*length {
                let job = JobId(new());
                queue.push(account, job, Lane::Single);
                jobs.push((account, job));
            }
        }
        for _ in 0..turns {
            queue.pop(|_| false);
        }
        (queue, jobs)
    }

    #[test]
    fn positions_are_exact_for_one_account_and_between_two() {
        for turns in 0..6 {
            for lengths in [&[9][..], &[5, 3], &[3, 5], &[1, 8], &[8, 1], &[4, 4]] {
                let (queue, jobs) = queue_of(lengths, turns);
                for (reported, is) in reported_and_true(queue, &jobs) {
                    assert_eq!(reported, is, "{lengths:?} after {turns} turns");
                }
            }
        }
    }

    #[test]
    fn positions_among_many_accounts_are_off_by_less_than_their_number() {
        let lengths = [1, 40, 2, 2, 17, 3, 40, 1, 5, 9];
        for turns in [0, 1, 5, 11, 30] {
            let (queue, jobs) = queue_of(&lengths, turns);
            let accounts = queue.turns.len();
            let positions = reported_and_true(queue, &jobs);
            for (reported, is) in &positions {
                assert!(
                    reported.abs_diff(*is) < accounts,
                    "reported {reported}, is {is}"
                );
                assert!(
                    (1..=positions.len()).contains(reported),
                    "reported {reported}"
                );
            }
            assert_eq!(positions[0].0, 1, "the next job has position 1");
            let next_ones = &positions[..accounts];
            assert!(next_ones.iter().all(|(reported, is)| reported == is));
        }
    }

    #[test]
    fn positions_within_an_account_rise() {
        let (queue, jobs) = queue_of(&[30, 7, 7, 1, 12], 9);
        let own = jobs.iter().filter(|(account, _)| *account == jobs[0].0);
        let reported: Vec<usize> = own
            .filter_map(|(a, job)| queue.position(*a, *job))
            .collect();
        assert!(reported.is_sorted_by(|a, b| a < b), "{reported:?}");
    }

    #[test]
    fn an_unqueued_job_has_no_position_and_a_new_job_has_the_last_of_its_lane() {
        let (mut queue, jobs) = queue_of(&[3, 2], 0);
        let mut new = ids();
        let (stranger, coming) = (AccountId(new()), JobId(new()));
        assert_eq!(queue.position(stranger, jobs[0].1), None);
        assert_eq!(queue.position(jobs[0].0, coming), None);
        let position = queue.next_position(stranger, Lane::Single);
        queue.push(stranger, coming, Lane::Single);
        assert_eq!(queue.position(stranger, coming), Some(position));
        assert_eq!(
            FairQueue::default().next_position(stranger, Lane::Single),
            1
        );
    }

    #[test]
    fn removed_jobs_leave_no_gap_in_the_positions() {
        let (mut queue, jobs) = queue_of(&[2, 1, 1, 1], 0);
        for (account, job) in &jobs[2..4] {
            assert!(queue.remove(*account, *job));
        }
        let left = [jobs[0], jobs[4], jobs[1]];
        let reported = left.map(|(account, job)| queue.position(account, job));
        assert_eq!(reported, [Some(1), Some(2), Some(3)]);
        let (emptied, _) = queue_of(&[5, 2, 9], 16);
        assert!(emptied.lengths.is_empty() && emptied.accounts.is_empty());
    }
}
