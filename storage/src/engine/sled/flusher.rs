//! The thread that flushes the memtable to sled in the background.
//!
//! It waits until a flush is worthwhile, so short-lived values never reach sled. Each step ends with one flush of sled and one
//! sync; the last step stores the number of the group up to which sled is complete. After a crash the start applies the same
//! groups again.

use super::super::wal::Segments;
use super::super::{EngineError, Latch, OnFailure, OpensLatch};
use super::format::checkpoint::Checkpoints;
use super::io_advice::io_failed;
use super::sled_tree::SledTree;
use super::watchdog::Watchdog;
use super::{EngineState, spawn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The flusher thread.
pub struct Flusher {
    state: Arc<EngineState>,
    /// Opens when the thread has ended and dropped sled, or hangs.
    ended: Arc<Latch>,
}

impl Flusher {
    /// Starts the thread and its watchdog.
    pub fn start(
        state: Arc<EngineState>,
        tree: SledTree,
        segments: Segments,
        checkpoints: Checkpoints,
        commit_timeout: Duration,
    ) -> Result<Self, EngineError> {
        let ended = Arc::new(Latch::default());
        let on_hang = on_hang(Arc::clone(&state), Arc::clone(&ended));
        let work = FlusherThread {
            state: Arc::clone(&state),
            tree,
            segments,
            checkpoints,
            watchdog: Watchdog::start(commit_timeout, on_hang)?,
            at_end: OpensLatch(Arc::clone(&ended)),
        };
        spawn("flusher", move || work.run())?;
        Ok(Self { state, ended })
    }

    /// Has the thread flush the rest. Returns when it has ended or a flush hangs.
    pub fn close(&self) {
        self.state.backlog.close();
        self.ended.wait();
    }
}

fn on_hang(state: Arc<EngineState>, ended: Arc<Latch>) -> OnFailure {
    Arc::new(move |error| {
        state.failure.report(error);
        state.backlog.end();
        ended.open();
    })
}

struct FlusherThread {
    state: Arc<EngineState>,
    tree: SledTree,
    segments: Segments,
    checkpoints: Checkpoints,
    watchdog: Watchdog,
    at_end: OpensLatch,
}

impl FlusherThread {
    /// Flushes until the backlog is closed or a flush fails.
    fn run(mut self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.flush_all()));
        let outcome = outcome.unwrap_or_else(|_| {
            // sled panics in some cases instead of returning an error; after either, nothing more may be written.
            Err(EngineError::panicked())
        });
        if let Err(error) = outcome {
            self.state.failure.report(&error);
        }
        self.state.backlog.end();
        let Self { tree, at_end, .. } = self;
        drop(tree);
        drop(at_end);
    }

    fn flush_all(&mut self) -> Result<(), EngineError> {
        let EngineState {
            memtable,
            backlog,
            failure,
            ..
        } = &*self.state;
        while backlog.wait_for_flush() && !failure.happened() {
            let (changes, last) = memtable.begin_flush();
            self.watchdog.steps.begin();
            let step = |bytes| {
                self.watchdog.steps.begin();
                backlog.step_ended(bytes);
            };
            self.tree.apply(&changes, last, step)?;
            memtable.flushed();
            backlog.flush_ended();
            // Deleting files can hang like any other call.
            self.watchdog.steps.begin();
            let released = self.segments.release(last);
            released.map_err(|error| io_failed("the journal", &error))?;
            let step = || self.watchdog.steps.begin();
            self.checkpoints.advance(&self.tree, step)?;
            self.watchdog.steps.end();
        }
        Ok(())
    }
}
