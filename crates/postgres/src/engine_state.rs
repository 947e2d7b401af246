//! State shared by the engine's thread and its callers.

use crate::connector::Connector;
use crate::options::PostgresOptions;
use crate::outages::Outages;
use crate::read_queue::ReadQueue;
use crate::write_queue::WriteQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tintype_storage::engine::{EngineError, EngineStats};
use tintype_storage::histogram::{GROUP_SIZES, Histogram, SHORT_DURATIONS};

pub struct EngineState {
    pub options: PostgresOptions,
    pub connector: Connector,
    pub writes: WriteQueue,
    pub reads: ReadQueue,
    pub counters: Counters,
    pub outages: Arc<Outages>,
    /// One snapshot at a time: an old one keeps dead rows.
    pub has_snapshot: AtomicBool,
    has_failed: AtomicBool,
}

impl EngineState {
    pub fn new(options: PostgresOptions, connector: Connector) -> Self {
        Self {
            options,
            connector,
            writes: WriteQueue::default(),
            reads: ReadQueue::default(),
            counters: Counters::new(),
            outages: Arc::default(),
            has_snapshot: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Reports the first failure and refuses all queued work.
    pub fn fail(&self, error: &EngineError) {
        if !self.has_failed.swap(true, Ordering::SeqCst) {
            (self.options.on_failure)(error);
        }
        self.writes.refuse_all(error);
        self.reads.refuse_all(error);
    }
}

/// Fails the engine when a panic drops it: callers must not wait for ever.
pub struct FailsOnPanic(pub Arc<EngineState>);

impl Drop for FailsOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0
                .fail(&EngineError::Failed("the storage thread panicked".into()));
        }
    }
}

pub struct Counters {
    commits: AtomicU64,
    transactions: AtomicU64,
    bytes: AtomicU64,
    times: Histogram,
    commits_per_transaction: Histogram,
}

impl Counters {
    fn new() -> Self {
        Self {
            commits: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            times: Histogram::new(SHORT_DURATIONS),
            commits_per_transaction: Histogram::new(GROUP_SIZES),
        }
    }

    /// Counts a transaction.
    pub fn count(&self, took: Duration, commits: usize, bytes: usize) {
        self.commits.fetch_add(commits as u64, Ordering::Relaxed);
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.times.add_duration(took);
        self.commits_per_transaction.add(commits as u64);
    }

    pub fn read(&self) -> EngineStats {
        EngineStats {
            commits: self.commits.load(Ordering::Relaxed),
            syncs: self.transactions.load(Ordering::Relaxed),
            sync_times: self.times.read(),
            commits_per_sync: self.commits_per_transaction.read(),
            bytes: self.bytes.load(Ordering::Relaxed),
            backlog_bytes: 0,
        }
    }
}
