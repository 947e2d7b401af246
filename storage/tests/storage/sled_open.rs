//! Opening a directory: written data is found, only one process opens it, and faults are reported.

use crate::children::{Running, child};
use crate::support::no_failure;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{
    Direction, Engine, EngineError, Key, KeyRange, Value, commit_and_wait,
};

fn options(lock_timeout: Duration) -> SledOptions {
    SledOptions {
        lock_timeout,
        ..SledOptions::new(no_failure())
    }
}

/// Opens without waiting for another process.
fn open(directory: &Path) -> Result<SledEngine, EngineError> {
    SledEngine::open(directory, options(Duration::ZERO))
}

/// Opens with a long timeout: a dropped engine may still hold the lock.
fn reopen(directory: &Path) -> SledEngine {
    SledEngine::open(directory, options(Duration::from_secs(60))).expect("open")
}

fn message(outcome: Result<SledEngine, EngineError>) -> String {
    outcome.err().expect("a refusal").to_string()
}

fn put(engine: &SledEngine, key: &str, value: &str) {
    commit_and_wait(engine, vec![(key.into(), Some(value.into()))]).expect("commit");
}

fn all(engine: &SledEngine, direction: Direction) -> Vec<(Key, Value)> {
    let pairs = engine
        .scan(&KeyRange::prefix(b""), direction, usize::MAX)
        .wait();
    pairs.expect("scan")
}

#[test]
fn written_pairs_are_returned_in_order_after_a_reopen() {
    let directory = tempfile::tempdir().expect("directory");
    let mut expected = BTreeMap::new();
    for session in 0..4u32 {
        let engine = reopen(directory.path());
        let found = all(&engine, Direction::Rising);
        assert_eq!(found, expected.clone().into_iter().collect::<Vec<_>>());
        for number in 0..300u32 {
            // A step through all residues: neither ascending nor descending.
            let key = (number * 7_919 % 1_009).to_be_bytes().to_vec();
            let value = (number % 5 != session).then(|| vec![session as u8; number as usize]);
            commit_and_wait(&engine, vec![(key.clone(), value.clone())]).expect("commit");
            match value {
                Some(value) => expected.insert(key, value),
                None => expected.remove(&key),
            };
        }
    }
    let engine = reopen(directory.path());
    let mut falling = all(&engine, Direction::Falling);
    falling.reverse();
    assert_eq!(falling, expected.into_iter().collect::<Vec<_>>());
    assert_eq!(engine.stats().commits, 0, "figures are since opening");
}

#[test]
fn hostile_84_a_second_engine_of_the_process_is_refused_the_directory() {
    let directory = tempfile::tempdir().expect("directory");
    let first = open(directory.path()).expect("open");
    let refused = open(directory.path());
    assert!(matches!(&refused, Err(EngineError::Locked(path)) if path == directory.path()));
    assert_eq!(
        message(refused),
        format!(
            "the data directory {} is in use by another process; stop it, or give this one another --data-dir",
            directory.path().display()
        )
    );
    put(&first, "a", "1");
    let waiting = {
        let directory = directory.path().to_owned();
        std::thread::spawn(move || reopen(&directory))
    };
    drop(first);
    let second = waiting.join().expect("the second one gets it");
    assert_eq!(
        second.get(b"a").wait().expect("get").as_deref(),
        Some(b"1".as_slice())
    );
}

#[test]
fn hostile_84_a_second_process_is_refused_the_directory() {
    let directory = tempfile::tempdir().expect("directory");
    let half = directory.path().join("snap.0000000000000042.generating");
    let mut other = Running::start(child("hold", directory.path()), "open");
    assert!(matches!(
        open(directory.path()),
        Err(EngineError::Locked(_))
    ));
    // A file that looks like the rest of a crash stays while another process may be writing it.
    fs::write(&half, b"not yet whole").expect("write");
    assert!(matches!(
        open(directory.path()),
        Err(EngineError::Locked(_))
    ));
    assert!(half.exists());
    other.child.kill().expect("kill");
    other.child.wait().expect("wait");
    let engine = reopen(directory.path());
    assert_eq!(engine.get(b"held").wait().expect("get"), Some(vec![1]));
    assert!(!half.exists());
}

