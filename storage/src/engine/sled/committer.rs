//! The committing thread: it takes all waiting commits, writes them to the journal as one group with one sync, makes them
//! visible and answers them.

use super::super::wal::Wal;
use super::super::{Commit, EngineError, Latch, OnFailure, OpensLatch, call_back, deferred_wake};
use super::io_advice::io_failed;
use super::watchdog::Watchdog;
use super::{EngineState, SyncStep, spawn};
use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Maximum number of commits per sync.
const MAX_COMMITS: usize = 1_024;
/// A group of this size takes no further commit: writing it takes about as long as the sync.
const MAX_BYTES: usize = 1 << 20;

/// The sending side of the committer thread.
pub struct Committer {
    queue: Mutex<Option<Sender<Commit>>>,
    thread: ThreadId,
    /// Opens when the thread has ended or hangs.
    ended: Arc<Latch>,
    state: Arc<EngineState>,
}

impl Committer {
    /// Starts the thread and its watchdog.
    pub fn start(
        state: Arc<EngineState>,
        wal: Wal,
        sync: SyncStep,
        commit_timeout: Duration,
    ) -> Result<Self, EngineError> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let ended = Arc::new(Latch::default());
        let on_hang = on_hang(
            Arc::clone(&state),
            Arc::clone(&ended),
            Receiver::clone(&receiver),
        );
        let writer = Writer {
            state: Arc::clone(&state),
            wal,
            sync,
            watchdog: Watchdog::start(commit_timeout, on_hang)?,
        };
        let at_end = OpensLatch(Arc::clone(&ended));
        let run = move || {
            // Declared before the writer, so dropped after it: the journal is closed when `close` returns.
            let _at_end = at_end;
            let mut writer = writer;
            // After a panic outside of `write`, callers still need an answer.
            let outcome = catch_unwind(AssertUnwindSafe(|| writer.run(&receiver)));
            if let Err(error) = outcome.unwrap_or_else(|_| Err(EngineError::panicked())) {
                writer.state.failure.report(&error);
                refuse_all(&receiver, &error);
            }
        };
        let thread = spawn("committer", run)?;
        Ok(Self {
            queue: Mutex::new(Some(sender)),
            thread: thread.thread().id(),
            ended,
            state,
        })
    }

    pub fn submit(&self, commit: Commit) {
        let refused = match &*self.queue.lock() {
            Some(queue) if !self.state.failure.happened() => {
                queue.send(commit).err().map(|unsent| unsent.0)
            }
            _ => Some(commit),
        };
        if let Some(commit) = refused {
            (commit.done)(Err(EngineError::Stopped));
        }
    }

    /// Has the thread write the waiting commits. Returns when the thread has ended or a write hangs.
    pub fn close(&self) {
        drop(self.queue.lock().take());
        // The last owner of an engine may be a `done` on this very thread; then the thread ends later.
        if std::thread::current().id() != self.thread {
            self.ended.wait();
        }
    }
}

/// Refuses the commits that arrive after a failure, until the last sender is gone.
fn refuse_all(receiver: &Receiver<Commit>, error: &EngineError) {
    while let Ok(commit) = receiver.recv() {
        (commit.done)(Err(error.clone()));
    }
}

/// Runs on the watchdog's thread. The committer may never return, so the commits queued behind the hanging ones are refused
/// here.
fn on_hang(state: Arc<EngineState>, ended: Arc<Latch>, receiver: Receiver<Commit>) -> OnFailure {
    Arc::new(move |error| {
        state.failure.report(error);
        ended.open();
        refuse_all(&receiver, error);
    })
}

struct Writer {
    state: Arc<EngineState>,
    wal: Wal,
    sync: SyncStep,
    watchdog: Watchdog,
}

impl Writer {
    fn run(&mut self, receiver: &Receiver<Commit>) -> Result<(), EngineError> {
        while let Ok(first) = receiver.recv() {
            self.state.backlog.wait_for_room();
            let mut bytes = first.bytes();
            let mut commits = vec![first];
            while commits.len() < MAX_COMMITS && bytes < MAX_BYTES {
                let Ok(next) = receiver.try_recv() else { break };
                bytes += next.bytes();
                commits.push(next);
            }
            self.watchdog.steps.begin();
            let outcome = catch_unwind(AssertUnwindSafe(|| self.write(&mut commits, bytes)))
                .unwrap_or_else(|_| Err(EngineError::panicked()));
            self.watchdog.steps.end();
            if outcome.is_ok() {
                self.state.counters.add_commits(commits.len());
            }
            let completed = deferred_wake::wake_after(|| complete(commits, &outcome));
            outcome.and(completed)?;
            if self.state.failure.happened() {
                // The write returned after the watchdog had reported a failure.
                return Err(EngineError::Stopped);
            }
        }
        Ok(())
    }

    /// Returns when the commits survive a power cut and are visible to readers.
    fn write(&mut self, commits: &mut [Commit], bytes: usize) -> Result<(), EngineError> {
        if commits.iter().all(|commit| commit.writes.is_empty()) {
            return Ok(());
        }
        for commit in commits.iter() {
            self.wal.gather(&commit.writes);
        }
        let group = self
            .wal
            .write()
            .map_err(|error| io_failed("the journal", &error))?;
        let began = Instant::now();
        (self.sync)(self.wal.file()).map_err(|error| io_failed("fdatasync", &error))?;
        let EngineState {
            memtable,
            snapshots,
            backlog,
            counters,
            ..
        } = &*self.state;
        counters.add_sync(began.elapsed(), commits.len(), bytes);
        let keys = commits.iter().flat_map(|commit| &commit.writes);
        let kept = snapshots.keep(keys.map(|(key, _)| key), memtable);
        let changes = commits
            .iter_mut()
            .flat_map(|commit| std::mem::take(&mut commit.writes));
        memtable.apply(group, changes);
        drop(kept);
        backlog.add(bytes);
        Ok(())
    }
}

/// Tells every caller of a group the outcome.
fn complete(commits: Vec<Commit>, outcome: &Result<(), EngineError>) -> Result<(), EngineError> {
    let mut result = Ok(());
    for commit in commits {
        result = result.and(call_back(|| (commit.done)(outcome.clone())));
    }
    result
}
