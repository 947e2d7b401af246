//! Who is next: first in, first out within an account; round robin between accounts.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use tintype_storage::domain::ids::{AccountId, JobId};

/// The waiting jobs of one tier.
#[derive(Default)]
pub struct FairQueue {
    /// Accounts that have jobs here, the next one first. Each stands once.
    turns: VecDeque<AccountId>,
    lines: HashMap<AccountId, Line>,
    /// How many lines there are of each length, so that a job's place is found without looking at every account.
    lengths: BTreeMap<usize, usize>,
    len: usize,
    /// The number of the next turn.
    turn: u64,
}

/// The waiting jobs of one account.
#[derive(Default)]
struct Line {
    jobs: VecDeque<JobId>,
    /// The number of the turn that it waits for: rises from the first of the turns to the last.
    turn: u64,
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

    /// The line that gets a job.
    fn line(&mut self, account: AccountId) -> &mut VecDeque<JobId> {
        self.len += 1;
        let line = self.lines.entry(account).or_default();
        let length = line.jobs.len();
        if length == 0 {
            line.turn = self.turn;
            self.turn += 1;
            self.turns.push_back(account);
        }
        resize(&mut self.lengths, length, length + 1);
        &mut line.jobs
    }

    /// The next job; its account then waits for its next turn.
    pub fn pop(&mut self) -> Option<(AccountId, JobId)> {
        let account = self.turns.pop_front()?;
        let line = self.lines.get_mut(&account)?;
        let job = line.jobs.pop_front()?;
        self.len -= 1;
        let length = line.jobs.len();
        resize(&mut self.lengths, length + 1, length);
        if length == 0 {
            self.lines.remove(&account);
        } else {
            line.turn = self.turn;
            self.turn += 1;
            self.turns.push_back(account);
        }
        Some((account, job))
    }

    /// Takes a job out, wherever it stands.
    pub fn remove(&mut self, account: AccountId, job: JobId) -> bool {
        let Some(line) = self.lines.get_mut(&account) else {
            return false;
        };
        let Some(at) = line.position(job) else {
            return false;
        };
        line.jobs.remove(at);
        self.len -= 1;
        let length = line.jobs.len();
        resize(&mut self.lengths, length + 1, length);
        if length == 0 {
            self.lines.remove(&account);
            self.turns.retain(|it| *it != account);
        }
        true
    }

    /// Which job this is in the order in which they begin, if none comes or goes meanwhile: 1 is the next one. `None` when it
    /// does not wait here.
    ///
    /// The job that has `k` of its own account's before it begins in that account's turn `k + 1`. Until then each other account
    /// has had `k` turns, or as many as it has jobs, and one more if its turn comes earlier and it has more than `k` jobs. Of
    /// that last part only the sum is known here: of the accounts whose turn comes earlier as many are taken to have more than
    /// `k` jobs as of all. So the number is exact for each account's next job, and between two accounts, and else off by less
    /// than the number of accounts. It costs no look at each account, and of the jobs only at some of the own line.
    pub fn place(&self, account: AccountId, job: JobId) -> Option<usize> {
        let line = self.lines.get(&account)?;
        Some(self.place_in(line.position(job)?, Some(line)))
    }

    /// The place of a job that would come now.
    pub fn next_place(&self, account: AccountId) -> usize {
        let line = self.lines.get(&account);
        self.place_in(line.map_or(0, |it| it.jobs.len()), line)
    }

    fn place_in(&self, own: usize, line: Option<&Line>) -> usize {
        let (mut shorter, mut longer) = (0, 0);
        for (length, lines) in &self.lengths {
            shorter += lines * own.min(*length);
            longer += if *length > own { *lines } else { 0 };
        }
        // The own line was counted like the others.
        if let Some(line) = line {
            shorter -= own.min(line.jobs.len());
            longer -= usize::from(line.jobs.len() > own);
        }
        let others = self.turns.len() - usize::from(line.is_some());
        let first = self.turns.front().and_then(|it| self.lines.get(it));
        let first = first.map_or(self.turn, |it| it.turn);
        let turn = line.map_or(self.turn, |it| it.turn);
        // Turns that were given up leave gaps.
        let earlier = usize::try_from(turn - first).unwrap_or(others).min(others);
        let earlier_and_longer = (earlier * longer).checked_div(others).unwrap_or(0);
        1 + own + shorter + earlier_and_longer
    }

    /// Waiting jobs of an account.
    pub fn len_of(&self, account: AccountId) -> usize {
        self.lines.get(&account).map_or(0, |it| it.jobs.len())
    }

