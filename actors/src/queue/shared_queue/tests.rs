//! Positions and lookups in the copy of the shared queue.

use super::*;
use futures_util::FutureExt as _;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::ReadResults;
use uuid::Uuid;

const TURNS: [TurnCounts; 3] = [TurnCounts { begun: 0, ended: 0 }; 3];

fn account(number: u128) -> AccountId {
    AccountId(Uuid::from_u128(number))
}

fn entry(turn: u64, number: u128) -> QueueEntry {
    QueueEntry {
        tier: Tier::Pro,
        class: QueueClass::Single,
        turn,
        job: JobId(Uuid::from_u128(number)),
    }
}

fn resumed(number: u128) -> QueueEntry {
    QueueEntry {
        class: QueueClass::Resumed,
        ..entry(0, number)
    }
}

fn shared_queue() -> SharedQueue {
    let node = NodeContext::new(NodeId(Uuid::nil()), Duration::from_secs(3));
    SharedQueue::new(Arc::new(node), Arc::default())
}

fn position(queue: &SharedQueue, number: u128) -> usize {
    queue.position(QueuedJob {
        job: JobId(Uuid::from_u128(number)),
        account: account(1),
        tier: Tier::Pro,
        lane: super::super::Lane::Single,
    })
}

fn queued(turn: u64, number: u128) -> Writes {
    vec![QUEUE.put(&entry(turn, number), &account(1))]
}

fn taken(number: u128) -> Writes {
    let job = TakenJob {
        account: account(1),
        tier: Tier::Pro,
        class: QueueClass::Single,
    };
    let node = NodeId(Uuid::from_u128(9));
    let key = (node, JobId(Uuid::from_u128(number)));
    vec![QUEUE.delete(&entry(1, number)), TAKEN_JOBS.put(&key, &job)]
}

fn read(entries: &[QueueEntry]) -> QueueRead {
    let listed = entries.iter().map(|it| (*it, account(1))).collect();
    QueueRead {
        tiers: [(Vec::new(), 0), (Vec::new(), 0), (listed, 0)],
        taken: HashMap::new(),
    }
}

#[test]
fn own_commits_are_visible_at_once_and_those_of_other_nodes_after_a_refresh() {
    let queue = shared_queue();
    let own = |writes: Writes| queue.apply(QueueChange::of(&writes).expect("sound"));
    own(queued(1, 1));
    assert_eq!(position(&queue, 3), 2, "an unknown job is last");
    queue.begin_refresh();
    // The read contains another node's job; an own commit during the read is not lost.
    own(queued(2, 2));
    queue.end_refresh(read(&[entry(1, 1), entry(1, 3)]), &TURNS);
    assert_eq!([1, 3, 2].map(|it| position(&queue, it)), [1, 2, 3]);
    own(taken(1));
    assert_eq!([1, 3, 2].map(|it| position(&queue, it)), [1, 1, 2]);
    assert_eq!((queue.queued(Tier::Pro), queue.begun(Tier::Pro)), (2, 1));
    assert_eq!((queue.live(), queue.depths().running), (3, 1));
    let next = queue.next(Tier::Pro, None, 5, &|_| true);
    assert_eq!(
        next.iter().map(|it| it.position).collect::<Vec<_>>(),
        [1, 2]
    );
    let depths = queue.depths_of(account(1));
    assert_eq!((depths.queued, depths.running), ([0, 0, 2], 1));
    assert_eq!(queue.oldest(Tier::Pro), Some((account(1), entry(2, 2).job)));
}

fn remove(
    number: u128,
    queue: &SharedQueue,
    reads: &RoundReads<'_>,
) -> (Result<Vec<QueueChange>, StoreError>, Writes) {
    let mut writes = Writes::new();
    let jobs = [(Tier::Pro, entry(0, number).job)];
    let removed = queue.remove_ended(&jobs, reads, &mut writes);
    (removed, writes)
}

