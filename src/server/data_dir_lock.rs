//! The lock of a node's data directory. Without a database, the store inside the directory has a lock.

use super::start_error::StartError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;
use tintype_storage::engine::EngineError;
use tokio::time::{Instant, sleep};

pub const FILE_NAME: &str = "node-lock";
/// How long a start waits for a predecessor that exits.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// Locks the data directory until the returned file is dropped or the process ends. Two nodes with one directory would share the
/// file of the operator token, and the operator could not tell the nodes apart.
///
/// # Errors
/// Another process has the directory, or the lock file cannot be created.
pub async fn lock(data_dir: &Path, waits: bool) -> Result<File, StartError> {
    let failed = |error: io::Error| StartError::DataDir {
        path: data_dir.to_owned(),
        error,
    };
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).mode(0o600);
    let file = options.open(data_dir.join(FILE_NAME)).map_err(failed)?;
    let deadline = Instant::now() + if waits { TIMEOUT } else { Duration::ZERO };
    let mut has_warned = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                return Err(EngineError::Locked(data_dir.to_owned()).into());
            }
            Err(TryLockError::WouldBlock) => {}
        }
        if !has_warned {
            warn_of_wait(data_dir);
            has_warned = true;
        }
        sleep(POLL).await;
    }
}

/// Says that the start waits for the predecessor, which may need a moment to exit.
pub fn warn_of_wait(data_dir: &Path) {
    tracing::warn!(
        "the data directory {} is in use by another process; waiting for its lock",
        data_dir.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_node_waits_for_the_lock_and_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let first = lock(directory.path(), true).await.unwrap();
        let began = Instant::now();
        for (waits, waited) in [(false, Duration::ZERO), (true, TIMEOUT)] {
            let refused = lock(directory.path(), waits).await.unwrap_err();
            assert!(
                refused.to_string().contains("in use by another process"),
                "{refused}"
            );
            assert!(began.elapsed() >= waited, "{:?}", began.elapsed());
        }
        drop(first);
        lock(directory.path(), false).await.unwrap();
    }
}
