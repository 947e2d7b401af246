//! Answered means synced: while a group waits for the disk, it is neither answered nor visible.

use crate::support::{Random, no_failure};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;
use tintype_storage::engine::sled::{SledEngine, SledOptions, SyncStep};
use tintype_storage::engine::{
    Commit, Direction, Engine, Key, KeyRange, Value, commit_and_wait, submit_waiting,
};
use tintype_storage::testing::memory::MemoryEngine;

/// A disk whose syncs wait at a gate.
#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    closed: bool,
    arrived: u64,
    passed: u64,
}

/// Opens a gate when dropped, so that a failing test does not leave the engine hanging.
pub struct OpensGate(pub Arc<Gate>);

impl Drop for OpensGate {
    fn drop(&mut self) {
        self.0.open();
    }
}

impl Gate {
    /// An engine with an open gate. The guard is last, so that it is dropped first.
    pub fn engine() -> (TempDir, SledEngine, Arc<Self>, OpensGate) {
        let directory = tempfile::tempdir().expect("directory");
        let gate = Arc::new(Self::default());
        let options = SledOptions::new(no_failure());
        let engine = SledEngine::open_with_sync(directory.path(), options, gate.sync());
        let guard = OpensGate(Arc::clone(&gate));
        (directory, engine.expect("open"), gate, guard)
    }

    pub fn sync(self: &Arc<Self>) -> SyncStep {
        let gate = Arc::clone(self);
        Box::new(move |file| {
            let mut state = gate.state.lock();
            state.arrived += 1;
            gate.changed.notify_all();
            while state.closed {
                gate.changed.wait(&mut state);
            }
            drop(state);
            file.sync_data()?;
            gate.state.lock().passed += 1;
            Ok(())
        })
    }

    pub fn close(&self) {
        self.state.lock().closed = true;
    }

    pub fn open(&self) {
        self.state.lock().closed = false;
        self.changed.notify_all();
    }

    /// Returns when a sync waits at the gate: its group has been written to the journal.
    pub fn wait_for_arrival(&self, number: u64) {
        let mut state = self.state.lock();
        while state.arrived < number {
            self.changed.wait(&mut state);
        }
    }

    pub fn arrived(&self) -> u64 {
        self.state.lock().arrived
    }

    pub fn passed(&self) -> u64 {
        self.state.lock().passed
    }
}

fn put(key: &str, value: &str) -> (Key, Option<Value>) {
    (key.into(), Some(value.into()))
}

fn text(engine: &SledEngine, direction: Direction, limit: usize) -> String {
    let pairs = engine
        .scan(&KeyRange::prefix(b""), direction, limit)
        .wait()
        .expect("scan");
    let shown = pairs.into_iter().map(|(key, value)| [key, value].concat());
    let shown = shown.map(|it| String::from_utf8(it).expect("text"));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_commit_is_neither_answered_nor_read_before_its_sync() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    let first = ["a1", "b1", "c1", "d1", "e1"].map(|it| put(&it[..1], &it[1..]));
    commit_and_wait(&engine, first.into()).expect("commit");
    gate.close();
    let answer = submit_waiting(
        &engine,
        vec![
            (b"a".to_vec(), None),
            put("b", "2"),
            (b"c".to_vec(), None),
            put("cc", "2"),
            (b"e".to_vec(), None),
            put("f", "2"),
        ],
    );
    gate.wait_for_arrival(2);
    // The values are in the journal now; the engine must not show them.
    for (key, old) in [
        ("a", Some("1")),
        ("b", Some("1")),
        ("c", Some("1")),
        ("cc", None),
        ("f", None),
    ] {
        let found = engine.get(key.as_bytes()).wait().expect("get");
        assert_eq!(found.as_deref(), old.map(str::as_bytes), "{key}");
    }
    assert_eq!(text(&engine, Direction::Rising, 9), "a1 b1 c1 d1 e1");
    assert_eq!(text(&engine, Direction::Falling, 9), "e1 d1 c1 b1 a1");
    assert_eq!(text(&engine, Direction::Rising, 2), "a1 b1");
    assert_eq!(text(&engine, Direction::Falling, 3), "e1 d1 c1");
    assert_eq!(text(&engine, Direction::Rising, 0), "");
    assert!(answer.try_recv().is_err(), "not answered");
    assert_eq!(gate.passed(), 1);
    gate.open();
    answer.recv().expect("an answer").expect("commit");
    assert_eq!(gate.passed(), 2);
    assert_eq!(text(&engine, Direction::Rising, 9), "b2 cc2 d1 f2");
    assert_eq!(text(&engine, Direction::Falling, 9), "f2 d1 cc2 b2");
}

