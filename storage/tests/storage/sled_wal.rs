//! The journal and sled together: wherever the process ends, a start brings sled up to the answered commits.

use crate::support::{Random, no_failure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::wal::Layout;
use tintype_storage::engine::{
    Direction, Engine, EngineError, Key, KeyRange, Value, commit_and_wait,
};

/// Small files, so that a short test fills and recycles several.
fn options() -> SledOptions {
    SledOptions {
        wal: Layout {
            segment_bytes: 64 * 1024,
            step_bytes: 4 * 1024,
            kept: 2,
        },
        ..SledOptions::new(no_failure())
    }
}

fn open(directory: &Path) -> Result<SledEngine, EngineError> {
    SledEngine::open(directory, options())
}

/// What a kill would leave now: all files as they are.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("directory");
    for entry in fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            // A journal file may have been renamed since the listing.
            match fs::copy(entry.path(), &target) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
                _ => {}
            }
        }
    }
}

fn all(engine: &SledEngine) -> BTreeMap<Key, Value> {
    let pairs = engine
        .scan(&KeyRange::prefix(b""), Direction::Rising, usize::MAX)
        .wait();
    pairs.expect("scan").into_iter().collect()
}

fn random_writes(random: &mut Random) -> Vec<(Key, Option<Value>)> {
    let mut writes = BTreeMap::new();
    for _ in 0..1 + random.below(20) {
        let key = (random.below(400) as u16).to_be_bytes().to_vec();
        let value = (random.below(3) > 0)
            .then(|| vec![random.below(256) as u8; random.below(900) as usize]);
        writes.insert(key, value);
    }
    writes.into_iter().collect()
}

fn apply(model: &mut BTreeMap<Key, Value>, writes: &[(Key, Option<Value>)]) {
    for (key, value) in writes {
        match value {
            Some(value) => model.insert(key.clone(), value.clone()),
            None => model.remove(key),
        };
    }
}

#[test]
fn a_kill_at_any_moment_loses_no_acknowledged_commit() {
    let directory = tempfile::tempdir().expect("directory");
    let copies = tempfile::tempdir().expect("directory");
    let (mut random, mut model) = (Random(11), BTreeMap::new());
    let mut engine = open(directory.path()).expect("open");
    for round in 0..400 {
        let writes = random_writes(&mut random);
        commit_and_wait(&engine, writes.clone()).expect("commit");
        apply(&mut model, &writes);
        assert_eq!(all(&engine), model, "round {round}");
        if round % 40 == 7 {
            let image = copies.path().join(format!("{round}"));
            copy(directory.path(), &image);
            assert_eq!(
                all(&open(&image).expect("open")),
                model,
                "a kill after round {round}"
            );
        }
        if round % 150 == 149 {
            engine.close();
            drop(engine);
            engine = open(directory.path()).expect("open");
        }
    }
}

#[test]
fn a_store_that_lost_its_latest_writes_is_recovered_from_the_wal() {
    let directory = tempfile::tempdir().expect("directory");
    let image = tempfile::tempdir().expect("directory");
    let (mut random, mut model) = (Random(12), BTreeMap::new());
    let engine = open(directory.path()).expect("open");
    copy(directory.path(), image.path());
    for _ in 0..10 {
        let writes = random_writes(&mut random);
        commit_and_wait(&engine, writes.clone()).expect("commit");
        apply(&mut model, &writes);
    }
    engine.close();
    // sled's files from the beginning, and the journal's from now.
    fs::remove_dir_all(image.path().join("journal")).expect("remove");
    copy(
        &directory.path().join("journal"),
        &image.path().join("journal"),
    );
    assert_eq!(all(&open(image.path()).expect("open")), model);
}

#[test]
fn a_store_that_lost_more_than_the_wal_contains_is_rejected() {
    let directory = tempfile::tempdir().expect("directory");
    let image = tempfile::tempdir().expect("directory");
    drop(open(directory.path()).expect("open"));
    copy(directory.path(), image.path());
    // Each start creates a file, and closing releases the oldest.
    for number in 0..8u8 {
        let engine = open(directory.path()).expect("open");
        commit_and_wait(&engine, vec![(vec![number + 1], Some(vec![]))]).expect("commit");
        engine.close();
    }
    fs::remove_dir_all(image.path().join("journal")).expect("remove");
    copy(
        &directory.path().join("journal"),
        &image.path().join("journal"),
    );
    let refused = open(image.path()).err().expect("refused").to_string();
    assert!(
        refused.contains("the store ends with change 0, but the journal begins only with change")
            && refused.contains("restore a backup"),
        "{refused}"
    );
}

