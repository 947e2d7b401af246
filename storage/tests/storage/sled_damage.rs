//! Damaged files: the result is the last acknowledged state, a clear error, or faults that verification finds. Never a panic, a
//! hang, an older state that looks sound, or wrong money that goes unnoticed.
//!
//! Verification is needed because of sled: at a flipped bit in its log it silently drops the rest of that segment and continues
//! with the next one, so that some records are older than others.

use crate::support::*;
use crossbeam_channel::RecvTimeoutError;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tintype_storage::domain::job::{PromptRef, PromptText};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{FlushPolicy, SledEngine, SledOptions};
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineError, Holds, KeyRange, commit_and_wait,
};
use tintype_storage::store::{AccountState, NewJob, Store};
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;

const COMMITS: u32 = 500;
/// The commits before which the directory is reopened, which makes sled write a checkpoint. Most of the log comes after it.
const REOPENS: [u32; 2] = [50, 100];

/// A directory with several sessions, and so with a checkpoint and a later log.
struct History {
    directory: TempDir,
    /// The hashes of the records after each commit.
    moments: HashSet<u64>,
    /// The last of them.
    last: u64,
}

/// Where the changes of the last session are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backlog {
    /// In sled too, as after an orderly end.
    Applied,
    /// Only in the journal, as after a kill.
    Waits,
}

fn moment(engine: &dyn Engine) -> Result<u64, EngineError> {
    let mut hasher = DefaultHasher::new();
    // The records that money depends on, except the idempotency records.
    for kind in [b"a", b"e", b"l", b"t", b"u"] {
        let range = KeyRange::prefix(kind);
        engine
            .scan(&range, Direction::Rising, usize::MAX)
            .wait()?
            .hash(&mut hasher);
    }
    Ok(hasher.finish())
}

fn open(directory: &Path) -> Result<SledEngine, EngineError> {
    open_with(directory, FlushPolicy::default())
}

fn open_with(directory: &Path, flush: FlushPolicy) -> Result<SledEngine, EngineError> {
    // Reading a corrupt record fails the engine, as intended here.
    let mut options = SledOptions::new(Arc::new(|_| {}));
    options.lock_timeout = Duration::from_secs(20);
    options.flush = flush;
    SledEngine::open(directory, options)
}

/// Two engines with the same commits: reading everything is cheap in memory.
struct Both {
    memory: Arc<MemoryEngine>,
    holds: Arc<Holds>,
    sled: Mutex<SledEngine>,
}

impl Layer for Both {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.memory) as _
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn submit(&self, commit: Commit) {
        commit_and_wait(&*self.sled.lock(), commit.writes.clone()).expect("commit");
        self.memory.submit(commit);
    }

    fn close(&self) {}
}

/// Each commit accepts a job and ends the previous one, so every commit moves money.
fn history(backlog: Backlog) -> History {
    let rounds = match backlog {
        Backlog::Applied => FlushPolicy::default(),
        Backlog::Waits => FlushPolicy {
            bytes: usize::MAX,
            after: Duration::from_secs(3_600),
        },
    };
    let directory = tempfile::tempdir().expect("directory");
    let both = Arc::new(Both {
        memory: Arc::default(),
        holds: Arc::default(),
        sled: Mutex::new(open(directory.path()).expect("open")),
    });
    let mut moments = HashSet::from([moment(&*both).expect("moment")]);
    let mut till = Till::open(both.clone(), ACCOUNT, amount("1000"));
    moments.insert(moment(&*both).expect("moment"));
    let mut before = None;
    for number in 0..COMMITS {
        if REOPENS.contains(&number) {
            let elsewhere = tempfile::tempdir().expect("directory");
            *both.sled.lock() = open(elsewhere.path()).expect("open");
            *both.sled.lock() = open_with(directory.path(), rounds).expect("open");
        }
        before = till.decisions(|decisions, ids| {
            if let Some(job) = before.take() {
                ids.apply(decisions, job, begin()).expect("begin");
                let end = if number % 3 == 0 { fail() } else { finish() };
                ids.apply(decisions, job, end).expect("end");
            }
            let words = PromptText {
                // Large enough for a log of many segments.
                prompt: "x".repeat(2_000),
                metadata: None,
            };
            let new = NewJob {
                prompt: PromptRef::Inline(words),
                ..new_job(units(1 + i64::from(number)))
            };
            Some(ids.accept(decisions, new).expect("accept").job)
        });
        moments.insert(moment(&*both).expect("moment"));
    }
    let directory = match backlog {
        Backlog::Applied => directory,
        Backlog::Waits => {
            let killed = tempfile::tempdir().expect("directory");
            copy(directory.path(), killed.path());
            killed
        }
    };
    History {
        directory,
        last: moment(&*both).expect("moment"),
        moments,
    }
}

