//! The one thread that writes: it takes all commits that wait, makes them one batch, one flush and one sync, then answers.

use super::super::{Commit, EngineError, EngineStats, Key, Value};
use super::in_flight::InFlight;
use super::watchdog::Watchdog;
use super::{SledOptions, failed};
use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Commits that share one sync at the most. Past this the time for applying them outweighs the sync that they save.
const MAX_COMMITS: usize = 256;
/// Bytes that one batch may have, so that it stays far below sled's segment size.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The sending side of the committer thread.
pub struct Committer {
    queue: Mutex<Option<Sender<Commit>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counters: Arc<Counters>,
}

#[derive(Default)]
struct Counters {
    commits: AtomicU64,
    syncs: AtomicU64,
    failed: AtomicBool,
}

impl Committer {
    /// Starts the thread and its watchdog.
    pub fn start(
        db: ::sled::Db,
        tree: ::sled::Tree,
        log_file: File,
        in_flight: Arc<InFlight>,
        options: &SledOptions,
    ) -> Result<Self, EngineError> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let counters = Arc::new(Counters::default());
        let no_thread = |error: std::io::Error| {
            EngineError::Failed(format!("no thread for the committer: {error}"))
        };
        let watchdog = Watchdog::start(options.commit_timeout, Arc::clone(&options.on_failure))
            .map_err(no_thread)?;
        let writer = Writer {
            db,
            tree,
            log_file,
            in_flight,
            watchdog,
            counters: Arc::clone(&counters),
        };
        let on_failure = Arc::clone(&options.on_failure);
        let run = move || {
            // sled panics where it should return an error; after either, nothing more may be written or answered.
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| writer.run(&receiver)));
            let error = match outcome {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(_) => EngineError::Failed("the storage thread panicked".into()),
            };
            writer.counters.failed.store(true, Ordering::SeqCst);
            on_failure(&error);
            refuse_all(&receiver, &error);
        };
        let thread = std::thread::Builder::new()
            .name("committer".into())
            .spawn(run)
            .map_err(no_thread)?;
        Ok(Self {
            queue: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            counters,
        })
    }

    /// Queues a commit.
    pub fn submit(&self, commit: Commit) {
        let refused = match &*self.queue.lock() {
            Some(queue) if !self.counters.failed.load(Ordering::SeqCst) => {
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

    /// Lets the thread write what waits, then ends it.
    pub fn close(&self) {
        drop(self.queue.lock().take());
        if let Some(thread) = self.thread.lock().take() {
            // Its panic has been reported by `on_failure`.
            let _ = thread.join();
        }
    }
}

/// Answers what still comes in after a failure, until the last sender is gone.
fn refuse_all(receiver: &Receiver<Commit>, error: &EngineError) {
    while let Ok(commit) = receiver.recv() {
        (commit.done)(Err(error.clone()));
    }
}

struct Writer {
    db: ::sled::Db,
    tree: ::sled::Tree,
    log_file: File,
    in_flight: Arc<InFlight>,
    watchdog: Watchdog,
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
            let outcome = self.write(&mut commits);
            self.watchdog.end();
            if outcome.is_ok() {
                self.counters
                    .commits
                    .fetch_add(commits.len() as u64, Ordering::Relaxed);
                self.counters.syncs.fetch_add(1, Ordering::Relaxed);
            }
            for commit in commits {
                (commit.done)(outcome.clone());
            }
            outcome?;
        }
        Ok(())
    }

    /// Returns once the batch survives a power cut.
    fn write(&self, commits: &mut [Commit]) -> Result<(), EngineError> {
        let mut batch = ::sled::Batch::default();
        let mut before: BTreeMap<Key, Option<Value>> = BTreeMap::new();
        for (key, value) in commits
            .iter_mut()
            .flat_map(|commit| commit.writes.drain(..))
        {
            match value {
                Some(value) => batch.insert(key.as_slice(), value),
                None => batch.remove(key.as_slice()),
            }
            if !before.contains_key(&key) {
                let old = self.tree.get(&key).map_err(failed)?;
                before.insert(key, old.map(|it| it.to_vec()));
            }
        }
        if before.is_empty() {
            return Ok(());
        }
        self.in_flight.cover(before);
        self.tree.apply_batch(batch).map_err(failed)?;
        self.db.flush().map_err(failed)?;
        self.log_file
            .sync_data()
            .map_err(|error| EngineError::Failed(format!("fdatasync: {error}")))?;
        self.in_flight.reveal();
        Ok(())
    }
}

fn size(commit: &Commit) -> usize {
    commit
        .writes
        .iter()
        .map(|(key, value)| key.len() + value.as_ref().map_or(0, Vec::len))
        .sum()
}
