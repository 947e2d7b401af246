//! The order in which jobs begin, and the positions that the queue reports.

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
fn positions_are_those_of_the_example() {
    let (queue, jobs) = queue_of(&[3, 1, 2], 0);
    let positions = jobs
        .iter()
        .map(|(account, job)| queue.position(*account, *job));
    assert!(positions.eq([1, 4, 6, 2, 3, 5].map(Some)));
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
