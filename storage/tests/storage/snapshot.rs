//! A snapshot shows one point in time, whatever is written during the read.

use crate::support::{Random, no_failure};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::{
    Direction, Engine, Key, KeyRange, Snapshot, SnapshotError, Value, commit_and_wait,
};
use tintype_storage::testing::memory::MemoryEngine;

const PURSES: u64 = 300;
const IN_EACH: u64 = 1_000;

fn purse(number: u64) -> Key {
    format!("purse {number:03}").into_bytes()
}

fn held(value: u64) -> Option<Value> {
    Some(value.to_be_bytes().to_vec())
}

fn figure(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().expect("eight bytes"))
}

/// Frequent flushes, so that values move from the memtable to sled during the read.
fn open(directory: &std::path::Path) -> Arc<SledEngine> {
    let options = SledOptions {
        flush: FlushPolicy {
            bytes: 4 * 1024,
            after: Duration::from_millis(1),
        },
        ..SledOptions::new(no_failure())
    };
    Arc::new(SledEngine::open(directory, options).expect("open"))
}

fn read_whole(snapshot: &mut dyn Snapshot, step: usize) -> BTreeMap<Key, Value> {
    let found = snapshot.next(step).expect("next").into_iter().collect();
    read_on(snapshot, step, found)
}

fn read_on(
    snapshot: &mut dyn Snapshot,
    step: usize,
    mut found: BTreeMap<Key, Value>,
) -> BTreeMap<Key, Value> {
    loop {
        let pairs = snapshot.next(step).expect("next");
        if pairs.is_empty() {
            return found;
        }
        for (key, value) in pairs {
            let last = found
                .last_key_value()
                .map(|(last, _): (&Key, _)| last.clone());
            assert!(last.is_none_or(|last| last < key), "keys rise");
            found.insert(key, value);
        }
    }
}

/// Each commit moves money between purses, stores its number, and creates and deletes keys.
fn transfer(random: &mut Random, purses: &mut [u64], number: u64) -> Vec<(Key, Option<Value>)> {
    let from = random.below(PURSES) as usize;
    let to = (from + 1 + random.below(PURSES - 1) as usize) % PURSES as usize;
    let sum = random.below(purses[from] + 1);
    purses[from] -= sum;
    purses[to] += sum;
    vec![
        (purse(from as u64), held(purses[from])),
        (purse(to as u64), held(purses[to])),
        (b"commits".to_vec(), held(number)),
        (
            format!("new {}", number * 7 % 1_000).into_bytes(),
            held(number),
        ),
        (format!("new {}", number * 11 % 1_000).into_bytes(), None),
    ]
    .into_iter()
    .collect::<BTreeMap<_, _>>()
    .into_iter()
    .collect()
}

#[test]
fn a_snapshot_of_a_store_in_use_shows_the_moment_of_its_creation() {
    let directory = tempfile::tempdir().expect("directory");
    let engine = open(directory.path());
    let filled = (0..PURSES).map(|number| (purse(number), held(IN_EACH)));
    commit_and_wait(&*engine, filled.collect()).expect("commit");
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut random, mut purses) = (Random(1), vec![IN_EACH; PURSES as usize]);
            let mut number = 0;
            while !stop.load(Ordering::SeqCst) {
                number += 1;
                let writes = transfer(&mut random, &mut purses, number);
                commit_and_wait(&*engine, writes).expect("commit");
                acknowledged.store(number, Ordering::SeqCst);
            }
        });
        let mut random = Random(2);
        for _ in 0..12 {
            let engine: Arc<dyn Engine> = engine.clone();
            let before = acknowledged.load(Ordering::SeqCst);
            let mut snapshot = engine.snapshot().expect("a snapshot");
            let after = acknowledged.load(Ordering::SeqCst);
            let step = 1 + random.below(40) as usize;
            let begun = snapshot.next(step).expect("next").into_iter().collect();
            let until = acknowledged.load(Ordering::SeqCst) + 2 * step as u64;
            while acknowledged.load(Ordering::SeqCst) < until {
                std::thread::yield_now();
            }
            let found = read_on(&mut *snapshot, step, begun);
            let commits = found.get(b"commits".as_slice()).map_or(0, |it| figure(it));
            // One more commit may have been durable and not answered yet.
            assert!(
                (before..=after + 1).contains(&commits),
                "{before} {commits} {after}"
            );
            let (mut replayed, mut expected) = (Random(1), BTreeMap::new());
            let mut purses = vec![IN_EACH; PURSES as usize];
            expected.extend((0..PURSES).map(|number| (purse(number), held(IN_EACH))));
            for number in 1..=commits {
                expected.extend(transfer(&mut replayed, &mut purses, number));
            }
            let expected = expected.into_iter();
            let expected: BTreeMap<Key, Value> = expected
                .filter_map(|(key, value)| Some((key, value?)))
                .collect();
            assert_eq!(found, expected, "after {commits} commits");
        }
        stop.store(true, Ordering::SeqCst);
    });
    engine.close();
}

