//! Reads a store without side effects: on a copy, because sled and the journal write to the directory that they open.
//!
//! The reader may run as another user than the service, which might then be unable to open files that the reader created or
//! wrote in the store's directory.

use super::super::{EngineError, ScratchDir};
use super::LOCK_RETRY;
use super::format::LOG;
use super::io_advice::with_advice;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// A copy of a store, which stays locked meanwhile. Dropping it ends the copy and the lock.
pub struct ScratchCopy {
    copy: ScratchDir,
    /// The lock of the original.
    _lock: File,
}

impl ScratchCopy {
    /// Waits up to `lock_timeout` for the lock of the directory, and copies it.
    pub fn at(directory: &Path, lock_timeout: Duration) -> Result<Self, EngineError> {
        let log = directory.join(LOG);
        let log = File::open(&log).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => EngineError::directory(
                directory,
                format!("{error}: {}; restore a backup", log.display()),
            ),
            _ => EngineError::directory(directory, with_advice(&error)),
        })?;
        let deadline = Instant::now() + lock_timeout;
        loop {
            match log.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(LOCK_RETRY);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(EngineError::Locked(directory.to_owned()));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(EngineError::directory(directory, with_advice(&error)));
                }
            }
        }
        let no_copy = |error: io::Error| {
            EngineError::directory(
                &std::env::temp_dir(),
                format!(
                    "cannot copy the store here: {}; set TMPDIR to a directory with more room",
                    with_advice(&error)
                ),
            )
        };
        let copy = ScratchDir::create_in(&std::env::temp_dir()).map_err(no_copy)?;
        copy_below(directory, copy.path()).map_err(no_copy)?;
        Ok(Self { copy, _lock: log })
    }

    pub fn path(&self) -> &Path {
        self.copy.path()
    }
}

/// A file system that can share blocks between files copies even a large store at once.
fn copy_below(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir(&target)?;
            copy_below(&entry.path(), &target)?;
        } else {
            // Do not copy the original's modes: the copy is written to.
            io::copy(&mut File::open(entry.path())?, &mut File::create(target)?)?;
        }
    }
    Ok(())
}

/// Replaces the copy's path in an error by the original's.
pub fn of_original(error: EngineError, copy: &Path, directory: &Path) -> EngineError {
    match error {
        EngineError::Locked(_) => EngineError::Locked(directory.to_owned()),
        EngineError::Directory { reason, .. } => {
            let [copy, original] = [copy, directory].map(|it| it.display().to_string());
            EngineError::directory(directory, reason.replace(&copy, &original))
        }
        other => other,
    }
}