/// Few keys, so that stored and uncommitted values often collide.
fn random_writes(random: &mut Random) -> Vec<(Key, Option<Value>)> {
    let mut writes = BTreeMap::new();
    for _ in 0..random.below(12) {
        let key = vec![b'a' + random.below(12) as u8];
        writes.insert(
            key,
            (random.below(3) > 0).then(|| vec![random.below(256) as u8]),
        );
    }
    writes.into_iter().collect()
}

fn random_bound(random: &mut Random) -> Bound<Key> {
    let key = vec![b'a' + random.below(12) as u8];
    match random.below(3) {
        0 => Bound::Included(key),
        1 => Bound::Excluded(key),
        _ => Bound::Unbounded,
    }
}

#[test]
fn scans_show_only_durable_values() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    let on_disk = MemoryEngine::new();
    let mut random = Random(7);
    for round in 0..60 {
        let mut writes = random_writes(&mut random);
        writes.push((b"z".to_vec(), Some(vec![round])));
        gate.close();
        let before = gate.arrived();
        let answer = submit_waiting(&engine, writes.clone());
        gate.wait_for_arrival(before + 1);
        for _ in 0..40 {
            let range = KeyRange {
                from: random_bound(&mut random),
                to: random_bound(&mut random),
            };
            let limit = random.below(8) as usize;
            for direction in [Direction::Rising, Direction::Falling] {
                assert_eq!(
                    engine.scan(&range, direction, limit).wait().expect("scan"),
                    on_disk.scan(&range, direction, limit).wait().expect("scan"),
                    "{range:?} {direction:?} {limit}, in flight: {writes:?}"
                );
            }
        }
        gate.open();
        answer.recv().expect("an answer").expect("commit");
        commit_and_wait(&on_disk, writes).expect("commit");
    }
}

#[test]
fn commits_that_wait_share_a_sync() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    gate.close();
    let first = submit_waiting(&engine, vec![put("first", "")]);
    gate.wait_for_arrival(1);
    let waiting: Vec<_> = (0..100)
        .map(|number| submit_waiting(&engine, vec![put(&format!("{number}"), "")]))
        .collect();
    gate.open();
    first.recv().expect("an answer").expect("commit");
    for answer in waiting {
        answer.recv().expect("an answer").expect("commit");
    }
    assert!(gate.passed() <= 3, "{} syncs", gate.passed());
    let stats = engine.stats();
    assert_eq!((stats.commits, stats.syncs), (101, gate.passed()));
}

#[test]
fn a_group_takes_a_bounded_number_of_bytes() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    gate.close();
    let first = submit_waiting(&engine, vec![put("first", "")]);
    gate.wait_for_arrival(1);
    let waiting: Vec<_> = (0..100)
        .map(|number| {
            submit_waiting(
                &engine,
                vec![put(&format!("{number}"), &"x".repeat(16_000))],
            )
        })
        .collect();
    gate.open();
    for answer in [first].into_iter().chain(waiting) {
        answer.recv().expect("an answer").expect("commit");
    }
    // 66 of them exceed 1 MiB.
    assert_eq!(gate.passed(), 1 + 100_u64.div_ceil(66));
}

#[test]
fn every_acknowledgement_follows_a_sync_begun_after_its_commit() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    for number in 1..=50 {
        let syncs = Arc::new(AtomicU64::new(0));
        let (seen, at_gate) = (Arc::clone(&syncs), Arc::clone(&gate));
        let (sender, receiver) = crossbeam_channel::bounded(1);
        engine.submit(Commit {
            writes: vec![put("k", &number.to_string())],
            done: Box::new(move |outcome| {
                seen.store(at_gate.passed(), Ordering::SeqCst);
                sender.send(outcome).expect("the test listens");
            }),
        });
        receiver.recv().expect("an answer").expect("commit");
        assert_eq!(syncs.load(Ordering::SeqCst), number);
    }
    commit_and_wait(&engine, Vec::new()).expect("an empty commit");
    assert_eq!(engine.stats().syncs, 50, "nothing to sync, nothing counted");
}

#[test]
fn the_last_of_several_commits_of_a_key_in_one_group_wins() {
    let (_directory, engine, gate, _guard) = Gate::engine();
    commit_and_wait(&engine, vec![put("k", "old")]).expect("commit");
    gate.close();
    let blocker = submit_waiting(&engine, vec![put("other", "")]);
    gate.wait_for_arrival(2);
    let writes = [Some("1"), None, Some("3")];
    let waiting = writes
        .map(|value| submit_waiting(&engine, vec![(b"k".to_vec(), value.map(|it| it.into()))]));
    gate.open();
    for answer in [blocker].into_iter().chain(waiting) {
        answer.recv().expect("an answer").expect("commit");
    }
    assert_eq!(
        engine.get(b"k").wait().expect("get").as_deref(),
        Some(b"3".as_slice())
    );
}
