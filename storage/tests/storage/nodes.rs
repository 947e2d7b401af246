//! Records of nodes in a shared store: verification checks them, exports omit them.

use crate::export::{exported, imported};
use crate::support::*;
use std::sync::Arc;
use tintype_storage::domain::adoption::Adoption;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::caller::PresentedKey;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, NodeId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent, JobState, Origin};
use tintype_storage::domain::node::{AccountLoad, TakenJob};
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::domain::shard::{Shard, ShardHolder};
use tintype_storage::domain::spending::SpendLimits;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{
    Direction, Engine, MAX_VALUE_BYTES, ReadResults, Wait as _, commit_and_wait, oversized,
};
use tintype_storage::store::tables::{
    ACCOUNT_LOADS, ADOPTION, DUE_DELIVERIES, LIVE_JOBS, QUEUE, SHARD_HOLDERS, TAKEN_JOBS,
};
use tintype_storage::store::{
    AcceptError, AccountState, Decisions, InitialReads, MAX_KEYS_WITH_LIVE_JOBS, NewBatch, NewJob,
    RoundReads, Store, Writes,
};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use tintype_storage::verify::verify;

/// A shared store with a queued job and a due delivery.
struct SharedStore {
    store: Store,
    job: JobId,
    place: QueueEntry,
    delivery: Delivery,
}

/// A test delivery that is due at `due`.
fn test(number: u128, due: i64) -> Delivery {
    let id = DeliveryId(uuid(number));
    Delivery::new(id, &webhook(), DeliveryKind::Test, id.0, at(due))
}

impl SharedStore {
    fn new() -> Self {
        let mut till = Till::with("5");
        let job = till.accept(new_job(amount("0.10"))).expect("accepted").job;
        let store = Store::new(Arc::clone(till.store.engine()));
        let delivery = test(77, 5);
        let place = QueueEntry {
            tier: Tier::Fast,
            class: QueueClass::Single,
            turn: 1,
            job,
        };
        let shared = Self {
            store,
            job,
            place,
            delivery,
        };
        shared.write(shared.store.put_webhook(&webhook()));
        shared.write(shared.store.add_delivery(&shared.delivery));
        shared.write(vec![
            ADOPTION.put(&(), &Adoption::Done),
            ACCOUNT_LOADS.put(&ACCOUNT, &shared.load()),
            QUEUE.put(&place, &ACCOUNT),
            SHARD_HOLDERS.put(&Shard::of(webhook().id), &ShardHolder(Some(NODE))),
        ]);
        shared
    }

    fn engine(&self) -> &Arc<dyn Engine> {
        self.store.engine()
    }

    /// The sums over the account's only live job.
    fn load(&self) -> AccountLoad {
        let job = LIVE_JOBS.get(&self.store, &(ACCOUNT, self.job)).wait();
        let mut load = AccountLoad::default();
        load.add(&job.expect("readable").expect("a job"));
        load
    }

    fn write(&self, writes: Writes) {
        commit_and_wait(&**self.engine(), writes).expect("commit");
    }

    fn finds(&self, faults: &[String]) {
        assert_eq!(verify(&self.store, |_| {}).expect("audit").faults, faults);
    }
}

const NODE: NodeId = NodeId(uuid::Uuid::from_u128(9));

#[test]
fn each_live_job_has_exactly_one_entry_in_the_queue_or_at_a_node() {
    let shared = SharedStore::new();
    shared.finds(&[]);
    let fault = |places: u32| {
        let job = shared.job;
        vec![format!(
            "job {job} is queued and is recorded {places} times in the queue and at nodes"
        )]
    };
    let taken = TakenJob {
        account: ACCOUNT,
        tier: Tier::Fast,
        class: QueueClass::Single,
    };
    shared.write(vec![TAKEN_JOBS.put(&(NODE, shared.job), &taken)]);
    shared.finds(&fault(2));
    shared.write(vec![QUEUE.delete(&shared.place)]);
    shared.finds(&[]);
    shared.write(vec![TAKEN_JOBS.delete(&(NODE, shared.job))]);
    shared.finds(&fault(0));
    // A single process keeps its queue in memory.
    shared.write(vec![ADOPTION.delete(&())]);
    shared.finds(&[]);
}

