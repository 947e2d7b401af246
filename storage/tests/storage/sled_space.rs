//! The space of deleted records is reused.

use crate::support::no_failure;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::wal::Layout;
use tintype_storage::engine::{Direction, Engine, Key, KeyRange, Value, commit_and_wait};

const ROUNDS: u32 = 12;
const RECORDS: u32 = 3_000;

/// The size of the files on disk, without holes.
fn disk_kib(directory: &Path) -> u64 {
    let mut kib = 0;
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // A file may have been deleted since the listing.
        let Ok(meta) = entry.metadata() else { continue };
        kib += match meta.is_dir() {
            true => disk_kib(&entry.path()),
            false => meta.blocks() / 2,
        };
    }
    kib
}

fn records(round: u32) -> impl Iterator<Item = (Key, Option<Value>)> {
    (0..RECORDS).map(move |number| {
        let key = [round.to_be_bytes(), number.to_be_bytes()].concat();
        (key, Some(vec![round as u8; 700]))
    })
}

#[test]
fn a_store_that_deletes_as_much_as_it_writes_does_not_grow() {
    let directory = tempfile::tempdir().expect("directory");
    let options = || SledOptions {
        lock_timeout: Duration::from_secs(60),
        wal: Layout {
            segment_bytes: 1 << 20,
            step_bytes: 128 * 1024,
            kept: 2,
        },
        flush: FlushPolicy {
            bytes: 256 * 1024,
            after: Duration::from_millis(10),
        },
        ..SledOptions::new(no_failure())
    };
    let mut sizes = Vec::new();
    for round in 0..ROUNDS {
        let engine = SledEngine::open(directory.path(), options()).expect("open");
        let mut new: Vec<_> = records(round).collect();
        while !new.is_empty() {
            let part = new.split_off(new.len().saturating_sub(100));
            commit_and_wait(&engine, part).expect("commit");
        }
        if let Some(old) = round.checked_sub(1) {
            let mut old: Vec<_> = records(old).map(|(key, _)| (key, None)).collect();
            while !old.is_empty() {
                let part = old.split_off(old.len().saturating_sub(100));
                commit_and_wait(&engine, part).expect("commit");
            }
        }
        let left = engine
            .scan(&KeyRange::prefix(b""), Direction::Rising, usize::MAX)
            .wait();
        assert_eq!(left.expect("scan").len(), RECORDS as usize);
        engine.close();
        drop(engine);
        sizes.push(disk_kib(directory.path()));
    }
    println!("KiB on the disk after each round: {sizes:?}");
    // How much is free within the files at the end of a round depends on the moments of the flushes, so each third's largest counts.
    let largest = |sizes: &[u64]| sizes.iter().max().copied().unwrap_or_default();
    let third = sizes.len() / 3;
    let (early, late) = (
        largest(&sizes[..third]),
        largest(&sizes[sizes.len() - third..]),
    );
    assert!(late <= early * 3 / 2, "{sizes:?}");
}