#[test]
fn an_accepted_job_and_a_free_slot_wake_the_take() {
    let queue = shared_queue();
    let is_woken = || queue.node.take.notified().now_or_never().is_some();
    let job = QueuedJob {
        job: entry(1, 1).job,
        account: account(1),
        tier: Tier::Pro,
        lane: super::super::Lane::Single,
    };
    assert!(!queue.add(Vec::new()) && !is_woken());
    assert!(!queue.add(vec![job]), "the dispatcher has no new job");
    assert!(is_woken());
    assert_eq!(queue.local.queued(Tier::Pro), 0);
    queue.slot_freed();
    assert!(is_woken());
}

#[test]
fn a_job_of_another_account_is_found() {
    let queue = shared_queue();
    let changes = QueueChange::of(&queued(1, 1)).expect("sound");
    queue.apply(changes);
    let none = Pause::default();
    assert!(!queue.has_other(Tier::Pro, account(1), &none));
    assert!(queue.has_other(Tier::Pro, account(2), &none));
    assert!(!queue.has_other(Tier::Fast, account(2), &none));
    let fetch = queue.local.begin_fetch(Tier::Pro, account(1), 1);
    let has_other = || queue.has_other(Tier::Pro, account(2), &none);
    assert!(has_other(), "no batch job");
    drop(fetch);
    let pause = Pause {
        project: true,
        ..Pause::default()
    };
    let has_other = || queue.has_other(Tier::Pro, account(2), &pause);
    assert!(!has_other(), "a paused job may not begin");
    let resumed = QUEUE.put(&resumed(2), &account(1));
    queue.apply(QueueChange::of(&vec![resumed]).expect("sound"));
    assert!(has_other());
}

#[test]
fn a_job_that_waits_for_a_further_run_is_running_and_shifts_no_position() {
    let queue = shared_queue();
    let resumed = vec![QUEUE.put(&resumed(9), &account(1))];
    let writes = [queued(1, 1), queued(2, 2), resumed].concat();
    queue.apply(QueueChange::of(&writes).expect("sound"));
    assert_eq!([1, 2, 3].map(|it| position(&queue, it)), [1, 2, 3]);
    let next = queue.next(Tier::Pro, None, 5, &|_| true);
    let next = next.iter().map(|it| (it.job, it.position));
    let expected = [(entry(1, 1).job, 1), (entry(2, 2).job, 2)];
    assert_eq!(next.collect::<Vec<_>>(), expected);
    let depths = queue.depths();
    assert_eq!((depths.queued, depths.running), ([0, 0, 2], 1));
    assert_eq!(queue.depths_of(account(1)), depths);
    assert_eq!(queue.live(), 3);
}

#[test]
fn the_entry_of_a_job_that_ends_is_removed_from_the_queue() {
    let queue = shared_queue();
    let changes = QueueChange::of(&queued(4, 1)).expect("sound");
    queue.apply(changes);
    let none = ReadResults::default();
    let (changes, writes) = remove(1, &queue, &RoundReads::new(&none));
    assert_eq!(writes, [QUEUE.delete(&entry(4, 1))]);
    queue.apply(changes.expect("the job is listed"));
    assert_eq!((queue.live(), queue.listed()), (0, 0));
}

#[test]
fn an_entry_that_another_node_has_just_added_is_read() {
    let queue = shared_queue();
    let mut reads = ReadResults::default();
    let unread = RoundReads::new(&reads);
    let (unknown, writes) = remove(2, &queue, &unread);
    assert!(matches!(unknown, Err(StoreError::NotRead)), "{unknown:?}");
    let requests = unread.take_unread();
    assert_eq!((requests.len(), writes), (1, Writes::new()));
    let of_others = [queued(3, 1), queued(4, 2)].concat();
    let pairs = of_others
        .into_iter()
        .map(|(key, value)| (key, value.expect("put")));
    reads.add_pairs(requests[0].clone(), pairs.collect());
    let reads = RoundReads::new(&reads);
    let (found, writes) = remove(2, &queue, &reads);
    assert!(found.is_ok(), "the entry was read");
    assert_eq!(writes, [QUEUE.delete(&entry(4, 2))]);
    // A node has taken job 5.
    let (changes, writes) = remove(5, &queue, &reads);
    assert!(changes.expect("the queue was read").is_empty() && writes.is_empty());
}