    /// The job that has waited longest, of those that are first of their account but for these others.
    pub fn oldest(&self, others: &HashSet<JobId>) -> Option<JobId> {
        let first = |line: &Line| line.jobs.iter().find(|it| !others.contains(it)).copied();
        self.lines.values().filter_map(first).min()
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

impl Line {
    fn position(&self, job: JobId) -> Option<usize> {
        // Jobs stand in the order of their ids, but for one that was put before the others out of turn.
        let at = self.jobs.partition_point(|it| *it < job);
        if self.jobs.get(at) == Some(&job) {
            return Some(at);
        }
        self.jobs.iter().position(|it| *it == job)
    }
}

/// A line of one length now has another. Lines of length 0 are none.
fn resize(lengths: &mut BTreeMap<usize, usize>, from: usize, to: usize) {
    if let Some(lines) = lengths.get_mut(&from) {
        *lines -= 1;
        if *lines == 0 {
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
        queue.pop().map(|(_, job)| job)
    }

    fn ids() -> impl FnMut() -> uuid::Uuid {
        let source = IdSource::new(Timestamp::from_millis(0));
        move || source.next(Timestamp::from_millis(1))
    }

    #[test]
    fn hostile_117_one_account_with_many_jobs_does_not_hold_up_another() {
        let mut new = ids();
        let (flood, other) = (AccountId(new()), AccountId(new()));
        let mut queue = FairQueue::default();
        let flooding: Vec<JobId> = (0..1_000).map(|_| JobId(new())).collect();
        flooding.iter().for_each(|job| queue.push(flood, *job));
        let late = JobId(new());
        queue.push(other, late);
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
    fn a_removed_job_leaves_no_turn_behind() {
        let mut new = ids();
        let (a, b) = (AccountId(new()), AccountId(new()));
        let (job_a, job_b) = (JobId(new()), JobId(new()));
        let mut queue = FairQueue::default();
        queue.push(a, job_a);
        queue.push(b, job_b);
        assert!(queue.remove(a, job_a) && !queue.remove(a, job_a));
        queue.push(a, job_a);
        assert_eq!(
            [next(&mut queue), next(&mut queue), next(&mut queue)],
            [Some(job_b), Some(job_a), None]
        );
    }

    #[test]
    fn a_job_whose_turn_had_come_goes_first() {
        let mut new = ids();
        let account = AccountId(new());
        let (waiting, begun) = (JobId(new()), JobId(new()));
        let mut queue = FairQueue::default();
        queue.push(account, waiting);
        queue.push_front(account, begun);
        assert_eq!(
            [next(&mut queue), next(&mut queue)],
            [Some(begun), Some(waiting)]
        );
    }

    /// The places of all jobs as they are told, with the order in which they are then popped.
    fn told_and_true(mut queue: FairQueue, jobs: &[(AccountId, JobId)]) -> Vec<(usize, usize)> {
        let told: HashMap<JobId, usize> = jobs
            .iter()
            .filter_map(|(account, job)| Some((*job, queue.place(*account, *job)?)))
            .collect();
        assert_eq!(told.len(), queue.len());
        let popped = std::iter::from_fn(|| next(&mut queue));
        (1..)
            .zip(popped)
            .map(|(at, job)| (told[&job], at))
            .collect()
    }

    /// Lines of these lengths after so many turns; each account's jobs.
    fn queue_of(lengths: &[usize], turns: usize) -> (FairQueue, Vec<(AccountId, JobId)>) {
        let mut new = ids();
        let mut queue = FairQueue::default();
        let mut jobs = Vec::new();
        for length in lengths {
            let account = AccountId(new());
            for _ in 0..*length {
                let job = JobId(new());
                queue.push(account, job);
                jobs.push((account, job));
            }
        }
        for _ in 0..turns {
            queue.pop();
        }
        (queue, jobs)
    }

    #[test]
    fn places_are_exact_for_one_account_and_between_two() {
        for turns in 0..6 {
            for lengths in [&[9][..], &[5, 3], &[3, 5], &[1, 8], &[8, 1], &[4, 4]] {
                let (queue, jobs) = queue_of(lengths, turns);
                for (told, is) in told_and_true(queue, &jobs) {
                    assert_eq!(told, is, "{lengths:?} after {turns} turns");
                }
            }
        }
    }

    #[test]
    fn places_among_many_accounts_are_off_by_less_than_their_number() {
        let lengths = [1, 40, 2, 2, 17, 3, 40, 1, 5, 9];
        for turns in [0, 1, 5, 11, 30] {
            let (queue, jobs) = queue_of(&lengths, turns);
            let accounts = queue.turns.len();
            let places = told_and_true(queue, &jobs);
            for (told, is) in &places {
                assert!(told.abs_diff(*is) < accounts, "told {told}, is {is}");
                assert!((1..=places.len()).contains(told), "told {told}");
            }
            assert_eq!(places[0].0, 1, "the next one is told so");
            let next_ones = &places[..accounts];
            assert!(next_ones.iter().all(|(told, is)| told == is));
        }
    }

    #[test]
    fn places_in_one_line_rise() {
        let (queue, jobs) = queue_of(&[30, 7, 7, 1, 12], 9);
        let line = jobs.iter().filter(|(account, _)| *account == jobs[0].0);
        let told: Vec<usize> = line.filter_map(|(a, job)| queue.place(*a, *job)).collect();
        assert!(told.is_sorted_by(|a, b| a < b), "{told:?}");
    }

    #[test]
    fn a_job_that_is_not_there_has_no_place_and_a_coming_one_the_last_of_its_line() {
        let (mut queue, jobs) = queue_of(&[3, 2], 0);
        let mut new = ids();
        let (stranger, coming) = (AccountId(new()), JobId(new()));
        assert_eq!(queue.place(stranger, jobs[0].1), None);
        assert_eq!(queue.place(jobs[0].0, coming), None);
        let place = queue.next_place(stranger);
        queue.push(stranger, coming);
        assert_eq!(queue.place(stranger, coming), Some(place));
        assert_eq!(FairQueue::default().next_place(stranger), 1);
    }

    #[test]
    fn jobs_that_are_taken_out_leave_the_others_their_places() {
        let (mut queue, jobs) = queue_of(&[2, 1, 1, 1], 0);
        for (account, job) in &jobs[2..4] {
            assert!(queue.remove(*account, *job));
        }
        let left = [jobs[0], jobs[4], jobs[1]];
        let told = left.map(|(account, job)| queue.place(account, job));
        assert_eq!(told, [Some(1), Some(2), Some(3)]);
        let (emptied, _) = queue_of(&[5, 2, 9], 16);
        assert!(emptied.lengths.is_empty() && emptied.lines.is_empty());
    }
}
