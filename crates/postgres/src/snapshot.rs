//! Point-in-time reads: a transaction that reads while others write.

use crate::engine_state::EngineState;
use crate::schema::{Part, just_above, parts};
use crate::session::explain;
use crate::statements::PreparedSession;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tintype_storage::engine::{
    Direction, EngineError, KeyRange, Pairs, Snapshot, SnapshotError, Wait as _,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::unconstrained;
use tokio_postgres::Error;

/// After this time the operator is warned of the effect of an old snapshot.
const OLD: Duration = Duration::from_secs(600);

pub type Page = Result<Pairs, SnapshotError>;
pub type PageRequest = (usize, oneshot::Sender<Page>);

/// A snapshot, read in pages through the engine's thread.
pub struct PostgresSnapshot {
    shared: Arc<EngineState>,
    requests: mpsc::UnboundedSender<PageRequest>,
}

impl PostgresSnapshot {
    pub fn new(shared: Arc<EngineState>, requests: mpsc::UnboundedSender<PageRequest>) -> Self {
        Self { shared, requests }
    }
}

impl Snapshot for PostgresSnapshot {
    fn next(&mut self, limit: usize) -> Page {
        let (reply, page) = oneshot::channel();
        let ended = |_| SnapshotError::Engine(EngineError::Stopped);
        self.requests
            .send((limit, reply))
            .map_err(|_| EngineError::Stopped)?;
        unconstrained(page).wait().map_err(ended)?
    }
}

impl Drop for PostgresSnapshot {
    fn drop(&mut self) {
        self.shared.has_snapshot.store(false, Ordering::SeqCst);
    }
}

/// A connection whose reads all see the same point in time.
pub async fn begin(shared: &EngineState) -> Result<PreparedSession, Error> {
    let prepared = shared.connector.prepare_session().await?;
    let session = &prepared.session;
    session.begin("REPEATABLE READ READ ONLY").await?;
    // The first read fixes the point in time.
    session
        .run("SET LOCAL idle_in_transaction_session_timeout = 0; SELECT 1")
        .await?;
    Ok(prepared)
}

/// Serves the pages of a snapshot until it is dropped.
pub async fn serve(
    shared: Arc<EngineState>,
    opened: oneshot::Sender<Result<(), SnapshotError>>,
    mut requests: mpsc::UnboundedReceiver<PageRequest>,
) {
    let prepared = match begin(&shared).await {
        Ok(prepared) => prepared,
        Err(error) => {
            // A caller that has gone needs no response.
            return drop(opened.send(Err(failed(&error))));
        }
    };
    if opened.send(Ok(())).is_err() {
        return;
    }
    let began = Instant::now();
    let mut is_told = false;
    let mut rest: VecDeque<Part> = parts(&KeyRange::prefix(b"")).into();
    while let Some((limit, reply)) = requests.recv().await {
        if !is_told && began.elapsed() > OLD {
            is_told = true;
            tracing::warn!(
                "a backup or export has been reading for 10 minutes; the database keeps all dead rows until its end"
            );
        }
        let page = page(&prepared, &mut rest, limit).await;
        drop(reply.send(page.map_err(|error| failed(&error))));
    }
}

async fn page(
    prepared: &PreparedSession,
    rest: &mut VecDeque<Part>,
    limit: usize,
) -> Result<Pairs, Error> {
    let mut pairs = Vec::new();
    while pairs.len() < limit
        && let Some(part) = rest.front_mut()
    {
        let missing = limit - pairs.len();
        let found = prepared.scan_part(part, Direction::Rising, missing).await?;
        match found.last() {
            Some((last, _)) if found.len() == missing => part.from = just_above(last),
            _ => drop(rest.pop_front()),
        }
        pairs.extend(found);
    }
    Ok(pairs)
}

fn failed(error: &Error) -> SnapshotError {
    SnapshotError::Engine(EngineError::Failed(explain(error)))
}
