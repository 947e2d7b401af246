//! The advanced checkpoint equals the one that sled computes from its whole log.

use crate::sled_damage::copy;
use crate::support::no_failure;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::{Direction, Engine, Key, KeyRange, Value, commit_and_wait};

/// Starts of the store, and commits per start.
const LIVES: u32 = 3;
const COMMITS: u32 = 60;
const KEYS: u32 = 2_000;

fn open(directory: &Path) -> SledEngine {
    let options = SledOptions {
        lock_timeout: Duration::from_secs(60),
        flush: FlushPolicy {
            bytes: 64 * 1024,
            after: Duration::from_millis(10),
        },
        checkpoint_after: 300 * 1024,
        ..SledOptions::new(no_failure())
    };
    SledEngine::open(directory, options).expect("open")
}

/// New records, larger ones that replace others, and deletions.
fn writes(number: u32) -> BTreeMap<Key, Option<Value>> {
    let mut writes = BTreeMap::new();
    for turn in 0..100 {
        let key = (number * 7_919 + turn * 31) % KEYS;
        let length = (number * 37 + turn * 113) % 1_200;
        let value = (turn % 4 > 0).then(|| vec![number as u8; length as usize]);
        writes.insert(key.to_be_bytes().to_vec(), value);
    }
    writes
}

/// The name and the bytes of the only checkpoint.
fn snapshot(directory: &Path) -> Option<(String, Vec<u8>)> {
    let files = fs::read_dir(directory).expect("list").flatten();
    let named = |it: fs::DirEntry| {
        let name = it.file_name().to_string_lossy().into_owned();
        name.starts_with("snap.").then(|| (name, it.path()))
    };
    let mut found = files.filter_map(named);
    let (name, path) = found.next()?;
    assert_eq!(found.next(), None, "there is one");
    Some((name, fs::read(path).expect("read")))
}

fn content(engine: &SledEngine) -> BTreeMap<Key, Value> {
    let all = KeyRange::prefix(&0_u32.to_be_bytes()[..1]);
    let pairs = engine.scan(&all, Direction::Rising, usize::MAX).wait();
    pairs.expect("scan").into_iter().collect()
}

#[test]
fn an_advanced_checkpoint_equals_the_snapshot_that_sled_writes_from_the_whole_log() {
    let directory = tempfile::tempdir().expect("directory");
    let mut model = BTreeMap::new();
    for life in 0..LIVES {
        let engine = open(directory.path());
        let at_its_start = snapshot(directory.path());
        for number in life * COMMITS..(life + 1) * COMMITS {
            let writes = writes(number);
            model.extend(writes.clone());
            commit_and_wait(&engine, writes.into_iter().collect()).expect("commit");
        }
        drop(engine);
        let at_its_end = snapshot(directory.path());
        assert!(at_its_end.is_some(), "none was made in life {life}");
        assert!(at_its_end != at_its_start, "none came later in life {life}");
    }
    let (forward, whole) = (tempfile::tempdir(), tempfile::tempdir());
    let (forward, whole) = (forward.expect("directory"), whole.expect("directory"));
    copy(directory.path(), forward.path());
    copy(directory.path(), whole.path());
    let (name, _) = snapshot(whole.path()).expect("a snapshot");
    fs::remove_file(whole.path().join(name)).expect("remove");
    let stored: BTreeMap<Key, Value> = model
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect();
    let made = [forward.path(), whole.path()].map(|path| {
        let engine = open(path);
        let made = snapshot(path);
        assert!(content(&engine) == stored, "nothing is missing, or old");
        made
    });
    let [forward, whole] = made;
    assert!(forward.is_some() && forward == whole);
}