/// The caller of a synchronous job may leave while it is queued. A job that runs has a place in any case.
#[test]
fn only_a_queued_job_whose_caller_waits_may_have_no_place() {
    let shared = SharedStore::new();
    shared.write(vec![QUEUE.delete(&shared.place)]);
    let job = LIVE_JOBS.get(&shared.store, &(ACCOUNT, shared.job)).wait();
    let queued = Job {
        origin: Origin::Synchronous,
        ..job.expect("readable").expect("a job")
    };
    shared.write(vec![LIVE_JOBS.put(&(ACCOUNT, shared.job), &queued)]);
    shared.finds(&[]);
    let processing = Job {
        state: JobState::Processing {
            started_at: at(5),
            runs: 1,
        },
        ..queued
    };
    shared.write(vec![LIVE_JOBS.put(&(ACCOUNT, shared.job), &processing)]);
    shared.finds(&[format!(
        "job {} is processing and is recorded 0 times in the queue and at nodes",
        shared.job
    )]);
}

#[test]
fn the_sums_of_an_account_count_its_live_jobs() {
    let shared = SharedStore::new();
    let fault = |recorded: u64| {
        vec![format!(
            "account {ACCOUNT}: the recorded sums of its live jobs do not match: {recorded} jobs recorded, 1 counted; the sums of its keys may \
             differ"
        )]
    };
    shared.write(vec![ACCOUNT_LOADS.delete(&ACCOUNT)]);
    shared.finds(&fault(0));
    let mut load = shared.load();
    load.keys[0].held = amount("0.20");
    shared.write(vec![ACCOUNT_LOADS.put(&ACCOUNT, &load)]);
    shared.finds(&fault(1));
    load = shared.load();
    load.live_jobs = 2;
    shared.write(vec![ACCOUNT_LOADS.put(&ACCOUNT, &load)]);
    shared.finds(&fault(2));
}

#[test]
fn each_pending_delivery_is_in_the_index_of_its_shard_alone() {
    let shared = SharedStore::new();
    let (id, due) = (shared.delivery.id, at(5));
    let own = Shard::of(shared.delivery.webhook);
    let other = Shard::all().find(|it| *it != own).expect("a shard");
    let place = (own, (due, id));
    let read = DUE_DELIVERIES.get(&shared.store, &place);
    let entry = read.wait().expect("readable").expect("an entry");
    shared.write(vec![DUE_DELIVERIES.delete(&place)]);
    let missing = format!("delivery {id} is due at {due}, the due index lacks it");
    shared.finds(std::slice::from_ref(&missing));
    let place = (other, (due, id));
    shared.write(vec![DUE_DELIVERIES.put(&place, &entry)]);
    let stray = format!("the due index has delivery {id} at {due}, its record does not");
    let misfit = format!(
        "the delivery_due record {} does not match its key",
        hex::encode(DUE_DELIVERIES.key(&place))
    );
    shared.finds(&[missing, stray, misfit]);
}

#[test]
fn a_shard_is_read_in_the_order_in_which_its_deliveries_are_due() {
    let shared = SharedStore::new();
    let shard = Shard::of(shared.delivery.webhook);
    for (number, due) in [(80, 3_005), (78, 1_005), (79, 2_005)] {
        shared.write(shared.store.add_delivery(&test(number, due)));
    }
    let read = |from: (i64, u128), until, direction| {
        let from = (at(from.0), DeliveryId(uuid(from.1)));
        let due = shared
            .store
            .due_of_shard(shard, from, at(until), direction, 2);
        let due = due.wait().expect("readable").into_iter();
        due.map(|it| it.id.0.as_u128()).collect::<Vec<_>>()
    };
    assert_eq!(read((0, 0), 9_999, Direction::Rising), [77, 78]);
    assert_eq!(read((1_005, 78), 9_999, Direction::Rising), [78, 79]);
    assert_eq!(read((1_006, 0), 3_005, Direction::Rising), [79]);
    assert_eq!(read((0, 0), 3_005, Direction::Falling), [79, 78]);
    assert_eq!(
        shared.store.pending_deliveries(9).wait().expect("readable"),
        4
    );
}

