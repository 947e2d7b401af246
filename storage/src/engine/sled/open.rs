//! Opens a directory: one process, one format, no half-written files, and sled brought up to the end of the journal.

use super::super::EngineError;
use super::super::size;
use super::super::wal::{self, GroupNumber, Replay, Segments, Wal};
use super::format::LOG;
use super::format::preflight;
use super::io_advice::with_advice;
use super::memtable::Changes;
use super::sled_tree::SledTree;
use super::watchdog::Steps;
use super::{APPLIED, LOCK_RETRY, SledOptions};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The value of [`FORMAT_KEY`]: the format of this version.
const FORMAT: &str = "tintype 4";
const FORMAT_KEY: &[u8] = b"format";

/// The subdirectory of the journal.
const JOURNAL: &str = "journal";
/// sled's log is far smaller after an interrupted first start.
const FIRST_START_BYTES: u64 = 64 * 1024;
/// Bytes of the journal that are read before they are applied to sled.
const REPLAY_BYTES: usize = 8 << 20;

/// A directory that is locked until sled is dropped.
pub struct OpenedStore {
    pub sled: SledTree,
    pub journal: Wal,
    /// The complete files; the current one is not among them.
    pub segments: Segments,
}

/// Opens or creates the store in `directory`.
pub fn open(
    directory: &Path,
    options: &SledOptions,
    steps: &Steps,
) -> Result<OpenedStore, EngineError> {
    let wrong = |reason: String| EngineError::directory(directory, reason);
    let io_failed = |error: io::Error| wrong(with_advice(&error));
    let outermost_new = outermost_missing(directory);
    fs::create_dir_all(directory).map_err(io_failed)?;
    let db = open_sled(directory, options, steps)?;
    steps.begin();
    let opened = catch_unwind(AssertUnwindSafe(|| -> Result<OpenedStore, EngineError> {
        let tree = db.open_tree(b"records").map_err(super::failed)?;
        let journal_directory = directory.join(JOURNAL);
        if !is_current(&db, &tree)? {
            // The order matters: sled's files are complete before the journal exists, and the journal exists before the header
            // says so. From then on a missing journal is a fault.
            db.flush().map_err(super::failed)?;
            sync_directory(directory, outermost_new.as_deref()).map_err(io_failed)?;
            fs::create_dir_all(&journal_directory)
                .and_then(|()| File::open(directory)?.sync_all())
                .and_then(|()| begin_first(&journal_directory, options))
                .map_err(io_failed)?;
            db.insert(FORMAT_KEY, FORMAT).map_err(super::failed)?;
        }
        steps.begin();
        db.flush().map_err(super::failed)?;
        let log_file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(directory.join(LOG))
            .map_err(io_failed)?;
        steps.begin();
        sync_directory(directory, outermost_new.as_deref()).map_err(io_failed)?;
        let sled = SledTree::new(db, tree, log_file);
        let segments = Segments::new(options.wal);
        let of_journal = |error: io::Error| wrong(format!("its journal: {}", with_advice(&error)));
        let Replay { next, stale } =
            catch_up(&sled, &journal_directory, &segments, directory, steps)?;
        steps.begin();
        let journal = Wal::begin(&journal_directory, options.wal, next, segments.clone())
            .map_err(of_journal)?;
        for path in stale {
            fs::remove_file(path).map_err(of_journal)?;
        }
        segments.release(next - 1).map_err(of_journal)?;
        Ok(OpenedStore {
            sled,
            journal,
            segments,
        })
    }));
    opened.unwrap_or_else(|_| Err(wrong(damage_text())))
}

/// Creates the journal's first file, unless an earlier first start has done so.
fn begin_first(journal: &Path, options: &SledOptions) -> io::Result<()> {
    if wal::is_empty(journal)? {
        Wal::begin(journal, options.wal, 1, Segments::new(options.wal))?;
    }
    Ok(())
}

/// Applies the groups that only the journal holds to sled.
fn catch_up(
    sled: &SledTree,
    journal: &Path,
    segments: &Segments,
    directory: &Path,
    steps: &Steps,
) -> Result<Replay, EngineError> {
    let wrong = |reason: String| EngineError::directory(directory, reason);
    let of_journal = |error: io::Error| wrong(format!("its journal: {}", with_advice(&error)));
    let applied = sled.tree.get(APPLIED).map_err(super::failed)?;
    let applied = match applied.as_deref().map(TryInto::try_into) {
        Some(Ok(number)) => GroupNumber::from_be_bytes(number),
        Some(Err(_)) => return Err(wrong(damage_text())),
        None => 0,
    };
    if wal::is_empty(journal).map_err(of_journal)? {
        let gone = "its journal: there is no file in it; restore a backup";
        return Err(wrong(gone.into()));
    }
    let (mut changes, mut bytes, mut last) = (Changes::new(), 0, applied);
    // The replay reads each file as a whole.
    let read = |steps: &Steps| steps.begin_read(journal_bytes(journal));
    read(steps);
    let replayed = wal::replay(journal, applied, segments, |group, writes| {
        bytes += writes
            .iter()
            .map(|(key, value)| size(key, value.as_ref()))
            .sum::<usize>();
        changes.extend(writes);
        last = group;
        if bytes > REPLAY_BYTES {
            sled.apply(&std::mem::take(&mut changes), last, |_| steps.begin())?;
            bytes = 0;
            read(steps);
        }
        Ok::<_, ReplayStop>(())
    })
    .map_err(|error| match error {
        ReplayStop::Engine(error) => error,
        ReplayStop::Wal(wal::ReplayError::Io(error)) => of_journal(error),
        ReplayStop::Wal(fault) => wrong(format!("{fault}; restore a backup")),
    })?;
    if !changes.is_empty() {
        steps.begin();
        sled.apply(&changes, last, |_| steps.begin())?;
    }
    Ok(replayed)
}