#[test]
fn a_store_without_its_wal_directory_is_rejected() {
    let directory = tempfile::tempdir().expect("directory");
    let engine = open(directory.path()).expect("open");
    commit_and_wait(&engine, vec![(b"a".to_vec(), Some(vec![]))]).expect("commit");
    engine.close();
    drop(engine);
    fs::remove_dir_all(directory.path().join("journal")).expect("remove");
    let refused = open(directory.path()).err().expect("refused").to_string();
    assert!(refused.contains("its journal: "), "{refused}");
}

#[test]
fn starts_without_commits_do_not_cause_the_loss_of_later_wal_files() {
    let directory = tempfile::tempdir().expect("directory");
    let images = tempfile::tempdir().expect("directory");
    let slow = SledOptions {
        // sled lags behind the journal by several files.
        flush: FlushPolicy {
            bytes: 200 * 1024,
            after: Duration::from_secs(600),
        },
        ..options()
    };
    for _ in 0..3 {
        drop(open(directory.path()).expect("open"));
    }
    let engine = SledEngine::open(directory.path(), slow).expect("open");
    let (mut random, mut model) = (Random(13), BTreeMap::new());
    for round in 0..120 {
        let writes = random_writes(&mut random);
        commit_and_wait(&engine, writes.clone()).expect("commit");
        apply(&mut model, &writes);
        if round % 10 == 9 {
            let image = images.path().join(format!("{round}"));
            copy(directory.path(), &image);
            assert_eq!(all(&open(&image).expect("open")), model, "after {round}");
        }
    }
}

#[test]
fn a_store_with_an_empty_wal_directory_is_rejected() {
    let directory = tempfile::tempdir().expect("directory");
    let engine = open(directory.path()).expect("open");
    engine.close();
    drop(engine);
    let journal = directory.path().join("journal");
    for entry in fs::read_dir(&journal).expect("list") {
        fs::remove_file(entry.expect("entry").path()).expect("remove");
    }
    let refused = open(directory.path()).err().expect("refused").to_string();
    assert!(
        refused.contains("its journal: there is no file in it; restore a backup"),
        "{refused}"
    );
    assert!(fs::read_dir(&journal).expect("list").next().is_none());
}

#[test]
fn a_read_only_engine_shows_the_wal_and_changes_nothing() {
    let (directory, image) = (tempfile::tempdir(), tempfile::tempdir());
    let (directory, image) = (directory.expect("directory"), image.expect("directory"));
    let held_back = SledOptions {
        flush: FlushPolicy {
            bytes: usize::MAX,
            after: Duration::from_secs(600),
        },
        ..options()
    };
    let engine = SledEngine::open(directory.path(), held_back).expect("open");
    commit_and_wait(&engine, vec![(b"a".to_vec(), Some(b"1".to_vec()))]).expect("commit");
    copy(directory.path(), image.path());
    let before = contents(image.path());
    for _ in 0..2 {
        let looks = SledEngine::open_read_only(image.path(), options()).expect("a look");
        assert_eq!(looks.get(b"a").wait().expect("get"), Some(b"1".to_vec()));
        // No process writes to it meanwhile.
        let at_once = SledOptions {
            lock_timeout: Duration::ZERO,
            ..options()
        };
        let refused = SledEngine::open(image.path(), at_once.clone());
        assert!(matches!(refused, Err(EngineError::Locked(path)) if path == image.path()));
        let refused = SledEngine::open_read_only(image.path(), at_once);
        assert!(matches!(refused, Err(EngineError::Locked(path)) if path == image.path()));
        drop(looks);
        assert!(contents(image.path()) == before, "something was changed");
    }
    let refused = SledEngine::open_read_only(&image.path().join("journal"), options());
    let refused = refused.err().expect("refused").to_string();
    assert!(refused.contains("/journal: No such file"), "{refused}");
}

fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("list") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(path).expect("read"));
        }
    }
    found
}
