//! The thread that writes the memtable to sled, in the background.
//!
//! It waits until a flush is worth it, so that records that change soon never reach sled. Each step ends with one flush of sled and one
//! sync; the last step stores the number of the group up to which sled is complete. After a crash the start applies the same groups
//! again.

use super::super::EngineError;
use super::super::wal::Segments;
use super::failure::{Failure, OpensLatch};
use super::format::checkpoint::Checkpoints;
use super::io_advice::explain;
use super::memtable::Memtable;
use super::sled_tree::SledTree;
use super::watchdog::Watchdog;
use parking_lot::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// With so many bytes waiting, the committer waits too.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// When the memtable is written to sled.
#[derive(Clone, Copy, Debug)]
pub struct FlushPolicy {
    /// At the latest when so many bytes wait.
    pub bytes: usize,
    /// At the latest when the first of them has waited for so long.
    pub after: Duration,
}

impl Default for FlushPolicy {
    /// 16 MiB, 5 s: most jobs have ended by then, so sled is not given their earlier states. A start applies that much of the
    /// journal again, in well below a second.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            after: Duration::from_secs(5),
        }
    }
}

/// The bytes that wait for a flush, shared by the committer and the flusher.
pub struct Backlog {
    policy: FlushPolicy,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes of the next flush, and when the first of them came.
    waiting: usize,
    since: Option<Instant>,
    /// Bytes of the present flush that sled does not hold yet.
    applying: usize,
    /// The committer has ended.
    closing: bool,
    /// The flusher has ended.
    ended: bool,
}

impl Backlog {
    /// Nothing waits yet.
    pub fn new(policy: FlushPolicy) -> Self {
        Self {
            policy,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Adds bytes that have become visible in the memtable.
    pub fn add(&self, bytes: usize) {
        let mut state = self.state.lock();
        let was_full = state.waiting >= self.policy.bytes;
        state.waiting += bytes;
        let is_first = state.since.is_none();
        if is_first {
            state.since = Some(Instant::now());
        }
        if is_first || (state.waiting >= self.policy.bytes && !was_full) {
            self.changed.notify_all();
        }
    }

    /// Bytes that sled does not hold yet.
    pub fn bytes(&self) -> usize {
        let state = self.state.lock();
        state.waiting + state.applying
    }

    /// Waits while the backlog is too large.
    pub fn wait_for_room(&self) {
        let mut state = self.state.lock();
        while state.waiting + state.applying > MAX_WAITING_BYTES && !state.ended {
            self.changed.wait(&mut state);
        }
    }

    /// Begins the last flush.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Waits until a flush is due; `false` when there will be none any more.
    fn wait_for_round(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            match state.since {
                None if state.closing => return false,
                None => self.changed.wait(&mut state),
                Some(since) => {
                    let due = since + self.policy.after;
                    let is_due = state.closing || state.waiting >= self.policy.bytes;
                    if is_due || Instant::now() >= due {
                        state.applying = std::mem::take(&mut state.waiting);
                        state.since = None;
                        return true;
                    }
                    self.changed.wait_until(&mut state, due);
                }
            }
        }
    }

    /// sled holds so many more bytes of the flush. The committer gets room step by step, not flush by flush.
    fn step_ended(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.applying = state.applying.saturating_sub(bytes);
        drop(state);
        self.changed.notify_all();
    }

    fn flush_ended(&self) {
        self.state.lock().applying = 0;
        self.changed.notify_all();
    }

    /// The flusher has ended: the committer waits for room no more.
    pub fn end(&self) {
        self.state.lock().ended = true;
        self.changed.notify_all();
    }
}

/// All that the thread works with.
pub struct FlusherThread {
    pub tree: SledTree,
    pub memtable: Arc<Memtable>,
    pub backlog: Arc<Backlog>,
    pub segments: Segments,
    pub checkpoints: Checkpoints,
    pub watchdog: Watchdog,
    pub failure: Arc<Failure>,
    /// Opened when the thread has ended and dropped sled.
    pub at_end: OpensLatch,
}

impl FlusherThread {
    /// Flushes until the backlog is closed, or a flush fails.
    pub fn run(mut self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.flush_all()));
        let outcome = outcome.unwrap_or_else(|_| {
            // sled panics where it should return an error; after either, nothing more may be written.
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
        while self.backlog.wait_for_round() && !self.failure.happened() {
            let (changes, last) = self.memtable.begin_flush();
            self.watchdog.begin();
            let step = |bytes| {
                self.watchdog.begin();
                self.backlog.step_ended(bytes);
            };
            self.tree.apply(&changes, last, step)?;
            self.memtable.flushed();
            self.backlog.flush_ended();
            // Removing files can hang as any other call can.
            self.watchdog.begin();
            self.segments.release(last).map_err(|error| {
                EngineError::Failed(format!("the journal: {}", explain(&error)))
            })?;
            let step = || self.watchdog.begin();
            self.checkpoints.bring_forward(&self.tree, step)?;
            self.watchdog.end();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flush of tens of megabytes takes a slow disk many seconds. Each part that sled has makes room for commits.
    #[test]
    fn who_waits_for_room_goes_on_when_sled_has_a_part_of_the_round() {
        let backlog = Backlog::new(FlushPolicy::default());
        backlog.add(MAX_WAITING_BYTES);
        assert!(backlog.wait_for_round());
        backlog.add(1);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| backlog.wait_for_room());
            backlog.step_ended(1);
            waits.join().expect("there is room");
        });
        assert_eq!(backlog.bytes(), MAX_WAITING_BYTES);
        backlog.flush_ended();
        assert_eq!(backlog.bytes(), 1);
    }
}
