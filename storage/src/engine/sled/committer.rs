//! The one thread that writes: it takes all commits that wait, makes them one batch, one flush and one sync, then answers.

use super::super::{Commit, EngineError, EngineStats, Key, OnFailure, Value};
use super::failure::{Failure, Latch, OpensLatch};
use super::in_flight::InFlight;
use super::open::Opened;
use super::watchdog::Watchdog;
use super::{SledOptions, SyncStep, failed};
use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;

/// Commits that share one sync at the most. Past this the time for applying them outweighs the sync that they save.
const MAX_COMMITS: usize = 256;
/// Bytes from which on a batch takes no further commit.
///
/// sled writes about four times as much to its log (pages are rewritten as they grow), so a batch stays within one of sled's
/// segments of 512 KiB. That matters after a power cut: a hole is only noticed in the last two segments, so a batch over three
/// could be recovered without its middle.
const MAX_BYTES: usize = 128 * 1024;

/// The sending side of the committer thread.
pub struct Committer {
    queue: Mutex<Option<Sender<Commit>>>,
    thread: ThreadId,
    /// Open once the thread has ended, or hangs.
    ended: Arc<Latch>,
    failure: Arc<Failure>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    commits: AtomicU64,
    syncs: AtomicU64,
}

impl Committer {
    /// Starts the thread and its watchdog.
    pub fn start(
        opened: Opened,
        in_flight: Arc<InFlight>,
        options: &SledOptions,
        sync: SyncStep,
    ) -> Result<Self, EngineError> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let counters = Arc::new(Counters::default());
        let failure = Arc::new(Failure::new(Arc::clone(&options.on_failure)));
        let ended = Arc::new(Latch::default());
        let no_thread =
            |error: io::Error| EngineError::Failed(format!("no thread for the committer: {error}"));
        let on_hang = when_it_hangs(
            Arc::clone(&failure),
            Arc::clone(&ended),
            Receiver::clone(&receiver),
        );
        let writer = Writer {
            db: opened.db,
            tree: opened.tree,
            log_file: opened.log_file,
            sync,
            in_flight,
            watchdog: Watchdog::start(options.commit_timeout, on_hang).map_err(no_thread)?,
            failure: Arc::clone(&failure),
            counters: Arc::clone(&counters),
        };
        let at_end = OpensLatch(Arc::clone(&ended));
        let run = move || {
            // Declared before the writer, so dropped after it: whoever waits for the end finds sled let go of.
            let _at_end = at_end;
            let writer = writer;
            // Nothing is known to panic outside of `write`; whatever does must not leave callers without an answer.
            let outcome = catch_unwind(AssertUnwindSafe(|| writer.run(&receiver)));
            if let Err(error) = outcome.unwrap_or_else(|_| Err(panicked())) {
                writer.failure.report(&error);
                refuse_all(&receiver, &error);
            }
        };
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(run)
            .map_err(no_thread)?;
        Ok(Self {
            queue: Mutex::new(Some(sender)),
            thread: thread.thread().id(),
            ended,
            failure,
            counters,
        })
    }

    /// Queues a commit.
    pub fn submit(&self, commit: Commit) {
        let refused = match &*self.queue.lock() {
            Some(queue) if !self.failure.happened() => {
                queue.send(commit).err().map(|unsent| unsent.0)
            }
            _ => Some(commit),
        };
        if let Some(commit) = refused {
            (commit.done)(Err(EngineError::Stopped));
        }
    }

    /// Figures since the start.
    pub fn stats(&self) -> EngineStats {
        EngineStats {
            commits: self.counters.commits.load(Ordering::Relaxed),
            syncs: self.counters.syncs.load(Ordering::Relaxed),
        }
    }

    /// Lets the thread write what waits, and returns once it has ended. A write that hangs is not waited for.
    pub fn close(&self) {
        drop(self.queue.lock().take());
        // The last owner of an engine may be a `done` that the thread itself is calling; it ends after that.
        if std::thread::current().id() != self.thread {
            self.ended.wait();
        }
    }
}

