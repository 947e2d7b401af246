//! Exports a point-in-time snapshot of all records while the service runs.

use crate::application::blocking::blocking;
use crate::application::caller::Caller;
use crate::application::core::Core;
use crate::application::error::{Error, ErrorKind};
use crate::application::services::JobService;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{SnapshotError, commit_and_wait};
use tintype_storage::export::write;
use tintype_storage::store::Store;
use tintype_storage::store::tables::LAST_BACKUP_OR_EXPORT;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

/// Blocks of lines buffered for the caller.
const BUFFERED_BLOCKS: usize = 8;
/// How long the caller may read nothing. Meanwhile the snapshot holds back changed records.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, thiserror::Error)]
enum AbortReason {
    #[error("the service is stopping")]
    Stopping,
    #[error("the caller disconnected or stopped reading")]
    CallerGone,
}

/// Starts an export. The receiver yields blocks of JSON lines, in order. If `is_recorded`, a complete export counts as a backup.
///
/// # Errors
/// `Forbidden`; `Conflict` while another export is running
pub async fn start(
    jobs: &JobService,
    caller: &Caller,
    is_recorded: bool,
) -> Result<mpsc::Receiver<Bytes>, Error> {
    let core = &jobs.core;
    caller.require_operator()?;
    jobs.input_deletion.keep_for_export();
    let engine = Arc::clone(core.store.engine());
    // A database engine waits for the begin of a transaction.
    let snapshot = blocking(move || engine.snapshot().map_err(to_error)).await?;
    let (sender, receiver) = mpsc::channel(BUFFERED_BLOCKS);
    let stopping = core.stopping.subscribe();
    let runtime = Handle::current();
    let (store, now) = (core.store.clone(), core.now());
    tracing::info!("export started");
    spawn_blocking(move || {
        let send = |block: Vec<u8>| send_block(&runtime, &sender, &stopping, block.into());
        match write(snapshot, send) {
            Ok(records) => {
                tracing::info!(records, "export finished");
                if is_recorded {
                    record_export(&store, now);
                }
            }
            Err(error) => tracing::warn!(%error, "export aborted"),
        }
    });
    Ok(receiver)
}

/// Records the time of a backup that its caller has stored. A time in the future would hide that later backups are missing.
///
/// # Errors
/// `Forbidden`; a failing store
pub async fn record_backup(core: &Core, caller: &Caller, taken_at: Timestamp) -> Result<(), Error> {
    caller.require_operator()?;
    let mark = LAST_BACKUP_OR_EXPORT.raise(&core.store, taken_at.min(core.now()));
    Ok(core.commit(mark.await?).await?)
}

/// A failure only loses the time of the last export.
fn record_export(store: &Store, now: Timestamp) {
    let writes = vec![LAST_BACKUP_OR_EXPORT.put(&(), &now)];
    if let Err(error) = commit_and_wait(&**store.engine(), writes) {
        tracing::warn!(%error, "could not record the time of the export");
    }
}

fn send_block(
    runtime: &Handle,
    sender: &mpsc::Sender<Bytes>,
    stopping: &watch::Receiver<bool>,
    block: Bytes,
) -> Result<(), AbortReason> {
    if *stopping.borrow() {
        return Err(AbortReason::Stopping);
    }
    let sent = runtime.block_on(sender.send_timeout(block, READ_TIMEOUT));
    sent.map_err(|_| AbortReason::CallerGone)
}

fn to_error(error: SnapshotError) -> Error {
    match error {
        SnapshotError::UnderWay => Error::conflict(error.to_string()),
        SnapshotError::Overrun(_) | SnapshotError::Unable => {
            Error::new(ErrorKind::Internal, error.to_string())
        }
        SnapshotError::Engine(error) => error.into(),
    }
}
