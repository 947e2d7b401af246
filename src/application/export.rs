//! All records as of one moment, written while the service goes on.

use super::caller::Caller;
use super::error::{Error, ErrorKind};
use super::state::AppState;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{SnapshotError, commit_and_wait};
use tintype_storage::export::write;
use tintype_storage::store::Store;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

/// Blocks of lines that wait for the caller.
const AHEAD: usize = 8;
/// How long the caller may take nothing. The snapshot keeps what changes meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why the writing of an export ends early.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Ended {
    #[error("the service stops")]
    Stopping,
    #[error("the caller has gone, or takes nothing")]
    Gone,
}

/// Begins an export: its blocks of lines of JSON, in order.
///
/// # Errors
/// `Forbidden`; `Conflict` while another export is written
pub fn begin(state: &AppState, caller: &Caller) -> Result<mpsc::Receiver<Bytes>, Error> {
    caller.operate()?;
    state.result_store.keep_inputs();
    let snapshot = Arc::clone(state.store.engine()).snapshot();
    let snapshot = snapshot.map_err(refused)?;
    let (sender, receiver) = mpsc::channel(AHEAD);
    let stopping = state.stopping.subscribe();
    let runtime = Handle::current();
    let (store, now) = (state.store.clone(), state.now());
    tracing::info!("an export of all records begins");
    spawn_blocking(move || {
        let give = |block: Vec<u8>| give(&runtime, &sender, &stopping, block.into());
        match write(snapshot, give) {
            Ok(records) => {
                tracing::info!(records, "an export of all records is written");
                note(&store, now);
            }
            Err(error) => tracing::warn!(%error, "an export of all records was given up"),
        }
    });
    Ok(receiver)
}

/// A service that cannot write this down has its records exported all the same.
fn note(store: &Store, now: Timestamp) {
    if let Err(error) = commit_and_wait(&**store.engine(), store.note_export(now)) {
        tracing::warn!(%error, "could not note the export");
    }
}

fn give(
    runtime: &Handle,
    sender: &mpsc::Sender<Bytes>,
    stopping: &watch::Receiver<bool>,
    block: Bytes,
) -> Result<(), Ended> {
    if *stopping.borrow() {
        return Err(Ended::Stopping);
    }
    let sent = runtime.block_on(sender.send_timeout(block, PATIENCE));
    sent.map_err(|_| Ended::Gone)
}

fn refused(error: SnapshotError) -> Error {
    match error {
        SnapshotError::UnderWay => Error::conflict(error.to_string()),
        SnapshotError::Overrun(_) | SnapshotError::Unable => {
            Error::new(ErrorKind::Internal, error.to_string())
        }
        SnapshotError::Engine(error) => error.into(),
    }
}
