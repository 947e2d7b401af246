//! Damaged files: a clear error, or a state that once was on the disk; never a panic out of `open`, never a hang.

use crate::support::{Random, no_failure};
use crossbeam_channel::RecvTimeoutError;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{
    Direction, Engine, EngineError, Key, KeyRange, Value, commit_and_wait,
};

const SESSIONS: u32 = 3;
const COMMITS: u32 = 400;

/// What the n-th commit writes: its own key, and the one that all of them write.
fn writes(number: u32) -> Vec<(Key, Option<Value>)> {
    let own = [b"own".as_slice(), &number.to_be_bytes()].concat();
    vec![
        (own, Some(vec![number as u8; 300 + number as usize % 300])),
        (b"last".to_vec(), Some(number.to_be_bytes().into())),
    ]
}

/// A directory with a history of several sessions, so that it has a snapshot and a log beyond it.
fn history() -> TempDir {
    let directory = tempfile::tempdir().expect("directory");
    for session in 0..SESSIONS {
        let engine =
            SledEngine::open(directory.path(), SledOptions::new(no_failure())).expect("open");
        for number in 0..COMMITS {
            commit_and_wait(&engine, writes(session * COMMITS + number)).expect("commit");
        }
    }
    directory
}

#[derive(Debug)]
enum Outcome {
    /// Opening said what is wrong.
    Refused(String),
    /// A read said what is wrong.
    ReadFailed(String),
    /// The state after this many commits.
    Opened(u32),
    /// Something that never was on the disk.
    Wrong(#[allow(dead_code, reason = "shown by a failing test")] String),
    Panicked,
    Hangs,
}

impl Outcome {
    /// An error in words, or a state that once was acknowledged.
    fn is_fair(&self) -> bool {
        match self {
            Self::Refused(text) | Self::ReadFailed(text) => !text.is_empty(),
            Self::Opened(commits) => *commits <= SESSIONS * COMMITS,
            Self::Wrong(_) | Self::Panicked | Self::Hangs => false,
        }
    }
}

/// Opens in a thread of its own, so that a hang or a panic is seen.
fn try_open(directory: &Path) -> Outcome {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let path = directory.to_owned();
    std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| read_all(&path)));
        drop(sender.send(outcome.unwrap_or(Outcome::Panicked)));
    });
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Outcome::Hangs,
        Err(RecvTimeoutError::Disconnected) => Outcome::Panicked,
    }
}

fn read_all(directory: &Path) -> Outcome {
    let mut options = SledOptions::new(no_failure());
    options.lock_timeout = Duration::ZERO;
    let engine = match SledEngine::open(directory, options) {
        Ok(engine) => engine,
        Err(error @ (EngineError::Directory { .. } | EngineError::Format { .. })) => {
            return Outcome::Refused(error.to_string());
        }
        Err(error) => return Outcome::Wrong(format!("another kind of error: {error}")),
    };
    let pairs = match engine.scan(&KeyRange::prefix(b""), Direction::Rising, usize::MAX) {
        Ok(pairs) => pairs,
        Err(error) => return Outcome::ReadFailed(error.to_string()),
    };
    let count = pairs.len().saturating_sub(1) as u32;
    let mut expected: Vec<(Key, Value)> = (0..count)
        .flat_map(writes)
        .filter(|(key, _)| key != b"last")
        .filter_map(|(key, value)| Some((key, value?)))
        .collect();
    if count > 0 {
        expected.insert(0, (b"last".to_vec(), (count - 1).to_be_bytes().into()));
    }
    if pairs != expected {
        let last = pairs.iter().find(|(key, _)| key == b"last");
        return Outcome::Wrong(format!("{count} keys, last is {last:?}"));
    }
    Outcome::Opened(count)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("directory");
    for entry in fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        if entry.file_type().expect("type").is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copy");
        }
    }
}

/// Files of sled that hold something.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("list")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

type Damage = Box<dyn Fn(&mut Vec<u8>)>;

/// Tries a damage on a copy of each file, and tells what came of it.
fn try_damages(damages: impl Fn(u64) -> Vec<(String, Damage)>) {
    let whole = history();
    let copies = tempfile::tempdir().expect("directory");
    let mut bad = Vec::new();
    let mut number = 0;
    for file in files(whole.path()) {
        let name = file.file_name().expect("name").to_owned();
        let length = fs::metadata(&file).expect("metadata").len();
        for (what, damage) in damages(length) {
            number += 1;
            let directory = copies.path().join(format!("{number}"));
            copy(whole.path(), &directory);
            let mut bytes = fs::read(&file).expect("read");
            damage(&mut bytes);
            fs::write(directory.join(&name), bytes).expect("write");
            let outcome = try_open(&directory);
            if !outcome.is_fair() {
                bad.push(format!("{name:?} {what}: {outcome:?}"));
            }
            drop(fs::remove_dir_all(directory));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn the_undamaged_history_opens_whole() {
    let outcome = try_open(history().path());
    assert!(
        matches!(outcome, Outcome::Opened(count) if count == SESSIONS * COMMITS),
        "{outcome:?}"
    );
}

#[test]
fn hostile_80_flipped_bits() {
    try_damages(|length| {
        let mut random = Random(80);
        let count = if length > 10_000 { 60 } else { 24 };
        (0..count)
            .map(|_| {
                let (at, bit) = (random.below(length) as usize, random.below(8));
                let flip: Damage = Box::new(move |bytes| bytes[at] ^= 1 << bit);
                (format!("bit {bit} of byte {at}"), flip)
            })
            .collect()
    });
}

#[test]
fn hostile_81_truncated_files() {
    try_damages(|length| {
        let step = (length / 24).max(1);
        (0..length)
            .step_by(step as usize)
            .chain([length - 1])
            .map(|to| {
                let cut: Damage = Box::new(move |bytes| bytes.truncate(to as usize));
                (format!("cut to {to} of {length}"), cut)
            })
            .collect()
    });
}

#[test]
fn hostile_80_overwritten_stretches() {
    try_damages(|length| {
        let mut random = Random(81);
        (0..24)
            .map(|_| {
                let (from, count) = (random.below(length), random.below(5_000));
                let byte = *random.pick(&[0u8, 0xff, 0x55]);
                let overwrite: Damage = Box::new(move |bytes| {
                    let to = (from + count).min(bytes.len() as u64);
                    bytes[from as usize..to as usize].fill(byte);
                });
                (format!("{count} bytes of {byte} from {from}"), overwrite)
            })
            .collect()
    });
}
