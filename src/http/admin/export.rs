//! All records as of one moment, streamed while the service goes on.

use crate::application::state::AppState;
use crate::web::auth::Operator;
use crate::web::problem::{Code, Problem};
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use futures_util::stream;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::engine::SnapshotError;
use tintype_storage::export::write;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

/// Blocks of lines that wait for the caller.
const AHEAD: usize = 8;
/// How long the caller may take nothing. What changes meanwhile is put aside for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why the writing of an export ends early.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Ended {
    #[error("the service stops")]
    Stopping,
    #[error("the caller has gone, or takes nothing")]
    Gone,
}

/// `GET /export`
pub async fn show(_: Operator, state: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    state.result_store.keep_inputs();
    let snapshot = Arc::clone(state.store.engine())
        .snapshot()
        .map_err(refused)?;
    let (sender, receiver) = mpsc::channel::<Bytes>(AHEAD);
    let stopping = state.stopping.subscribe();
    let runtime = Handle::current();
    tracing::info!("an export of all records begins");
    spawn_blocking(move || {
        let give = |block: Vec<u8>| give(&runtime, &sender, &stopping, block.into());
        match write(snapshot, give) {
            Ok(records) => tracing::info!(records, "an export of all records is written"),
            Err(error) => tracing::warn!(%error, "an export of all records was given up"),
        }
    });
    let blocks = stream::unfold(receiver, |mut receiver| async {
        let block = receiver.recv().await?;
        Some((Ok::<_, actix_web::Error>(block), receiver))
    });
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/x-ndjson"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .streaming(blocks))
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

fn refused(error: SnapshotError) -> Problem {
    match error {
        SnapshotError::UnderWay => Problem::new(Code::Conflict, error.to_string()),
        SnapshotError::Overrun(_) | SnapshotError::Unable => {
            Problem::new(Code::Internal, error.to_string())
        }
        SnapshotError::Engine(error) => error.into(),
    }
}