#[derive(Debug)]
enum Outcome {
    /// Opening or reading returned an error.
    Refused(String),
    /// The last acknowledged state.
    Opened,
    /// An older state without any error.
    Lost,
    /// Another state, with the faults that verification finds.
    Noticed(Vec<String>),
    /// Another state that looks sound.
    Wrong,
    Panicked,
    Hangs,
}

impl Outcome {
    /// Is the outcome honest?
    fn is_fair(&self) -> bool {
        match self {
            Self::Refused(text) => {
                text.starts_with("the data directory") || text.starts_with("storage failed")
            }
            Self::Noticed(faults) => !faults.is_empty(),
            Self::Opened => true,
            Self::Lost | Self::Wrong | Self::Panicked | Self::Hangs => false,
        }
    }
}

/// Opens on a separate thread, so that a hang or a panic is noticed.
fn try_open(directory: &Path, history: &History) -> Outcome {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let (path, moments, last) = (directory.to_owned(), history.moments.clone(), history.last);
    std::thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            look(&path, &moments, last).unwrap_or_else(|error| Outcome::Refused(error.to_string()))
        }));
        drop(sender.send(outcome.unwrap_or(Outcome::Panicked)));
    });
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Outcome::Hangs,
        Err(RecvTimeoutError::Disconnected) => Outcome::Panicked,
    }
}

fn look(directory: &Path, moments: &HashSet<u64>, last: u64) -> Result<Outcome, EngineError> {
    let engine = Arc::new(open(directory)?);
    let found = moment(&*engine)?;
    if found == last {
        return Ok(Outcome::Opened);
    }
    if moments.contains(&found) {
        return Ok(Outcome::Lost);
    }
    let store = Store::new(engine);
    let mut faults = match verify(&store, |_| {}) {
        Ok(report) => report.faults,
        Err(error) => vec![error.to_string()],
    };
    if let Ok(Some(account)) = store.account(ACCOUNT).wait()
        && let Err(error) = AccountState::load(&store, account).wait()
    {
        faults.push(error.to_string());
    }
    Ok(if faults.is_empty() {
        Outcome::Wrong
    } else {
        Outcome::Noticed(faults)
    })
}

/// Copies a directory recursively.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("directory");
    for entry in fs::read_dir(from).expect("list") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_file() {
            fs::copy(entry.path(), target).expect("copy");
        } else {
            copy(&entry.path(), &target);
        }
    }
}

