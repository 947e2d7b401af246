//! Opens a directory: one process, one format, no half-written files, and sled brought up to the end of the journal.

use super::super::EngineError;
use super::super::wal::{self, GroupNumber, Replay, Segments, Wal};
use super::super::writes_size;
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
const FORMAT: &str = "tintype 6";
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
    pub wal: Wal,
    /// The complete files; the current one is not among them.
    pub segments: Segments,
}

/// Opens or creates the store in `directory`.
pub fn open(
    directory: &Path,
    options: &SledOptions,
    steps: &Steps,
) -> Result<OpenedStore, EngineError> {
    let opening = Opening {
        directory,
        journal: directory.join(JOURNAL),
        options,
        steps,
    };
    fs::create_dir_all(directory).map_err(|error| opening.io_failed(&error))?;
    let db = opening.open_sled()?;
    steps.begin();
    let opened = catch_unwind(AssertUnwindSafe(|| opening.open_store(db)));
    opened.unwrap_or_else(|_| Err(opening.wrong(damage_text())))
}

/// A store that is being opened.
struct Opening<'a> {
    directory: &'a Path,
    /// The directory of the journal.
    journal: PathBuf,
    options: &'a SledOptions,
    steps: &'a Steps,
}

impl Opening<'_> {
    fn wrong(&self, reason: impl Into<String>) -> EngineError {
        EngineError::directory(self.directory, reason)
    }

    fn io_failed(&self, error: &io::Error) -> EngineError {
        self.wrong(with_advice(error))
    }

    fn journal_failed(&self, error: &io::Error) -> EngineError {
        self.wrong(format!("its journal: {}", with_advice(error)))
    }

    /// sled tries the lock once and reports a failure as an ordinary I/O error. A predecessor may need a moment to exit.
    fn open_sled(&self) -> Result<::sled::Db, EngineError> {
        let Self {
            directory, steps, ..
        } = self;
        let deadline = Instant::now() + self.options.lock_timeout;
        let config = ::sled::Config::new()
            .path(directory)
            .cache_capacity(self.options.cache_bytes)
            .flush_every_ms(None)
            .use_compression(false)
            .mode(::sled::Mode::HighThroughput);
        loop {
            let log = fs::metadata(directory.join(LOG)).map_or(0, |it| it.len());
            steps.begin_read(log);
            if preflight::prepare(directory).map_err(|error| self.io_failed(&error))? {
                steps.begin_read(log);
                // sled panics on some damaged files instead of returning an error.
                let outcome = catch_unwind(AssertUnwindSafe(|| config.open()))
                    .map_err(|_| self.wrong(damaged_at(directory)))?;
                match outcome {
                    Ok(db) => return Ok(db),
                    Err(error) if is_locked(&error) => {}
                    Err(::sled::Error::Io(error)) => return Err(self.io_failed(&error)),
                    Err(::sled::Error::Corruption { .. }) => {
                        return Err(self.wrong(damaged_at(directory)));
                    }
                    Err(error) => {
                        return Err(self.wrong(format!("{error}; {}", damaged_at(directory))));
                    }
                }
            }
            if Instant::now() >= deadline {
                return Err(EngineError::Locked(self.directory.to_owned()));
            }
            std::thread::sleep(LOCK_RETRY);
        }
    }

    fn open_store(&self, db: ::sled::Db) -> Result<OpenedStore, EngineError> {
        let journal_failed = |error: io::Error| self.journal_failed(&error);
        let sled = self.prepare_sled(db)?;
        let segments = Segments::new(self.options.wal);
        let Replay { next, stale } = self.catch_up(&sled, &segments)?;
        self.steps.begin();
        let wal = Wal::begin(&self.journal, self.options.wal, next, segments.clone())
            .map_err(journal_failed)?;
        for path in stale {
            fs::remove_file(path).map_err(journal_failed)?;
        }
        segments.release(next - 1).map_err(journal_failed)?;
        Ok(OpenedStore {
            sled,
            wal,
            segments,
        })
    }

    /// Initializes a new store, and makes sled's files durable.
    fn prepare_sled(&self, db: ::sled::Db) -> Result<SledTree, EngineError> {
        let io_failed = |error: io::Error| self.io_failed(&error);
        let tree = db.open_tree(b"records").map_err(super::failed)?;
        if !is_current(&db, &tree)? {
            // The order matters: sled's files are complete before the journal exists, and the journal exists before the header
            // says so. From then on a missing journal is a fault.
            db.flush().map_err(super::failed)?;
            self.sync().map_err(io_failed)?;
            self.create_journal().map_err(io_failed)?;
            db.insert(FORMAT_KEY, FORMAT).map_err(super::failed)?;
        }
        self.steps.begin();
        db.flush().map_err(super::failed)?;
        let log_file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(self.directory.join(LOG))
            .map_err(io_failed)?;
        self.steps.begin();
        self.sync().map_err(io_failed)?;
        Ok(SledTree::new(db, tree, log_file))
    }

    /// Creates the journal with its first file, unless an interrupted first start has done so.
    fn create_journal(&self) -> io::Result<()> {
        fs::create_dir_all(&self.journal)?;
        File::open(self.directory)?.sync_all()?;
        if wal::is_empty(&self.journal)? {
            let layout = self.options.wal;
            Wal::begin(&self.journal, layout, 1, Segments::new(layout))?;
        }
        Ok(())
    }

    /// Applies the groups that only the journal holds to sled.
    fn catch_up(&self, sled: &SledTree, segments: &Segments) -> Result<Replay, EngineError> {
        let Self { journal, steps, .. } = self;
        let applied = sled.tree.get(APPLIED).map_err(super::failed)?;
        let applied = match applied.as_deref().map(TryInto::try_into) {
            Some(Ok(number)) => GroupNumber::from_be_bytes(number),
            Some(Err(_)) => return Err(self.wrong(damage_text())),
            None => 0,
        };
        if wal::is_empty(journal).map_err(|error| self.journal_failed(&error))? {
            return Err(self.wrong("its journal: there is no file in it; restore a backup"));
        }
        let (mut changes, mut bytes, mut last) = (Changes::new(), 0, applied);
        // The replay reads each file as a whole.
        let begin_read = || steps.begin_read(journal_bytes(journal));
        begin_read();
        let replayed = wal::replay(journal, applied, segments, |group, writes| {
            bytes += writes_size(&writes);
            changes.extend(writes);
            last = group;
            if bytes > REPLAY_BYTES {
                sled.apply(&std::mem::take(&mut changes), last, |_| steps.begin())?;
                bytes = 0;
                begin_read();
            }
            Ok::<_, ReplayStop>(())
        })
        .map_err(|error| match error {
            ReplayStop::Engine(error) => error,
            ReplayStop::Wal(wal::ReplayError::Io(error)) => self.journal_failed(&error),
            ReplayStop::Wal(fault) => self.wrong(format!("{fault}; restore a backup")),
        })?;
        if !changes.is_empty() {
            steps.begin();
            sled.apply(&changes, last, |_| steps.begin())?;
        }
        Ok(replayed)
    }

    /// Makes sled's files and their names durable, and the directory itself; later only the log changes.
    fn sync(&self) -> io::Result<()> {
        for entry in fs::read_dir(self.directory)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                File::open(entry.path())?.sync_all()?;
            }
        }
        File::open(self.directory)?.sync_all()?;
        match self.directory.parent() {
            Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }
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