#[test]
fn an_export_omits_the_records_of_nodes_and_an_import_builds_the_due_index() {
    let shared = SharedStore::new();
    let text = exported(shared.engine());
    let lines = String::from_utf8(text.clone()).expect("text");
    for kind in [
        "adoption",
        "queue_entry",
        "shard_holder",
        "delivery_due",
        "taken_job",
        "waiting_caller",
        "node",
        "account_load",
        "served_turns",
        "lock",
    ] {
        assert!(!lines.contains(&format!("\"kind\":\"{kind}\"")), "{kind}");
    }
    let alone = Store::new(imported(&text).expect("imported"));
    assert_eq!(verify(&alone, |_| {}).expect("audit").faults, [""; 0]);
    let due = |store| DUE_DELIVERIES.all(store).wait().expect("readable");
    assert_eq!(due(&alone), due(&shared.store));
    assert_eq!(due(&alone).len(), 1);
    let again = exported(alone.engine());
    let back = Store::new(imported(&again).expect("imported"));
    assert_eq!(exported(back.engine()), again);
}

/// Accepts a job of this key, as a node does.
fn accept_at_node(store: &Store, number: usize) -> Result<(), AcceptError> {
    let reads = RoundReads::new(store);
    let read = AccountState::of_shared(NODE, ACCOUNT, &reads).expect("readable");
    let mut decisions = read.state.decisions(&reads, limits());
    let number = number as u128;
    know_key(&mut decisions, key(number), SpendLimits::default());
    let job = samples::new_job(key(number), amount("999999999999.999999"));
    decisions.accept(JobId(uuid(number)), &job, at(9))?;
    let writes = decisions.finish().expect("balances that add up").writes;
    if let Some(error) = oversized(&writes) {
        panic!("after jobs of {number} keys: {error}");
    }
    commit_and_wait(&**store.engine(), writes).expect("commit");
    Ok(())
}

