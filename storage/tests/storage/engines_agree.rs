//! sled and memory return the same, over trees of several levels and after reopening.

use crate::support::{Random, no_failure};
use std::ops::Bound;
use std::time::Duration;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Direction, Engine, Key, KeyRange, Value, submit_waiting};
use tintype_storage::testing::memory::MemoryEngine;

/// Keys like the store's: long common prefixes, ids, and sometimes a prefix of another key.
fn random_key(random: &mut Random) -> Key {
    let mut key = vec![*random.pick(b"aelt")];
    key.extend([random.below(3) as u8; 16]);
    match random.below(20) {
        0 => key.truncate(random.below(18) as usize),
        1 => key.push(*random.pick(&[0, 0xff])),
        _ => key.extend((random.below(600) * 0x9e37).to_be_bytes()),
    }
    key
}

fn random_value(random: &mut Random) -> Option<Value> {
    let length = match random.below(10) {
        0..3 => return None,
        3 => random.below(4_000),
        _ => random.below(200),
    };
    Some(vec![random.below(256) as u8; length as usize])
}

fn random_range(random: &mut Random) -> KeyRange {
    let mut end = || match random.below(5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(random_key(random)),
        _ => Bound::Excluded(random_key(random)),
    };
    let range = KeyRange {
        from: end(),
        to: end(),
    };
    if random.below(2) == 0 {
        return range;
    }
    let key = random_key(random);
    let prefix = KeyRange::prefix(&key[..random.below(1 + key.len() as u64) as usize]);
    match random.below(3) {
        0 => prefix.above(random_key(random)),
        1 => prefix.below(random_key(random)),
        _ => prefix,
    }
}

#[test]
fn sled_and_memory_return_the_same_results() {
    for seed in 0..4 {
        let mut random = Random(seed);
        let directory = tempfile::tempdir().expect("directory");
        let open = || {
            let mut options = SledOptions::new(no_failure());
            options.lock_timeout = Duration::from_secs(60);
            options.cache_bytes = 256 * 1024;
            SledEngine::open(directory.path(), options).expect("open")
        };
        let memory = MemoryEngine::new();
        for _ in 0..3 {
            let sled = open();
            for _ in 0..40 {
                let mut answers = Vec::new();
                for _ in 0..random.below(12) {
                    let writes: Vec<_> = (0..random.below(20))
                        .map(|_| (random_key(&mut random), random_value(&mut random)))
                        .collect();
                    answers.push(submit_waiting(&sled, writes.clone()));
                    answers.push(submit_waiting(&memory, writes));
                }
                for answer in answers {
                    answer.recv().expect("an answer").expect("commit");
                }
                for _ in 0..10 {
                    let key = random_key(&mut random);
                    assert_eq!(
                        sled.get(&key).wait().expect("get"),
                        memory.get(&key).wait().expect("get")
                    );
                    let range = random_range(&mut random);
                    let limit = *random.pick(&[0, 1, 2, 20, 10_000]);
                    for direction in [Direction::Rising, Direction::Falling] {
                        assert_eq!(
                            sled.scan(&range, direction, limit).wait().expect("scan"),
                            memory.scan(&range, direction, limit).wait().expect("scan"),
                            "seed {seed}, {range:?}, {direction:?}, {limit}"
                        );
                    }
                }
            }
        }
    }
}
