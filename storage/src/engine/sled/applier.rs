//! The thread that gives sled what the journal holds, behind everybody's back.
//!
//! It waits until there is something worth a round, so that most of what changes quickly never reaches sled. Each step is one
//! batch, one flush and one sync; the last one also says up to which group sled is complete, and nothing says so before it is
//! on the disk. A crash in between is made good by applying the same groups again.

use super::super::journal::{GroupNumber, Segments};
use super::super::{EngineError, Key, Value};
use super::explain::explain;
use super::failure::{Failure, OpensLatch};
use super::overlay::{Changes, Overlay};
use super::watchdog::Watchdog;
use super::{APPLIED, failed};
use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of one batch. sled writes about four times as much to its log (pages are rewritten as they grow), so a batch stays
/// within one of its segments of 512 KiB: after a power cut sled notices a hole only in the last two segments.
const MAX_BATCH_BYTES: usize = 96 * 1024;
/// With so many bytes waiting, whoever writes has to wait as well.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// When sled is given what waits for it.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// At the latest when so many bytes wait.
    pub bytes: usize,
    /// At the latest when the first of them has waited for so long.
    pub after: Duration,
}

impl Default for Rounds {
    /// 16 MiB, 5 s: most jobs have ended by then, and sled never hears that they were queued and begun. A start has that much
    /// to read again, which takes well below a second.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            after: Duration::from_secs(5),
        }
    }
}

/// sled's side: its tree and an own descriptor of its log.
pub struct Applier {
    pub db: ::sled::Db,
    pub tree: ::sled::Tree,
    pub log_file: File,
}

impl Applier {
    /// Returns once sled durably holds `changes`, and knows that it is complete up to `last`.
    pub fn apply(
        &self,
        changes: &Changes,
        last: GroupNumber,
        each_step: impl Fn(),
    ) -> Result<(), EngineError> {
        let mut batch = ::sled::Batch::default();
        let mut bytes = 0;
        for (key, value) in changes {
            if bytes > MAX_BATCH_BYTES {
                self.commit(std::mem::take(&mut batch))?;
                each_step();
                bytes = 0;
            }
            bytes += size(key, value.as_ref());
            match value {
                Some(value) => batch.insert(key.as_slice(), value.as_slice()),
                None => batch.remove(key.as_slice()),
            }
        }
        batch.insert(APPLIED, &last.to_be_bytes());
        self.commit(batch)
    }

    fn commit(&self, batch: ::sled::Batch) -> Result<(), EngineError> {
        self.tree.apply_batch(batch).map_err(failed)?;
        // sled's own flush hands the log to the kernel and no further.
        self.db.flush().map_err(failed)?;
        self.log_file
            .sync_data()
            .map_err(|error| EngineError::Failed(format!("fdatasync: {}", explain(&error))))
    }
}

/// What a change takes, roughly.
pub fn size(key: &Key, value: Option<&Value>) -> usize {
    key.len() + value.map_or(0, Vec::len)
}

/// What waits to be applied, as the two threads tell each other.
pub struct Backlog {
    rounds: Rounds,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Bytes that the next round will take, and when the first of them came.
    waiting: usize,
    since: Option<Instant>,
    /// Bytes of the round that is on its way.
    applying: usize,
    /// Nothing more comes.
    closing: bool,
    /// Nothing more is applied.
    ended: bool,
}

impl Backlog {
    /// Nothing waits yet.
    pub fn new(rounds: Rounds) -> Self {
        Self {
            rounds,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// So many bytes have been shown in the overlay.
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
pub struct Work {
    pub applier: Applier,
    pub overlay: Arc<Overlay>,
    pub backlog: Arc<Backlog>,
    pub segments: Segments,
    pub watchdog: Watchdog,
    pub failure: Arc<Failure>,
    /// Opened when the thread has ended and let go of sled.
    pub at_end: OpensLatch,
}

impl Work {
    /// Applies round after round until the backlog is closed, or something fails.
    pub fn run(self) {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.rounds()));
        let outcome = outcome.unwrap_or_else(|_| {
            // sled panics where it should return an error; after either, nothing more may be written.
            Err(EngineError::Failed("the storage thread panicked".into()))
        });
        if let Err(error) = outcome {
            self.failure.report(&error);
        }
        self.backlog.end();
        let Self {
            applier, at_end, ..
        } = self;
        drop(applier);
        drop(at_end);
    }

    fn rounds(&self) -> Result<(), EngineError> {
        while self.backlog.wait_for_round() && !self.failure.happened() {
            let (changes, last) = self.overlay.begin_apply();
            self.watchdog.begin();
            let step = || self.watchdog.begin();
            self.applier.apply(&changes, last, step)?;
            self.watchdog.end();
            self.overlay.applied();
            self.backlog.round_ended();
            self.segments.release(last).map_err(|error| {
                EngineError::Failed(format!("the journal: {}", explain(&error)))
            })?;
        }
        Ok(())
    }
}
