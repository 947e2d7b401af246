//! A fair queue: round robin between accounts; within an account first in, first out, single jobs before batch jobs.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::Job;
use tintype_storage::fast_hash::HashMap;

/// The line of its account in which a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Jobs that were submitted one by one. They go first.
    Single,
    Batch,
}

impl Lane {
    pub fn of<S>(job: &Job<S>) -> Self {
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
    ///
    /// ```text
    /// account   waiting jobs   positions
    /// A         a1 a2 a3       1  4  6
    /// B         b1             2
    /// C         c1 c2          3  5
    /// ```
    ///
    /// The next turns are those of A, B and C. One job of C is before c2, so A and B have had one turn each. The turns of both come
    /// earlier, and one of them has more than one job: A has had another turn. So 1 + 2 + 1 jobs begin before c2.
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
mod tests;
