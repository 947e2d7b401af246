//! Turns, positions and backlogs of the queues, and accounts whose batches must wait.

use super::*;
use crate::queue::Lane;
use futures_util::FutureExt as _;
use tintype_storage::domain::pause::PauseReasons;
use uuid::Uuid;

const NONE: Pause = paused(false);

const fn paused(project: bool) -> Pause {
    Pause {
        project,
        tiers: [false; 3],
        reasons: PauseReasons {
            project: None,
            tiers: [const { None }; 3],
        },
    }
}

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
    let queues = Arc::new(LocalQueue::default());
    let job = |id| job(id, Tier::Pro);
    assert!(!queues.push_all([]));
    assert!(queues.push_all([job(1), job(2)]));
    assert!(!queues.push_all([job(3)]));
    let fast = |id| super::tests::job(id, Tier::Fast);
    assert!(queues.push_all([job(4), fast(5)]));
    queues.pop(Tier::Fast, &NONE).expect("a job").end();
    assert!(queues.push_all([fast(6)]));
    let other = |id| QueuedJob {
        account: AccountId(Uuid::from_u128(2)),
        ..job(id)
    };
    assert!(!queues.has_other(Tier::Pro, job(1).account, &NONE));
    assert!(
        queues.push_all([other(7)]),
        "the first job of another account"
    );
    assert!(!queues.push_all([other(8)]));
    assert!(queues.has_other(Tier::Pro, job(1).account, &NONE));
}

#[test]
fn a_batch_job_that_may_not_begin_is_no_other_job() {
    let queues = Arc::new(LocalQueue::default());
    let own = job(1, Tier::Pro);
    let batch = QueuedJob {
        account: AccountId(Uuid::from_u128(2)),
        lane: Lane::Batch,
        ..job(2, Tier::Pro)
    };
    queues.push_all([own, batch]);
    let fetch = queues.begin_fetch(Tier::Pro, batch.account, 1);
    assert!(!queues.has_other(Tier::Pro, own.account, &NONE));
    drop(fetch);
    assert!(queues.has_other(Tier::Pro, own.account, &NONE));
}

#[test]
fn a_backlog_begins_with_the_job_that_enters_the_empty_queue() {
    let queues = Arc::new(LocalQueue::default());
    let job = |id| job(id, Tier::Pro);
    let backlog = || {
        queues
            .backlog(Tier::Pro)
            .map(|it| (it.first, it.begun, it.ended))
    };
    assert_eq!(backlog(), None);
    queues.push_all([job(1)]);
    let running = queues.pop(Tier::Pro, &NONE).expect("a turn");
    assert_eq!(backlog(), None, "none waits");
    queues.push_all([job(2), job(3), job(4)]);
    let first = job(2).job;
    assert_eq!(backlog(), Some((first, 0, 0)), "one ran before it began");
    let second = queues.pop(Tier::Pro, &NONE).expect("a turn");
    assert_eq!(backlog(), Some((first, 1, 0)));
    running.end();
    assert_eq!(backlog(), Some((first, 1, 1)));
    second.end();
    assert_eq!(backlog(), Some((first, 1, 2)));
    assert_eq!(queues.backlog(Tier::Fast), None);
}

#[test]
fn a_dequeued_job_has_position_1_until_its_turn_ends() {
    let queues = Arc::new(LocalQueue::default());
    let jobs = [1, 2, 3].map(|id| job(id, Tier::Pro));
    let account = jobs[0].account;
    let positions = || jobs.map(|job| queues.position(job));
    queues.push_begun(jobs[0]);
    assert!(
        queues.push_all([jobs[1]]),
        "the first that waits for its first run"
    );
    assert_eq!(
        positions()[1..],
        [1, 2],
        "the third is not in the queue yet"
    );
    // The first one waits as well, but not for its first run.
    assert_eq!((queues.queued(Tier::Pro), queues.begun(Tier::Pro)), (1, 1));
    assert_eq!(queues.oldest(Tier::Pro), Some((account, jobs[1].job)));
    let depths = queues.depths_of(account);
    assert_eq!((depths.queued, depths.running), ([0, 0, 1], 1));
    assert_eq!((queues.depths(), queues.in_progress()), (depths, 0));
    let turn = queues.pop(Tier::Pro, &NONE).expect("a turn");
    assert_eq!((turn.job(), turn.is_resumed()), (jobs[0], true));
    assert_eq!(positions(), [1, 1, 2]);
    let depths = queues.depths_of(account);
    assert_eq!((depths.queued, depths.running), ([0, 0, 1], 1));
    assert_eq!(queues.depths(), depths);
    let other = AccountId(Uuid::from_u128(2));
    assert_eq!(queues.depths_of(other), Depths::default());
    assert_eq!(
        (queues.queued(Tier::Pro), queues.queued(Tier::Fast)),
        (1, 0)
    );
    assert_eq!((queues.begun(Tier::Pro), queues.begun(Tier::Fast)), (1, 0));
    assert_eq!(queues.oldest(Tier::Pro), Some((account, jobs[1].job)));
    assert_eq!(queues.oldest(Tier::Fast), None);
    let remove = |it: QueuedJob| queues.remove(it.tier, it.account, it.job);
    remove(jobs[0]);
    assert_eq!(queues.in_progress(), 1, "its actor ends the turn");
    turn.end();
    jobs[1..].iter().for_each(|job| remove(*job));
    let tier = queues.of(Tier::Pro).lock();
    assert!(tier.queue.is_empty() && tier.taken.is_empty() && tier.begun.is_empty());
}

