//! The thread that drives all connections, from opening to closing.

use crate::claim::{self, Process};
use crate::engine_state::{EngineState, FailsOnPanic};
use crate::mark::Mark;
use crate::options::Purpose;
use crate::session::RESPONSE_TIMEOUT;
use crate::snapshot::{self, PageRequest};
use crate::statements::PreparedSession;
use crate::writer::Writer;
use crate::{nodes, reader, start_checks};
use futures_util::future::try_join_all;
use std::sync::Arc;
use tintype_storage::engine::{EngineError, Latch, OpensLatch, SnapshotError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio::time::timeout;
use tokio_postgres::Error;

/// Opens a snapshot and serves its pages.
pub struct SnapshotRequest {
    pub opened: oneshot::Sender<Result<(), SnapshotError>>,
    pub pages: mpsc::UnboundedReceiver<PageRequest>,
}

pub struct EngineThread {
    pub shared: Arc<EngineState>,
    pub snapshots: mpsc::UnboundedReceiver<SnapshotRequest>,
    pub purpose: Purpose,
    /// Opens when nothing more is written.
    pub closed: Arc<Latch>,
    /// Opens when the connections have ended.
    pub ended: Arc<Latch>,
}

type OpenReply = oneshot::Sender<Result<(), EngineError>>;

impl EngineThread {
    /// Opens the database, reports the result, and works until the engine is dropped.
    pub fn run(self, opened: OpenReply) {
        let latches = [&self.closed, &self.ended].map(|it| OpensLatch(Arc::clone(it)));
        let _fails = FailsOnPanic(Arc::clone(&self.shared));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => LocalSet::new().block_on(&runtime, self.work(opened)),
            Err(error) => {
                let reason = format!("could not start the PostgreSQL runtime: {error}");
                // The caller waits for this, so it cannot have gone.
                drop(opened.send(Err(EngineError::Failed(reason))));
            }
        }
        drop(latches);
    }

    async fn work(mut self, opened: OpenReply) {
        let process: Process = match self.shared.options.node {
            Some(node) => *node.as_bytes(),
            None => rand::random(),
        };
        let outcome = match self.purpose {
            Purpose::Serve => self.serve(process).await,
            Purpose::ReadOnly => self.read_only().await,
        };
        if let Err(error) = outcome {
            return drop(opened.send(Err(error)));
        }
        drop(opened.send(Ok(())));
        while let Some(request) = self.snapshots.recv().await {
            let SnapshotRequest { opened, pages } = request;
            spawn_local(snapshot::serve(Arc::clone(&self.shared), opened, pages));
        }
        self.shared.reads.refuse_all(&EngineError::Stopped);
    }

    /// Connects all readers and writers, so that a database with too few free connections is reported now and not at the first
    /// peak, and starts them.
    async fn serve(&self, process: Process) -> Result<(), EngineError> {
        let shared = &self.shared;
        let (readers, writers) = (shared.options.readers(), shared.options.writers());
        let connector = &shared.connector;
        let refused = |error: Error| connector.refused(&error);
        let connect = async {
            let first = connector.connect().await.map_err(refused)?;
            start_checks::check(connector, &first, true).await?;
            let first = connector.prepare(first).await.map_err(refused)?;
            let others = 1..readers + usize::from(writers);
            let others = try_join_all(others.map(|_| connector.prepare_session()));
            Ok((first, others.await.map_err(refused)?))
        };
        let (first, mut sessions) = self.within_timeout(connect).await?;
        let (session, options) = (&first.session, &shared.options);
        match options.node {
            None => claim::claim(connector, session, &process, &options.host, writers).await?,
            Some(_) => nodes::join(connector, session, &process, writers).await?,
        }
        for session in sessions.drain(..readers) {
            let shared = Arc::clone(shared);
            spawn_local(async move {
                let _fails = FailsOnPanic(Arc::clone(&shared));
                reader::run(shared, session).await;
            });
        }
        sessions.push(first);
        self.write(process, sessions);
        Ok(())
    }

    /// Reads from one point in time.
    async fn read_only(&self) -> Result<(), EngineError> {
        let connector = &self.shared.connector;
        let refused = |error: Error| connector.refused(&error);
        let check = async {
            let session = connector.connect().await.map_err(refused)?;
            start_checks::check(connector, &session, false).await
        };
        self.within_timeout(check).await?;
        let view = snapshot::begin(&self.shared).await.map_err(refused)?;
        spawn_local(reader::run_on_snapshot(Arc::clone(&self.shared), view));
        self.shared.writes.close();
        self.closed.open();
        Ok(())
    }

    async fn within_timeout<T>(
        &self,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        let no_response = |_| self.shared.connector.unusable("it does not answer");
        timeout(RESPONSE_TIMEOUT, work).await.map_err(no_response)?
    }

    /// Starts the writers and the heartbeat. Releases the claim after the writers have ended.
    fn write(&self, process: Process, sessions: Vec<PreparedSession>) {
        let start = |(writer, session)| {
            let (shared, mark) = (Arc::clone(&self.shared), Mark::new(&process, writer));
            spawn_local(async move {
                let _fails = FailsOnPanic(Arc::clone(&shared));
                Writer::new(shared, mark, session).run().await;
            })
        };
        let writers: Vec<JoinHandle<()>> = (0..).zip(sessions).map(start).collect();
        // Nodes prove that they live through the service's records.
        let is_node = self.shared.options.node.is_some();
        let beat = (!is_node).then(|| spawn_local(claim::beat(Arc::clone(&self.shared), process)));
        let (shared, closed) = (Arc::clone(&self.shared), Arc::clone(&self.closed));
        spawn_local(async move {
            for writer in writers {
                // A writer that panicked has failed the engine.
                drop(writer.await);
            }
            if let Some(beat) = beat {
                beat.abort();
            }
            claim::release(&shared.connector, &process).await;
            closed.open();
        });
    }
}