fn journal_bytes(journal: &Path) -> u64 {
    let files = fs::read_dir(journal).into_iter().flatten().flatten();
    files
        .filter_map(|it| it.metadata().ok())
        .map(|it| it.len())
        .sum()
}

/// Why the replay stopped early.
#[derive(Debug, thiserror::Error)]
enum ReplayStop {
    #[error(transparent)]
    Wal(#[from] wal::ReplayError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// sled tries the lock once and reports a failure as an ordinary I/O error. A predecessor may need a moment to exit.
fn open_sled(
    directory: &Path,
    options: &SledOptions,
    steps: &Steps,
) -> Result<::sled::Db, EngineError> {
    let wrong = |reason: String| EngineError::directory(directory, reason);
    let deadline = Instant::now() + options.lock_timeout;
    let config = ::sled::Config::new()
        .path(directory)
        .cache_capacity(options.cache_bytes)
        .flush_every_ms(None)
        .use_compression(false)
        .mode(::sled::Mode::HighThroughput);
    loop {
        let log = fs::metadata(directory.join(LOG)).map_or(0, |it| it.len());
        steps.begin_read(log);
        if preflight::prepare(directory).map_err(|error| wrong(with_advice(&error)))? {
            steps.begin_read(log);
            // sled panics on some damaged files instead of returning an error.
            let outcome = catch_unwind(AssertUnwindSafe(|| config.open()))
                .map_err(|_| wrong(damaged_at(directory)))?;
            match outcome {
                Ok(db) => return Ok(db),
                Err(error) if is_locked(&error) => {}
                Err(::sled::Error::Io(error)) => return Err(wrong(with_advice(&error))),
                Err(::sled::Error::Corruption { .. }) => return Err(wrong(damaged_at(directory))),
                Err(error) => {
                    return Err(wrong(format!("{error}; {}", damaged_at(directory))));
                }
            }
        }
        if Instant::now() >= deadline {
            return Err(EngineError::Locked(directory.to_owned()));
        }
        std::thread::sleep(LOCK_RETRY);
    }
}

/// sled wraps the system's error in text. An error that does not mean another process, such as a file system without locks,
/// passes unchanged.
fn is_locked(error: &::sled::Error) -> bool {
    let text = error.to_string();
    text.contains("could not acquire lock") && text.contains("WouldBlock")
}

/// Does the directory have this version's format? `false` if it is new. The header is in sled's default tree, so scans of
/// records do not meet it.
fn is_current(header: &::sled::Tree, records: &::sled::Tree) -> Result<bool, EngineError> {
    match header.get(FORMAT_KEY).map_err(super::failed)?.as_deref() {
        Some(found) if found == FORMAT.as_bytes() => Ok(true),
        None if records.is_empty() => Ok(false),
        other => {
            let found = other.map_or("none".into(), String::from_utf8_lossy);
            Err(EngineError::Format {
                found: found.into_owned(),
                expected: FORMAT,
            })
        }
    }
}

/// The topmost missing directory on the path.
fn outermost_missing(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
        .last()
        .map(Path::to_owned)
}

/// Makes sled's files and their names durable, up to the parent of the topmost created directory; later only the log changes.
fn sync_directory(directory: &Path, outermost_new: Option<&Path>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()?;
    let last = outermost_new.unwrap_or(directory);
    for inner in directory.ancestors() {
        let parent = match inner.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => break,
        };
        match File::open(parent).and_then(|parent| parent.sync_all()) {
            Ok(()) => {}
            // A parent without read permission, as home directories often are, cannot be synced.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
        if inner == last {
            break;
        }
    }
    Ok(())
}

/// Describes the damage. Without a journal no start has ever completed, so nothing was ever answered. A large log contradicts
/// that: then the journal was deleted.
fn damaged_at(directory: &Path) -> String {
    let log = fs::metadata(directory.join(LOG)).map_or(0, |it| it.len());
    if directory.join(JOURNAL).exists() || log > FIRST_START_BYTES {
        return damage_text();
    }
    "its first start was cut off, and it holds nothing yet; remove it and start again".into()
}

fn damage_text() -> String {
    "its files are damaged; restore a backup".into()
}