#[test]
fn a_turn_that_is_dropped_puts_its_job_in_front_and_wakes_the_dispatcher() {
    let queues = Arc::new(LocalQueue::default());
    queues.push_all([job(1, Tier::Fast), job(2, Tier::Fast)]);
    let waker = queues.waker();
    let turn = queues.pop(Tier::Fast, &NONE).expect("a turn");
    assert!(!turn.is_resumed() && waker.notified().now_or_never().is_none());
    drop(turn);
    assert!(waker.notified().now_or_never().is_some());
    assert_eq!((queues.in_progress(), queues.depths().running), (0, 1));
    let again = queues.pop(Tier::Fast, &NONE).expect("a turn");
    assert_eq!(
        (again.job(), again.is_resumed()),
        (job(1, Tier::Fast), true)
    );
    again.end();
    assert!(waker.notified().now_or_never().is_none());
}

#[test]
fn an_account_at_its_fetch_limit_starts_only_single_jobs() {
    let queues = Arc::new(LocalQueue::default());
    let batch = |id| QueuedJob {
        lane: Lane::Batch,
        ..job(id, Tier::Pro)
    };
    let account = batch(1).account;
    queues.push_all([batch(1), batch(2), batch(3), batch(4)]);
    let pop = || queues.pop(Tier::Pro, &NONE).map(|turn| turn.job().job);
    let end = || queues.pop(Tier::Pro, &NONE).expect("a turn").end();
    let fetch = || queues.begin_fetch(Tier::Pro, account, 2);
    let is_empty = || queues.of(Tier::Pro).lock().queue.is_empty();
    end();
    let first = fetch();
    assert_eq!(queues.waiting(&NONE), [0, 0, 3]);
    end();
    let second = fetch();
    assert_eq!(pop(), None);
    assert!(!queues.has_next(Tier::Pro, &NONE) && !is_empty());
    assert_eq!(queues.waiting(&NONE), [0; 3], "they do not wait for a slot");
    assert_eq!(queues.held_accounts(Tier::Pro), HashSet::from([account]));
    assert_eq!(queues.held_accounts(Tier::Fast), HashSet::new());
    assert!(queues.push_all([job(9, Tier::Pro)]), "none could begin");
    assert!(!queues.push_all([]) && queues.has_next(Tier::Pro, &NONE));
    assert_eq!(queues.waiting(&NONE), [0, 0, 1]);
    let single = queues.pop(Tier::Pro, &NONE).expect("a turn");
    assert_eq!(single.job(), job(9, Tier::Pro));
    single.end();
    let other = QueuedJob {
        account: AccountId(Uuid::from_u128(2)),
        ..batch(10)
    };
    queues.push_all([other]);
    let turn = queues.pop(Tier::Pro, &NONE).expect("a turn");
    assert_eq!(turn.job(), other, "another account's batch begins");
    turn.end();
    let waker = queues.waker();
    assert!(waker.notified().now_or_never().is_none());
    drop(first);
    assert!(waker.notified().now_or_never().is_some());
    assert_eq!(queues.waiting(&NONE), [0, 0, 2]);
    end();
    drop(second);
    end();
    assert!(is_empty());
    assert!(queues.of(Tier::Pro).lock().fetches.is_empty());
}

#[test]
fn a_job_that_is_queued_twice_has_one_turn_at_a_time() {
    let queues = Arc::new(LocalQueue::default());
    queues.push_all([job(1, Tier::Fast), job(1, Tier::Fast)]);
    let turn = queues.pop(Tier::Fast, &NONE).expect("a turn");
    assert!(queues.pop(Tier::Fast, &NONE).is_none());
    turn.end();
}

#[test]
fn during_a_pause_only_begun_jobs_start() {
    let queues = Arc::new(LocalQueue::default());
    let [begun, waiting] = [1, 2].map(|id| job(id, Tier::Pro));
    let other = AccountId(Uuid::from_u128(2));
    let pause = paused(true);
    queues.push_all([waiting]);
    assert!(!queues.has_next(Tier::Pro, &pause) && queues.has_next(Tier::Pro, &NONE));
    assert!(!queues.has_other(Tier::Pro, other, &pause));
    assert_eq!(queues.waiting(&pause), [0; 3]);
    queues.push_begun(begun);
    assert!(queues.has_next(Tier::Pro, &pause));
    assert!(queues.has_other(Tier::Pro, other, &pause));
    assert_eq!(queues.waiting(&pause), [0, 0, 1]);
    let turn = queues.pop(Tier::Pro, &pause).expect("a turn");
    assert_eq!((turn.job(), turn.is_resumed()), (begun, true));
    assert!(queues.pop(Tier::Pro, &pause).is_none());
    turn.end();
    assert_eq!(queues.position(waiting), 1);
    let turn = queues.pop(Tier::Pro, &NONE).expect("a turn");
    assert_eq!((turn.job(), turn.is_resumed()), (waiting, false));
    turn.end();
}
