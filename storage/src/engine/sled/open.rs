//! Opening a directory: one process, one format, and nothing half-written in the way.

use super::super::EngineError;
use super::SledOptions;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::{Duration, Instant};

/// What stands under [`FORMAT_KEY`]: what this version reads and writes.
const FORMAT: &str = "tintype 1";
/// Sorts before every record.
const FORMAT_KEY: &[u8] = b"\0format";
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
    fs::create_dir_all(directory).map_err(|error| wrong(explain(&error)))?;
    remove_half_snapshots(directory).map_err(|error| wrong(explain(&error)))?;
    let db = open_sled(directory, options)?;
    let opened = std::panic::catch_unwind(AssertUnwindSafe(|| -> Result<Opened, EngineError> {
        let tree = db.open_tree(b"records").map_err(super::failed)?;
        check_format(&tree)?;
        db.flush().map_err(super::failed)?;
        let log_file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(directory.join("db"))
            .map_err(|error| wrong(explain(&error)))?;
        sync_directory(directory).map_err(|error| wrong(explain(&error)))?;
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
        // sled panics on some damaged files instead of returning an error.
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| config.open()))
            .map_err(|_| wrong(damaged()))?;
        match outcome {
            Ok(db) => return Ok(db),
            Err(error) if error.to_string().contains("could not acquire lock") => {
                if Instant::now() >= deadline {
                    return Err(EngineError::Locked(directory.to_owned()));
                }
                std::thread::sleep(LOCK_RETRY);
            }
            Err(::sled::Error::Io(error)) => return Err(wrong(explain(&error))),
            Err(error) => return Err(wrong(format!("{error}; {}", damaged()))),
        }
    }
}

fn check_format(tree: &::sled::Tree) -> Result<(), EngineError> {
    match tree.get(FORMAT_KEY).map_err(super::failed)? {
        Some(found) if &*found == FORMAT.as_bytes() => Ok(()),
        None if tree.is_empty() => tree
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
fn remove_half_snapshots(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("snap.")
            && name.to_string_lossy().ends_with(".generating")
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes sled's files and their names durable; later only the log changes.
fn sync_directory(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()?;
    match directory
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
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