#[test]
fn a_directory_is_created_with_its_parents_and_from_a_relative_path() {
    let root = tempfile::tempdir().expect("directory");
    let deep = root.path().join("a/b/c");
    put(&open(&deep).expect("open"), "a", "1");
    assert!(deep.join("db").is_file());
    for relative in ["data", "x/y", "./z"] {
        let mut command = child("hold", Path::new(relative));
        command.current_dir(root.path());
        drop(Running::start(command, "open"));
        assert!(
            root.path().join(relative).join("db").is_file(),
            "{relative}"
        );
    }
}

#[test]
fn hostile_86_another_format_is_rejected_and_not_changed() {
    for (header, said) in [(Some("tintype 5"), "\"tintype 5\""), (None, "\"none\"")] {
        let directory = tempfile::tempdir().expect("directory");
        put(&open(directory.path()).expect("open"), "a", "1");
        let raw = || -> sled::Db {
            loop {
                match sled::open(directory.path()) {
                    Ok(db) => return db,
                    // The dropped engine still holds the lock.
                    Err(sled::Error::Io(_)) => std::thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let records = |db: &sled::Db| -> Vec<(sled::IVec, sled::IVec)> {
            let records = db.open_tree("records").expect("tree").iter();
            records.map(|it| it.expect("read")).collect()
        };
        let before = {
            let db = raw();
            match header {
                Some(text) => drop(db.insert("format", text).expect("insert")),
                None => drop(db.remove("format").expect("remove")),
            }
            db.flush().expect("flush");
            records(&db)
        };
        assert!(!before.is_empty());
        let refused = SledEngine::open(directory.path(), options(Duration::from_secs(60)));
        assert!(matches!(refused, Err(EngineError::Format { .. })));
        let message = message(refused);
        assert!(
            message.contains(said)
                && message.contains("`tintype export`")
                && message.contains("`tintype import`")
                && message.contains("reads \"tintype 6\""),
            "{message}"
        );
        assert_eq!(records(&raw()), before);
    }
}

#[test]
fn hostile_79_a_file_at_the_path_of_a_directory_is_reported() {
    let root = tempfile::tempdir().expect("directory");
    let file = root.path().join("file");
    fs::write(&file, b"x").expect("write");
    for path in [file.clone(), file.join("below"), file.join("far/below")] {
        let message = message(open(&path));
        assert_eq!(
            message,
            format!(
                "the data directory {}: there is a file in its place",
                path.display()
            )
        );
    }
    assert_eq!(fs::read(&file).expect("read"), b"x");
}

#[test]
fn hostile_79_directories_and_files_at_the_paths_of_sled_cause_no_panic() {
    for name in ["db", "conf", "snap.0000000000000042.generating"] {
        let directory = tempfile::tempdir().expect("directory");
        fs::create_dir_all(directory.path().join(name)).expect("directory");
        let message = message(open(directory.path()));
        assert!(message.starts_with("the data directory /"), "{message}");
    }
    let directory = tempfile::tempdir().expect("directory");
    fs::write(directory.path().join("blobs"), b"").expect("write");
    // The store never uses blobs; sled may accept or refuse this, but not panic.
    drop(open(directory.path()));
}

#[test]
fn hostile_83_unfinished_snapshots_left_by_a_crash_are_removed() {
    for content in [b"".as_slice(), b"torn"] {
        let directory = tempfile::tempdir().expect("directory");
        put(&open(directory.path()).expect("open"), "a", "1");
        put(&reopen(directory.path()), "b", "2");
        let halves = ["0000000000000000", "00000000000004D2", "FFFFFFFFFFFFFFFF"]
            .map(|lsn| directory.path().join(format!("snap.{lsn}.generating")));
        halves
            .iter()
            .for_each(|half| fs::write(half, content).expect("write"));
        let engine = reopen(directory.path());
        assert_eq!(all(&engine, Direction::Rising).len(), 2);
        assert!(halves.iter().all(|half| !half.exists()));
    }
    // Left by an interrupted first start.
    let directory = tempfile::tempdir().expect("directory");
    fs::write(directory.path().join("snap.0.generating"), b"").expect("write");
    put(&open(directory.path()).expect("open"), "a", "1");
}

#[test]
fn hostile_83_an_empty_finished_snapshot_is_a_clear_error() {
    let directory = tempfile::tempdir().expect("directory");
    put(&open(directory.path()).expect("open"), "a", "1");
    drop(reopen(directory.path()));
    fs::write(directory.path().join("snap.FFFFFFFFFFFFFFFF"), b"").expect("write");
    let refused = SledEngine::open(directory.path(), options(Duration::from_secs(60)));
    let message = message(refused);
    assert!(
        message.contains("its files are damaged; restore a backup"),
        "{message}"
    );
}
