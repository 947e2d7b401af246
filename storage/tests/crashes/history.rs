//! A store with a history: much in sled's last checkpoint, and several segments of later log.

use crate::child;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{
    Direction, Engine, EngineError, Key, KeyRange, Value, commit_and_wait,
};

pub type Image = BTreeMap<Key, Value>;

const VALUE_BYTES: usize = 1_024;
/// Commits before and after the checkpoint: several segments of the log each.
const COMMITS: [u32; 2] = [12, 45];
/// Keys per commit. Half of them rewrite the previous commit's.
const KEYS: u32 = 32;
/// Keys that a start writes: enough for a flush.
const WRITES: u32 = 4;

/// All pairs of an engine.
pub fn image(engine: &dyn Engine) -> Result<Image, EngineError> {
    let all = engine
        .scan(&KeyRange::prefix(b""), Direction::Rising, usize::MAX)
        .wait()?;
    Ok(all.into_iter().collect())
}

fn commit(number: u32, keys: u32) -> Vec<(Key, Option<Value>)> {
    let first = number * keys / 2;
    let write = |key: u32| {
        let key = [b"~", &key.to_be_bytes()[..]].concat();
        (key, Some(vec![number as u8; VALUE_BYTES]))
    };
    (first..first + keys).map(write).collect()
}

fn note(held: &mut Image, writes: Vec<(Key, Option<Value>)>) {
    held.extend(
        writes
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?))),
    );
}

/// Creates such a store and returns its pairs.
pub fn make() -> (TempDir, Image) {
    let past = child::place();
    let store = past.path().join(child::STORE);
    let (mut numbers, mut held) = (0.., Image::new());
    for commits in COMMITS {
        // Only a start writes a checkpoint here, so the next start has much log to read.
        let options = SledOptions {
            checkpoint_after: u64::MAX,
            ..child::options()
        };
        let engine = SledEngine::open(&store, options).expect("a store");
        for number in numbers.by_ref().take(commits as usize) {
            let writes = commit(number, KEYS);
            commit_and_wait(&engine, writes.clone()).expect("a commit");
            note(&mut held, writes);
            child::wait_for_rounds(&engine);
        }
        engine.close();
    }
    (past, held)
}

/// The writes of a start.
pub fn writes() -> Vec<(Key, Option<Value>)> {
    commit(u32::MAX / KEYS, WRITES)
}

/// The pairs after these writes.
pub fn after(mut held: Image) -> Image {
    note(&mut held, writes());
    held
}

/// Copies a store.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a store") {
        let entry = entry.expect("a file of it");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("its kind").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}
