//! The child's scenario: three starts, with single and concurrent commits over few keys, so that most writes overwrite.

use crate::disk::Random;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::wal::Layout;
use tintype_storage::engine::{Engine as _, Key, Value, submit_waiting};

pub struct Scenario;

impl Scenario {
    const STARTS: u64 = 3;
    const OF_A_START: u64 = 90;
    /// Numbered from 0.
    pub const COMMITS: u64 = Self::STARTS * Self::OF_A_START;
}

/// Every commit writes its number here.
pub const COUNTER: &[u8] = b"counter";
const KEYS: u64 = 250;
/// Keys of values so large that a leaf of sled with several of them needs special care.
const LARGE_KEYS: u64 = 40;

/// Small files and short flushes, so that a short scenario recycles files and uses sled heavily.
pub fn options() -> SledOptions {
    SledOptions {
        wal: Layout {
            segment_bytes: 48 * 1024,
            step_bytes: 16 * 1024,
            kept: 2,
        },
        flush: FlushPolicy {
            bytes: 24 * 1024,
            after: Duration::from_millis(4),
        },
        checkpoint_after: 128 * 1024,
        ..SledOptions::new(Arc::new(|_| {}))
    }
}

/// The writes of a commit.
fn writes(number: u64) -> Vec<(Key, Option<Value>)> {
    let mut random = Random::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut writes = BTreeMap::new();
    for _ in 0..2 + random.below(6) {
        let key = format!("key {}", random.below(KEYS)).into_bytes();
        let length = random.below(1_500) as usize;
        let value = (random.below(4) > 0).then(|| vec![random.below(256) as u8; length]);
        writes.insert(key, value);
    }
    if random.below(3) == 0 {
        let key = format!("large {}", random.below(LARGE_KEYS)).into_bytes();
        let length = 4_000 + random.below(12_000) as usize;
        writes.insert(key, Some(vec![random.below(256) as u8; length]));
    }
    writes.insert(COUNTER.to_vec(), Some(number.to_be_bytes().to_vec()));
    writes.into_iter().collect()
}

/// The stored records after the commit `newest`; `None` is before the first.
pub fn model(newest: Option<u64>) -> BTreeMap<Key, Value> {
    let mut stored = BTreeMap::new();
    for number in newest.map_or(0..0, |newest| 0..newest + 1) {
        for (key, value) in writes(number) {
            match value {
                Some(value) => stored.insert(key, value),
                None => stored.remove(&key),
            };
        }
    }
    stored
}

/// Prints a line for the recorder, at once and in one write.
fn say(word: &str, number: u64) {
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(format!("{word} {number}\n").as_bytes())
        .and_then(|()| stdout.flush())
        .expect("stdout");
}

/// Plays the scenario. Prints each commit when it starts and when it is answered.
pub fn play(directory: &Path) {
    let mut number = 0;
    for _ in 0..Scenario::STARTS {
        let engine = SledEngine::open(directory, options()).expect("open");
        let end = number + Scenario::OF_A_START;
        while number < end {
            // A single commit, then several that may share a group.
            let together = (1 + number % 5).min(end - number);
            let answers: Vec<_> = (number..number + together)
                .map(|number| {
                    say("begun", number);
                    submit_waiting(&engine, writes(number))
                })
                .collect();
            for answer in answers {
                answer.recv().expect("an answer").expect("commit");
                say("answered", number);
                number += 1;
            }
        }
        engine.close();
    }
}
