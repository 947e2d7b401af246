//! A layer that holds commits back, like a slow disk.

use super::layer::Layer;
use super::memory::MemoryEngine;
use crate::engine::{Commit, Engine, Holds, Round};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::{Arc, mpsc};

/// Forwards commits or holds them until they are released.
pub struct StalledEngine {
    inner: Arc<dyn Engine>,
    holds: Arc<Holds>,
    gate: Mutex<Gate>,
}

#[derive(Default)]
struct Gate {
    is_shut: bool,
    held: VecDeque<Commit>,
    submitted: usize,
    rounds: usize,
}

impl StalledEngine {
    pub fn new(inner: Arc<dyn Engine>) -> Self {
        Self {
            inner,
            holds: Arc::default(),
            gate: Mutex::default(),
        }
    }

    /// Around an engine in memory.
    pub fn in_memory() -> Arc<Self> {
        Arc::new(Self::new(Arc::new(MemoryEngine::default())))
    }

    /// Holds commits from now on.
    pub fn hold(&self) {
        self.gate.lock().is_shut = true;
    }

    /// Releases the oldest held commit.
    ///
    /// # Panics
    /// If no commit is held.
    pub fn release_one(&self) {
        let commit = self.next();
        self.inner.submit(commit.expect("a commit is held"));
    }

    /// Makes the oldest held commit durable and readable. Its round hears of that when the returned function is called.
    ///
    /// # Panics
    /// If no commit is held.
    pub fn release_one_unanswered(&self) -> impl FnOnce() + use<> {
        let Commit { writes, done } = self.next().expect("a commit is held");
        let (sender, outcome) = mpsc::channel();
        let done_later = move |outcome| drop(sender.send(outcome));
        self.inner.submit(Commit {
            writes,
            done: Box::new(done_later),
        });
        move || done(outcome.recv().expect("an outcome"))
    }

    /// Releases all held commits in order and stops holding. Returns their number.
    pub fn open(&self) -> usize {
        self.gate.lock().is_shut = false;
        let held = std::iter::from_fn(|| self.next());
        held.map(|commit| self.inner.submit(commit)).count()
    }

    fn next(&self) -> Option<Commit> {
        self.gate.lock().held.pop_front()
    }

    pub fn held(&self) -> usize {
        self.gate.lock().held.len()
    }

    /// The number of rounds that have begun, or wait for others that hold their keys.
    pub fn rounds(&self) -> usize {
        self.gate.lock().rounds
    }

    /// The number of commits so far.
    pub fn submitted(&self) -> usize {
        self.gate.lock().submitted
    }
}

impl Layer for StalledEngine {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner)
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn wrap_round(&self, round: Box<dyn Round>) -> Box<dyn Round> {
        self.gate.lock().rounds += 1;
        round
    }

    fn submit(&self, commit: Commit) {
        let mut gate = self.gate.lock();
        gate.submitted += 1;
        if gate.is_shut {
            return gate.held.push_back(commit);
        }
        drop(gate);
        self.inner.submit(commit);
    }

    fn close(&self) {
        self.open();
        self.inner.close();
    }
}
