//! The thread that flushes the memtable to sled in the background.
//!
//! It waits until a flush is worthwhile, so short-lived values never reach sled. Each step ends with one flush of sled and one
//! sync; the last step stores the number of the group up to which sled is complete. After a crash the start applies the same
//! groups again.

use super::super::wal::Segments;
use super::super::{EngineError, Failure, Latch, OnFailure, OpensLatch};
use super::backlog::Backlog;
use super::format::checkpoint::Checkpoints;
use super::io_advice::io_failed;
use super::memtable::Memtable;
use super::sled_tree::SledTree;
use super::spawn;
use super::watchdog::Watchdog;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The flusher thread.
pub struct Flusher {
    backlog: Arc<Backlog>,
    /// Opens when the thread has ended and dropped sled, or hangs.
    ended: Arc<Latch>,
}

impl Flusher {
    /// Starts the thread and its watchdog.
    pub fn start(
        tree: SledTree,
        segments: Segments,
        checkpoints: Checkpoints,
        memtable: Arc<Memtable>,
        backlog: Arc<Backlog>,
        failure: Arc<Failure>,
        commit_timeout: Duration,
    ) -> Result<Self, EngineError> {
        let ended = Arc::new(Latch::default());
        let on_hang = when_it_hangs(
            Arc::clone(&failure),
            Arc::clone(&backlog),
            Arc::clone(&ended),
        );
        let work = FlusherThread {
            tree,
            memtable,
            backlog: Arc::clone(&backlog),
            segments,
            checkpoints,
            watchdog: Watchdog::start(commit_timeout, on_hang)?,
            failure,
            at_end: OpensLatch(Arc::clone(&ended)),
        };
        spawn("flusher", move || work.run())?;
        Ok(Self { backlog, ended })
    }

    /// Has the thread flush the rest. Returns when it has ended or a flush hangs.
    pub fn close(&self) {
        self.backlog.close();
        self.ended.wait();
    }
}

fn when_it_hangs(failure: Arc<Failure>, backlog: Arc<Backlog>, ended: Arc<Latch>) -> OnFailure {
    Arc::new(move |error| {
        failure.report(error);
        backlog.end();
        ended.open();
    })
}

struct FlusherThread {
    tree: SledTree,
    memtable: Arc<Memtable>,
    backlog: Arc<Backlog>,
    segments: Segments,
    checkpoints: Checkpoints,
    watchdog: Watchdog,
    failure: Arc<Failure>,
    at_end: OpensLatch,
}

impl FlusherThread {
    /// Flushes until the backlog is closed or a flush fails.
    fn run(mut self) {
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
            let released = self.segments.release(last);
            released.map_err(|error| io_failed("the journal", &error))?;
            let step = || self.watchdog.begin();
            self.checkpoints.advance(&self.tree, step)?;
            self.watchdog.end();
        }
        Ok(())
    }
}