/// Answers what still comes in after a failure, until the last sender is gone.
fn refuse_all(receiver: &Receiver<Commit>, error: &EngineError) {
    while let Ok(commit) = receiver.recv() {
        (commit.done)(Err(error.clone()));
    }
}

/// What the watchdog does: the thread may never come back, so the commits behind the hanging ones are answered here.
fn when_it_hangs(
    failure: Arc<Failure>,
    ended: Arc<Latch>,
    receiver: Receiver<Commit>,
) -> OnFailure {
    Arc::new(move |error| {
        failure.report(error);
        ended.open();
        refuse_all(&receiver, error);
    })
}

fn panicked() -> EngineError {
    EngineError::Failed("the storage thread panicked".into())
}

struct Writer {
    db: ::sled::Db,
    tree: ::sled::Tree,
    log_file: File,
    sync: SyncStep,
    in_flight: Arc<InFlight>,
    watchdog: Watchdog,
    failure: Arc<Failure>,
    counters: Arc<Counters>,
}

impl Writer {
    fn run(&self, receiver: &Receiver<Commit>) -> Result<(), EngineError> {
        while let Ok(first) = receiver.recv() {
            let mut commits = vec![first];
            let mut bytes = size(&commits[0]);
            while commits.len() < MAX_COMMITS && bytes < MAX_BYTES {
                let Ok(next) = receiver.try_recv() else { break };
                bytes += size(&next);
                commits.push(next);
            }
            self.watchdog.begin();
            // sled panics where it should return an error; after either, nothing more may be written.
            let outcome = catch_unwind(AssertUnwindSafe(|| self.write(&mut commits)))
                .unwrap_or_else(|_| Err(panicked()));
            self.watchdog.end();
            if outcome.is_ok() {
                self.counters
                    .commits
                    .fetch_add(commits.len() as u64, Ordering::Relaxed);
            }
            let answered = answer(commits, &outcome);
            outcome.and(answered)?;
            if self.failure.happened() {
                // It came back, but too late: the watchdog has called it a failure.
                return Err(EngineError::Stopped);
            }
        }
        Ok(())
    }

    /// Returns once the batch survives a power cut.
    fn write(&self, commits: &mut [Commit]) -> Result<(), EngineError> {
        let mut batch = ::sled::Batch::default();
        let mut before: BTreeMap<Key, Option<Value>> = BTreeMap::new();
        for commit in commits.iter_mut() {
            for (key, value) in commit.writes.drain(..) {
                match value {
                    Some(value) => batch.insert(key.as_slice(), value),
                    None => batch.remove(key.as_slice()),
                }
                if let Entry::Vacant(unread) = before.entry(key) {
                    let old = self.tree.get(unread.key()).map_err(failed)?;
                    unread.insert(old.map(|it| it.to_vec()));
                }
            }
            for (key, value) in commit.inserts.drain(..) {
                batch.insert(key.as_slice(), value);
                before.entry(key).or_insert(None);
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        self.in_flight.cover(before);
        self.tree.apply_batch(batch).map_err(failed)?;
        self.db.flush().map_err(failed)?;
        (self.sync)(&self.log_file)
            .map_err(|error| EngineError::Failed(format!("fdatasync: {error}")))?;
        self.counters.syncs.fetch_add(1, Ordering::Relaxed);
        self.in_flight.reveal();
        Ok(())
    }
}

/// Tells every commit of a batch how it ended. A callback that panics keeps no other one from its answer, but it is a fault
/// of the program that ends the engine.
fn answer(commits: Vec<Commit>, outcome: &Result<(), EngineError>) -> Result<(), EngineError> {
    let mut result = Ok(());
    for commit in commits {
        let outcome = outcome.clone();
        if catch_unwind(AssertUnwindSafe(|| (commit.done)(outcome))).is_err() {
            result = Err(EngineError::Failed(
                "what was to hear of a commit panicked".into(),
            ));
        }
    }
    result
}

fn size(commit: &Commit) -> usize {
    let written = commit
        .writes
        .iter()
        .map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len));
    let inserted = commit
        .inserts
        .iter()
        .map(|(key, value)| key.len() + value.len());
    written.chain(inserted).sum()
}