/// The files of a store, relative to its directory: sled's log and checkpoint, and the journal's.
fn files(directory: &Path) -> Vec<PathBuf> {
    let list = |below: &str| {
        let entries = fs::read_dir(directory.join(below)).expect("list");
        let paths = entries.map(|entry| entry.expect("entry").path());
        paths.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let mut files = [list("."), list("journal")].concat();
    files.sort();
    let below = |path: PathBuf| path.strip_prefix(directory).expect("below").to_owned();
    files.into_iter().map(below).collect()
}

type Damage = Box<dyn Fn(&mut Vec<u8>)>;

/// Applies each damage to a copy of each file, and checks the outcome.
fn try_damages(damages: impl Fn(u64) -> Vec<(String, Damage)>) {
    try_damages_of(Backlog::Applied, &damages);
    try_damages_of(Backlog::Waits, &damages);
}

/// Does the damaged newest file look like a crash during the write of a group? Its header is intact, and nothing follows the
/// missing part.
fn looks_torn(before: &[u8], after: &[u8]) -> bool {
    let last = before.windows(4).collect::<Vec<_>>();
    let last = last.iter().rposition(|it| *it == b"TTJ1");
    let last = last.expect("a group");
    let reaches = (0..before.len()).rfind(|at| before.get(*at) != after.get(*at));
    reaches.is_some_and(|at| at >= last) && after.len() >= 8_192
}

fn newest_of_journal(names: &[PathBuf]) -> PathBuf {
    let of_journal = |it: &&PathBuf| it.extension().is_some_and(|it| it == "journal");
    let newest = names.iter().rfind(of_journal);
    newest.expect("a file of the journal").clone()
}

fn try_damages_of(backlog: Backlog, damages: &impl Fn(u64) -> Vec<(String, Damage)>) {
    let whole = history(backlog);
    let copies = tempfile::tempdir().expect("directory");
    let mut bad = Vec::new();
    let mut number = 0;
    let names = files(whole.directory.path());
    let newest = newest_of_journal(&names);
    for name in names {
        if backlog == Backlog::Waits && !name.starts_with("journal") {
            continue;
        }
        let file = whole.directory.path().join(&name);
        let length = fs::metadata(&file).expect("metadata").len();
        for (what, damage) in damages(length) {
            number += 1;
            let directory = copies.path().join(format!("{number}"));
            copy(whole.directory.path(), &directory);
            let before = fs::read(&file).expect("read");
            let mut bytes = before.clone();
            damage(&mut bytes);
            fs::write(directory.join(&name), &bytes).expect("write");
            let outcome = try_open(&directory, &whole);
            // A missing end of the newest file looks like a group that was never complete.
            let is_torn = matches!(outcome, Outcome::Lost) && name == newest;
            let is_torn = is_torn && backlog == Backlog::Waits && looks_torn(&before, &bytes);
            if !outcome.is_fair() && !is_torn {
                bad.push(format!("{name:?} {what}: {outcome:?}"));
            }
            drop(fs::remove_dir_all(directory));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn the_undamaged_history_opens_completely() {
    for backlog in [Backlog::Applied, Backlog::Waits] {
        let whole = history(backlog);
        assert!(whole.moments.len() > COMMITS as usize);
        let outcome = try_open(whole.directory.path(), &whole);
        assert!(matches!(outcome, Outcome::Opened), "{outcome:?}");
    }
}

#[test]
fn hostile_80_flipped_bits_are_found_or_harmless() {
    try_damages(|length| {
        let mut random = Random(80);
        let count = if length > 10_000 { 40 } else { 16 };
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
fn hostile_81_truncated_files_are_found_or_harmless() {
    try_damages(|length| {
        let step = (length / 16).max(1);
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
fn hostile_82_missing_files_are_found_or_harmless() {
    let mut bad = Vec::new();
    for backlog in [Backlog::Applied, Backlog::Waits] {
        let whole = history(backlog);
        let copies = tempfile::tempdir().expect("directory");
        let names = files(whole.directory.path());
        let newest = newest_of_journal(&names);
        for (number, name) in names.iter().enumerate() {
            let directory = copies.path().join(format!("{number}"));
            copy(whole.directory.path(), &directory);
            fs::remove_file(directory.join(name)).expect("remove");
            let outcome = try_open(&directory, &whole);
            // A missing newest file looks like one that was never started.
            let is_end = backlog == Backlog::Waits && *name == newest;
            if !outcome.is_fair() && !is_end {
                bad.push(format!("{name:?}: {outcome:?}"));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn hostile_80_overwritten_bytes_are_found_or_harmless() {
    try_damages(|length| {
        let mut random = Random(81);
        (0..16)
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
