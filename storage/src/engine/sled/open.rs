//! Opening a directory: one process, one format, and nothing half-written in the way.

use super::super::EngineError;
use super::SledOptions;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What stands under [`FORMAT_KEY`]: what this version reads and writes.
const FORMAT: &str = "tintype 1";
const FORMAT_KEY: &[u8] = b"format";
const LOCK_RETRY: Duration = Duration::from_millis(100);

/// A directory that is ours until it is dropped.
pub struct Opened {
    pub db: ::sled::Db,
    pub tree: ::sled::Tree,
    /// An own descriptor of sled's log: `sync_data` on it makes what sled has flushed durable.
    pub log_file: File,
}

/// Opens or makes the store in `directory`.
pub fn open(directory: &Path, options: &SledOptions) -> Result<Opened, EngineError> {
    let wrong = |reason: String| EngineError::Directory {
        path: directory.to_owned(),
        reason,
    };
    let outermost_new = outermost_missing(directory);
    fs::create_dir_all(directory).map_err(|error| wrong(explain(&error)))?;
    let db = open_sled(directory, options)?;
    let opened = catch_unwind(AssertUnwindSafe(|| -> Result<Opened, EngineError> {
        let tree = db.open_tree(b"records").map_err(super::failed)?;
        check_format(&db, &tree)?;
        db.flush().map_err(super::failed)?;
        let log_file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(directory.join("db"))
            .map_err(|error| wrong(explain(&error)))?;
        sync_directory(directory, outermost_new.as_deref())
            .map_err(|error| wrong(explain(&error)))?;
        Ok(Opened { db, tree, log_file })
    }));
    opened.unwrap_or_else(|_| Err(wrong(damaged())))
}

/// sled tries for the lock once and reports it as an ordinary I/O error; a predecessor may need a moment to go.
fn open_sled(directory: &Path, options: &SledOptions) -> Result<::sled::Db, EngineError> {
    let wrong = |reason: String| EngineError::Directory {
        path: directory.to_owned(),
        reason,
    };
    let deadline = Instant::now() + options.lock_timeout;
    let config = ::sled::Config::new()
        .path(directory)
        .cache_capacity(options.cache_bytes)
        .flush_every_ms(None)
        .use_compression(false)
        .mode(::sled::Mode::HighThroughput);
    loop {
        let ours = remove_half_snapshots(directory).map_err(|error| wrong(explain(&error)))?;
        if ours {
            // sled panics on some damaged files instead of returning an error.
            let outcome =
                catch_unwind(AssertUnwindSafe(|| config.open())).map_err(|_| wrong(damaged()))?;
            match outcome {
                Ok(db) => return Ok(db),
                Err(error) if is_locked(&error) => {}
                Err(::sled::Error::Io(error)) => return Err(wrong(explain(&error))),
                Err(error) => return Err(wrong(format!("{error}; {}", damaged()))),
            }
        }
        if Instant::now() >= deadline {
            return Err(EngineError::Locked(directory.to_owned()));
        }
        std::thread::sleep(LOCK_RETRY);
    }
}

/// sled wraps the system's error into a text; one that is no sign of another process, such as a file system without locks,
/// is passed on as it is.
fn is_locked(error: &::sled::Error) -> bool {
    let text = error.to_string();
    text.contains("could not acquire lock") && text.contains("WouldBlock")
}

/// The header lies in sled's default tree, so that no scan of the records meets it.
fn check_format(header: &::sled::Tree, records: &::sled::Tree) -> Result<(), EngineError> {
    match header.get(FORMAT_KEY).map_err(super::failed)? {
        Some(found) if &*found == FORMAT.as_bytes() => Ok(()),
        None if records.is_empty() => header
            .insert(FORMAT_KEY, FORMAT)
            .map(drop)
            .map_err(super::failed),
        other => {
            let found = other
                .map(|it| String::from_utf8_lossy(&it).into_owned())
                .unwrap_or_else(|| "none".into());
            Err(EngineError::Format {
                found,
                expected: FORMAT,
            })
        }
    }
}

/// A crash while sled wrote a snapshot leaves a file that keeps it from opening; a finished snapshot is renamed first.
///
/// Returns `false` when another process has the directory: then the snapshot may be one that it is writing now.
fn remove_half_snapshots(directory: &Path) -> io::Result<bool> {
    let mut half = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            half.push(entry.path());
        }
    }
    if half.is_empty() {
        return Ok(true);
    }
    // The lock that sled itself will take. It is let go of when the file is dropped, so that sled can.
    let log = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("db"))?;
    match log.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    for path in half {
        fs::remove_file(path)?;
    }
    Ok(true)
}

/// The highest directory on the way to this one that has yet to be made.
fn outermost_missing(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
        .last()
        .map(Path::to_owned)
}

/// Makes sled's files and their names durable, up to the parent of the outermost directory that was made for them; later
/// only the log changes.
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
            // A parent that may be passed but not read, as home directories often are, cannot be synced by us.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
        if inner == last {
            break;
        }
    }
    Ok(())
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("{error}; make it readable and writable for this user")
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "there is a file in its place".into()
        }
        io::ErrorKind::StorageFull => format!("{error}; free some space"),
        _ => error.to_string(),
    }
}

fn damaged() -> String {
    "its files are damaged; restore a backup".into()
}
