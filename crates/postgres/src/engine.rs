//! The engine as its callers see it. One thread does all the work.

use crate::connector::Connector;
use crate::engine_state::EngineState;
use crate::engine_thread::{EngineThread, SnapshotRequest};
use crate::options::{PostgresOptions, Purpose};
use crate::read_queue::{QueuedRead, Reply};
use crate::snapshot::PostgresSnapshot;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ThreadId;
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Key, KeyRange, Latch, Pairs, Read, Round,
    Snapshot, SnapshotError, TransactionNumbers, Value, Wait as _, oversized,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::unconstrained;

pub struct PostgresEngine {
    shared: Arc<EngineState>,
    /// `None` only during the drop.
    snapshots: Option<mpsc::UnboundedSender<SnapshotRequest>>,
    thread: ThreadId,
    closed: Arc<Latch>,
    ended: Arc<Latch>,
}

impl PostgresEngine {
    /// Opens a database for writing, and creates missing tables.
    ///
    /// # Errors
    /// What is wrong with the database and what to do, or the process that uses it.
    pub fn open(options: PostgresOptions) -> Result<Self, EngineError> {
        Self::start(options, Purpose::Serve)
    }

    /// Opens a database for reading its current content, even while a service uses it. Refuses commits.
    ///
    /// # Errors
    /// What is wrong with the database, and what to do.
    pub fn open_read_only(options: PostgresOptions) -> Result<Self, EngineError> {
        Self::start(options, Purpose::ReadOnly)
    }

    fn start(options: PostgresOptions, purpose: Purpose) -> Result<Self, EngineError> {
        let connector = Connector::new(options.url.clone(), purpose)?;
        let shared = Arc::new(EngineState::new(options, connector));
        let (snapshots, received) = mpsc::unbounded_channel();
        let (opened, outcome) = oneshot::channel();
        let (closed, ended) = (Arc::new(Latch::default()), Arc::new(Latch::default()));
        let work = EngineThread {
            shared: Arc::clone(&shared),
            snapshots: received,
            purpose,
            closed: Arc::clone(&closed),
            ended: Arc::clone(&ended),
        };
        let thread = std::thread::Builder::new()
            .name("postgres".into())
            .spawn(move || work.run(opened))
            .map_err(|error| {
                EngineError::Failed(format!("could not start the PostgreSQL thread: {error}"))
            })?;
        unconstrained(outcome)
            .wait()
            .unwrap_or(Err(EngineError::Stopped))?;
        Ok(Self {
            shared,
            snapshots: Some(snapshots),
            thread: thread.thread().id(),
            closed,
            ended,
        })
    }

    fn read<T: Send + 'static>(&self, request: impl FnOnce(Reply<T>) -> QueuedRead) -> Read<T> {
        let (reply, answer) = oneshot::channel();
        self.shared.reads.add(request(reply));
        // A caller may block its thread on the answer inside a tokio task, whose budget then never resets.
        let answer = unconstrained(answer);
        let answer = async move { answer.await.unwrap_or(Err(EngineError::Stopped)) };
        Read::Pending(Box::pin(answer))
    }

    fn is_own_thread(&self) -> bool {
        std::thread::current().id() == self.thread
    }
}

impl Engine for PostgresEngine {
    fn get(&self, key: &[u8]) -> Read<Option<Value>> {
        self.read(|reply| QueuedRead::Get(key.to_vec(), reply))
    }

    fn get_many(&self, keys: &[Key]) -> Read<Vec<Option<Value>>> {
        if keys.is_empty() {
            return Ok(Vec::new()).into();
        }
        self.read(|reply| QueuedRead::GetMany(keys.to_vec(), reply))
    }

    fn scan(&self, range: &KeyRange, direction: Direction, limit: usize) -> Read<Pairs> {
        if limit == 0 || range.is_empty() {
            return Ok(Vec::new()).into();
        }
        self.read(|reply| QueuedRead::Scan(range.clone(), direction, limit, reply))
    }

    fn count(&self, range: &KeyRange) -> Read<usize> {
        if range.is_empty() {
            return Ok(0).into();
        }
        self.read(|reply| QueuedRead::Count(range.clone(), reply))
    }

    fn time(&self) -> Read<Option<Timestamp>> {
        self.read(QueuedRead::Time)
    }

    fn transactions(&self) -> Read<Option<TransactionNumbers>> {
        self.read(QueuedRead::Transactions)
    }

    fn round(self: Arc<Self>, round: Box<dyn Round>) {
        self.shared.writes.add_round(round);
    }

    fn submit(&self, commit: Commit) {
        match oversized(&commit.writes) {
            Some(error) => (commit.done)(Err(error)),
            None => self.shared.writes.add_commit(commit),
        }
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        if self.shared.has_snapshot.swap(true, Ordering::SeqCst) {
            return Err(SnapshotError::UnderWay);
        }
        let (requests, pages) = mpsc::unbounded_channel();
        let snapshot = PostgresSnapshot::new(Arc::clone(&self.shared), requests);
        let (opened, outcome) = oneshot::channel();
        let request = SnapshotRequest { opened, pages };
        let sent = self.snapshots.as_ref().map(|it| it.send(request).is_ok());
        if sent != Some(true) {
            return Err(EngineError::Stopped.into());
        }
        unconstrained(outcome)
            .wait()
            .unwrap_or_else(|_| Err(EngineError::Stopped.into()))?;
        Ok(Box::new(snapshot))
    }

    fn stats(&self) -> EngineStats {
        self.shared.counters.read()
    }

    fn outage(&self) -> Option<Duration> {
        self.shared.outages.duration()
    }

    fn write_outage(&self) -> Option<Duration> {
        self.shared.outages.duration_of_writes()
    }

    fn close(&self) {
        self.shared.writes.close();
        // The last owner of an engine may be a callback on this very thread; then the thread ends later.
        if !self.is_own_thread() {
            self.closed.wait();
        }
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        self.close();
        drop(self.snapshots.take());
        if !self.is_own_thread() {
            self.ended.wait();
        }
    }
}
