//! State shared by the engine's thread and its callers.

use crate::connector::Connector;
use crate::options::PostgresOptions;
use crate::outages::Outages;
use crate::read_queue::ReadQueue;
use crate::write_queue::WriteQueue;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tintype_storage::engine::{EngineCounters, EngineError, Failure};

pub struct EngineState {
    pub options: PostgresOptions,
    pub connector: Connector,
    pub writes: WriteQueue,
    pub reads: ReadQueue,
    pub counters: EngineCounters,
    pub outages: Arc<Outages>,
    /// One snapshot at a time: an old one keeps dead rows.
    pub has_snapshot: AtomicBool,
    failure: Failure,
}

impl EngineState {
    pub fn new(options: PostgresOptions, connector: Connector) -> Self {
        Self {
            failure: Failure::new(Arc::clone(&options.on_failure)),
            writes: WriteQueue::new(options.writers()),
            options,
            connector,
            reads: ReadQueue::default(),
            counters: EngineCounters::default(),
            outages: Arc::default(),
            has_snapshot: AtomicBool::new(false),
        }
    }

    /// Reports the first failure and refuses all queued work.
    pub fn fail(&self, error: &EngineError) {
        self.failure.report(error);
        self.writes.refuse_all(error);
        self.reads.refuse_all(error);
    }
}

/// Fails the engine when a panic drops it: callers must not wait forever.
pub struct FailsOnPanic(pub Arc<EngineState>);

impl Drop for FailsOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(&EngineError::panicked());
        }
    }
}
