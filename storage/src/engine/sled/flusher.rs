//! The thread that flushes the memtable to sled in the background.
//!
//! It waits until a flush is worthwhile, so short-lived values never reach sled. Each step ends with one flush of sled and one
//! sync; the last step stores the number of the group up to which sled is complete. After a crash the start applies the same
//! groups again.

use super::super::wal::Segments;
use super::super::{EngineError, Failure, OpensLatch};
use super::backlog::Backlog;
use super::format::checkpoint::Checkpoints;
use super::io_advice::with_advice;
use super::memtable::Memtable;
use super::sled_tree::SledTree;
use super::watchdog::Watchdog;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub struct FlusherThread {
    pub tree: SledTree,
    pub memtable: Arc<Memtable>,
    pub backlog: Arc<Backlog>,
    pub segments: Segments,
    pub checkpoints: Checkpoints,
    pub watchdog: Watchdog,
    pub failure: Arc<Failure>,
    /// Opens after the thread has ended and dropped sled.
    pub at_end: OpensLatch,
}

impl FlusherThread {
    /// Flushes until the backlog is closed or a flush fails.
    pub fn run(mut self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.flush_all()));
        let outcome = outcome.unwrap_or_else(|_| {
            // sled panics in some cases instead of returning an error; after either, nothing more may be written.
            Err(EngineError::Failed("the storage thread panicked".into()))
        });
        if let Err(error) = outcome {
            self.failure.report(&error);
        }
        self.backlog.end();
        let Self { tree, at_end, .. } = self;
        drop(tree);
        drop(at_end);
    }

    fn flush_all(&mut self) -> Result<(), EngineError> {
        while self.backlog.wait_for_flush() && !self.failure.happened() {
            let (changes, last) = self.memtable.begin_flush();
            self.watchdog.begin();
            let step = |bytes| {
                self.watchdog.begin();
                self.backlog.step_ended(bytes);
            };
            self.tree.apply(&changes, last, step)?;
            self.memtable.flushed();
            self.backlog.flush_ended();
            // Deleting files can hang like any other call.
            self.watchdog.begin();
            self.segments.release(last).map_err(|error| {
                EngineError::Failed(format!("the journal: {}", with_advice(&error)))
            })?;
            let step = || self.watchdog.begin();
            self.checkpoints.advance(&self.tree, step)?;
            self.watchdog.end();
        }
        Ok(())
    }
}
