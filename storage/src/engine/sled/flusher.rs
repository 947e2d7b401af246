//! The thread that gives sled what the journal holds, behind everybody's back.
//!
//! It waits until there is something worth a round, so that most of what changes quickly never reaches sled. Each step ends with
//! one flush and one sync; the last one says up to which group sled is complete, and nothing says so before it is on the disk.
//! A crash in between is made good by applying the same groups again.

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

/// With so many bytes waiting, whoever writes has to wait as well.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// When sled is given what waits for it.
#[derive(Clone, Copy, Debug)]
pub struct FlushPolicy {
    /// At the latest when so many bytes wait.
    pub bytes: usize,
    /// At the latest when the first of them has waited for so long.
    pub after: Duration,
}

impl Default for FlushPolicy {
    /// 16 MiB, 5 s: most jobs have ended by then, and sled never hears that they were queued and begun. A start has that much
    /// to read again, which takes well below a second.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            after: Duration::from_secs(5),
        }
    }
}

/// What waits to be applied, as the two threads tell each other.
pub struct Backlog {
    rounds: FlushPolicy,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes that the next round will take, and when the first of them came.
    waiting: usize,
    since: Option<Instant>,
    /// Bytes of the round that is on its way and that sled does not hold yet.
    applying: usize,
    /// Nothing more comes.
    closing: bool,
    /// Nothing more is applied.
    ended: bool,
}

impl Backlog {
    /// Nothing waits yet.
    pub fn new(rounds: FlushPolicy) -> Self {
        Self {
            rounds,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// So many bytes have been shown in the memtable.
    pub fn add(&self, bytes: usize) {
        let mut state = self.state.lock();
        let was_full = state.waiting >= self.rounds.bytes;
        state.waiting += bytes;
        let is_first = state.since.is_none();
        if is_first {
            state.since = Some(Instant::now());
        }
        if is_first || (state.waiting >= self.rounds.bytes && !was_full) {
            self.changed.notify_all();
        }
    }

    /// Bytes that sled does not hold yet.
    pub fn bytes(&self) -> usize {
        let state = self.state.lock();
        state.waiting + state.applying
    }

    /// Waits while too much is waiting.
    pub fn wait_for_room(&self) {
        let mut state = self.state.lock();
        while state.waiting + state.applying > MAX_WAITING_BYTES && !state.ended {
            self.changed.wait(&mut state);
        }
    }

    /// Lets the last round begin.
    pub fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Waits until a round is due; `false` when there will be none any more.
    fn wait_for_round(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            match state.since {
                None if state.closing => return false,
                None => self.changed.wait(&mut state),
                Some(since) => {
                    let due = since + self.rounds.after;
                    let is_due = state.closing || state.waiting >= self.rounds.bytes;
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

    /// sled holds so many bytes more of the round: whoever waits for room goes on at sled's pace, and not by leaps of a round.
    fn step_ended(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.applying = state.applying.saturating_sub(bytes);
        drop(state);
        self.changed.notify_all();
    }

    fn round_ended(&self) {
        self.state.lock().applying = 0;
        self.changed.notify_all();
    }

    /// Nothing more is applied: whoever waits for room need not.
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
    /// Opened when the thread has ended and let go of sled.
    pub at_end: OpensLatch,
}

impl FlusherThread {
    /// Applies round after round until the backlog is closed, or something fails.
    pub fn run(mut self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.rounds()));
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

    fn rounds(&mut self) -> Result<(), EngineError> {
        while self.backlog.wait_for_round() && !self.failure.happened() {
            let (changes, last) = self.memtable.begin_flush();
            self.watchdog.begin();
            let step = |bytes| {
                self.watchdog.begin();
                self.backlog.step_ended(bytes);
            };
            self.tree.apply(&changes, last, step)?;
            self.memtable.flushed();
            self.backlog.round_ended();
            // Letting go of files can hang as any other call can.
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

    /// A round of tens of megabytes takes a slow disk many seconds. Commits go on with each part of it that sled has.
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
        backlog.round_ended();
        assert_eq!(backlog.bytes(), 1);
    }
}
