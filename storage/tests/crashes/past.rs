//! A store with a past: much that sled's last snapshot knows, and several segments of its log that were written after it.

use crate::child;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{
    Direction, Engine, EngineError, Key, KeyRange, Value, commit_and_wait,
};

/// All that an engine holds.
pub type Image = BTreeMap<Key, Value>;

const VALUE_BYTES: usize = 1_024;
/// Commits before the snapshot, and after it: for some segments of the log each.
const COMMITS: [u32; 2] = [12, 45];
/// Keys of a commit. Half of them are those of the commit before, written anew as records are.
const KEYS: u32 = 32;
/// Keys that a start writes: enough for a round.
const WRITES: u32 = 4;

/// All that an engine holds.
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

/// Makes one, and says what it holds.
pub fn make() -> (TempDir, Image) {
    let past = child::place();
    let store = past.path().join(child::STORE);
    let (mut numbers, mut held) = (0.., Image::new());
    for commits in COMMITS {
        // Only a start makes a snapshot here, so that the next one has much to read.
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

/// What a start on it writes.
pub fn writes() -> Vec<(Key, Option<Value>)> {
    commit(u32::MAX / KEYS, WRITES)
}

/// What there is after that.
pub fn after(mut held: Image) -> Image {
    note(&mut held, writes());
    held
}

/// Puts a copy of a store there.
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