/// A further read is another round trip to the database, for which all rounds of the transaction wait.
#[test]
fn the_first_round_of_an_account_at_a_node_reads_once() {
    let store = Till::with("5").store;
    let hash = KeyHash([7; 32]);
    let mut writes = store.put_key(&hash, &ApiKey::with_all_rights(key(1), ACCOUNT, at(0)));
    // Another node has decided about the account before.
    let load = AccountLoad {
        newest: Some(at(1)),
        ..AccountLoad::default()
    };
    writes.push(ACCOUNT_LOADS.put(&ACCOUNT, &load));
    commit_and_wait(&**store.engine(), writes).expect("commit");
    let unread_after = |add: &dyn Fn(&mut InitialReads<'_>),
                        decide: &dyn Fn(&mut Decisions<'_>)| {
        let mut initial = InitialReads::new(ACCOUNT, None);
        add(&mut initial);
        let mut reads = ReadResults::default();
        let done = reads.read(&**store.engine(), initial.into_requests());
        done.expect("readable");
        let reads = RoundReads::new(&reads);
        let read = AccountState::of_shared(NODE, ACCOUNT, &reads).expect("readable");
        let mut decisions = read.state.decisions(&reads, limits());
        decide(&mut decisions);
        drop(decisions);
        reads.take_unread()
    };
    let shown = Some(PresentedKey {
        hash,
        address: None,
        rate_limit: None,
    });
    let job = NewJob {
        shown,
        ..new_job(amount("0.10"))
    };
    let of_job = unread_after(&|it| it.add_for_accept(&job), &|decisions| {
        let _ = decisions.accept(JobId(uuid(9)), &job, at(9));
    });
    assert_eq!(of_job, []);
    let batch = NewBatch {
        shown,
        ..new_batch(2, "0.10")
    };
    let of_batch = unread_after(&|it| it.add_for_accept_batch(&batch), &|decisions| {
        let jobs = [JobId(uuid(9)), JobId(uuid(10))];
        let _ = decisions.accept_batch(BatchId(uuid(11)), &jobs, &batch, at(9));
    });
    assert_eq!(of_batch, []);
}

/// Another node, whose clock may be behind, must not create an older id.
#[test]
fn the_time_of_the_newest_id_is_recorded_for_other_nodes() {
    let store = Till::with("5").store;
    let id = |millis: u64| uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid();
    let state_at = |node: NodeId| {
        let reads = RoundReads::new(&store);
        let read = AccountState::of_shared(node, ACCOUNT, &reads);
        read.expect("readable").state
    };
    let other = NodeId(uuid(10));
    let newest_after = |decide: &dyn Fn(&mut Decisions<'_>)| {
        let state = state_at(NODE);
        let reads = RoundReads::new(&store);
        let mut decisions = state.decisions(&reads, limits());
        know_key(&mut decisions, key(1), SpendLimits::default());
        decide(&mut decisions);
        let writes = decisions.finish().expect("balances that add up").writes;
        commit_and_wait(&**store.engine(), writes).expect("commit");
        assert_eq!(state_at(NODE).newest_of_others(), None);
        let newest = state_at(other).newest_of_others().expect("an id");
        newest.millis()
    };
    let accept = |millis| {
        newest_after(&|decisions| {
            let new = new_job(amount("0.10"));
            let accepted = decisions.accept(JobId(id(millis)), &new, at(9));
            accepted.expect("accepted");
        })
    };
    assert_eq!(accept(1_000), 1_000);
    let of_deposit = newest_after(&|decisions| {
        let booked = decisions.deposit(TransactionId(id(2_000)), &deposit(amount("1")), at(9));
        booked.expect("booked");
    });
    assert_eq!(of_deposit, 2_000);
    let of_batch = newest_after(&|decisions| {
        let jobs = [JobId(id(3_000))];
        let new = new_batch(1, "0.10");
        let accepted = decisions.accept_batch(BatchId(id(4_000)), &jobs, &new, at(9));
        accepted.expect("accepted");
    });
    assert_eq!(of_batch, 4_000);
    assert_eq!(accept(3_500), 4_000);
    assert_eq!(accept(5_000), 5_000);
}

/// The operator's search for a job ends at the first account whose id is newer than the job's.
#[test]
fn the_first_id_of_an_account_is_newer_than_the_account() {
    let id = uuid::Builder::from_unix_timestamp_millis(7_000, &[0; 10]).into_uuid();
    let till = Till::open(Arc::new(MemoryEngine::new()), AccountId(id), amount("5"));
    let store = till.store;
    let read = AccountState::of_shared(NODE, AccountId(id), &RoundReads::new(&store));
    let read = read.expect("readable");
    assert_eq!(read.state.newest_of_others(), Some(at(7_000)));
}

/// An owner may issue keys, use each once and delete them, as often as they like. A record that is too large would stop every node.
#[test]
fn the_sums_of_an_account_fit_their_record_however_many_keys_have_live_jobs() {
    let store = Till::with("999999999999999").store;
    for number in 1..=MAX_KEYS_WITH_LIVE_JOBS {
        accept_at_node(&store, number).expect("accepted");
    }
    let found = store.engine().get(&ACCOUNT_LOADS.key(&ACCOUNT)).wait();
    let size = found.expect("readable").expect("a record").len();
    // Each count of live jobs may take two bytes more.
    let most = size + 2 * MAX_KEYS_WITH_LIVE_JOBS + 100;
    assert!(most <= MAX_VALUE_BYTES, "{size}");
    let next = MAX_KEYS_WITH_LIVE_JOBS + 1;
    for number in [next, next + 1] {
        let refused = accept_at_node(&store, number);
        let most = MAX_KEYS_WITH_LIVE_JOBS;
        assert!(
            matches!(refused, Err(AcceptError::TooManyKeys { most: it }) if it == most),
            "{refused:?}"
        );
    }
    // The memory of a single process has room, but its store may move to nodes.
    let mut till = Till::reload(Store::new(Arc::clone(store.engine())), ACCOUNT);
    let of_key = |number: usize| NewJob {
        key: key(number as u128),
        ..new_job(amount("0.10"))
    };
    assert!(matches!(
        till.accept(of_key(next)),
        Err(AcceptError::TooManyKeys { .. })
    ));
    till.accept(of_key(1)).expect("a key with a live job");
    let first = JobId(uuid(2));
    till.apply(first, JobEvent::Cancel).expect("canceled");
    till.accept(of_key(next)).expect("there is room");
}