#[test]
fn a_snapshot_excludes_later_changes() {
    let directory = tempfile::tempdir().expect("directory");
    let engine: Arc<dyn Engine> = open(directory.path());
    let put = |key: &str, value: &str| (key.into(), Some(value.into()));
    let before = vec![put("b", "1"), put("d", "1"), put("f", "1")];
    commit_and_wait(&*engine, before.clone()).expect("commit");
    let mut snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
    assert_eq!(snapshot.next(1).expect("next"), [("b".into(), "1".into())]);
    let changes = vec![
        put("a", "2"),
        (b"b".to_vec(), None),
        put("c", "2"),
        put("d", "2"),
        (b"f".to_vec(), None),
        put("g", "2"),
    ];
    commit_and_wait(&*engine, changes).expect("commit");
    commit_and_wait(&*engine, vec![put("d", "3")]).expect("commit");
    let rest: Vec<(Key, Value)> = read_whole(&mut *snapshot, 1).into_iter().collect();
    assert_eq!(rest, [("d".into(), "1".into()), ("f".into(), "1".into())]);
    assert_eq!(snapshot.next(1).expect("at the end"), []);
    drop(snapshot);
    let now = engine
        .scan(&KeyRange::prefix(b""), Direction::Rising, 10)
        .wait();
    let now: Vec<Key> = now.expect("scan").into_iter().map(|(key, _)| key).collect();
    assert_eq!(now, [b"a", b"c", b"d", b"g"]);
    engine.close();
}

#[test]
fn a_second_snapshot_is_rejected_until_the_first_is_dropped() {
    let directory = tempfile::tempdir().expect("directory");
    let sled: Arc<dyn Engine> = open(directory.path());
    for engine in [sled, Arc::new(MemoryEngine::new())] {
        let snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
        let second = Arc::clone(&engine).snapshot();
        assert!(matches!(second.err(), Some(SnapshotError::UnderWay)));
        drop(snapshot);
        Arc::clone(&engine).snapshot().expect("a snapshot");
        engine.close();
    }
}

#[test]
fn a_snapshot_overrun_by_writes_is_abandoned_and_writers_continue() {
    let directory = tempfile::tempdir().expect("directory");
    let engine: Arc<dyn Engine> = open(directory.path());
    let many = |round: u8| -> Vec<(Key, Option<Value>)> {
        let value = Some(vec![round; 16 * 1024]);
        (0u32..100)
            .map(|key| ([&[round][..], &key.to_be_bytes()].concat(), value.clone()))
            .collect()
    };
    // 100 times 100 records of 16 KiB exceed the limit of kept old values.
    for round in 0..100 {
        commit_and_wait(&*engine, many(round)).expect("commit");
    }
    let mut snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
    snapshot.next(1).expect("next");
    for round in 0..100 {
        let removed = many(round).into_iter().map(|(key, _)| (key, None));
        commit_and_wait(&*engine, removed.collect()).expect("writers go on");
    }
    let error = snapshot.next(10).expect_err("given up");
    assert!(matches!(error, SnapshotError::Overrun(_)), "{error}");
    assert!(error.to_string().contains("128 MiB"), "{error}");
    drop(snapshot);
    let mut snapshot = Arc::clone(&engine).snapshot().expect("the next one");
    assert_eq!(snapshot.next(10).expect("next"), []);
    engine.close();
}

#[test]
fn a_snapshot_of_a_store_in_memory_is_a_copy() {
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    commit_and_wait(&*engine, vec![(b"a".to_vec(), Some(vec![1]))]).expect("commit");
    let mut snapshot = Arc::clone(&engine).snapshot().expect("a snapshot");
    commit_and_wait(&*engine, vec![(b"a".to_vec(), None)]).expect("commit");
    assert_eq!(snapshot.next(9).expect("next"), [(b"a".to_vec(), vec![1])]);
    assert_eq!(snapshot.next(9).expect("next"), []);
}
