//! Rounds of an engine whose process is the only writer: key locks are in memory, and reads are ready at once.

use super::round::{ReadResults, Round, RoundStep};
use super::{Commit, Engine, EngineError, Key, Writes};
use crate::fast_hash::HashSet;
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// The keys that rounds hold, and the rounds that wait for one of them.
#[derive(Default)]
pub struct Holds {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: HashSet<Key>,
    /// In order of arrival. A round waits behind every earlier one with a common key, so no round starves.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    keys: Vec<Key>,
    round: Box<dyn Round>,
    engine: Arc<dyn Engine>,
}

thread_local! {
    /// Unblocked rounds of this thread while it runs one of them. A round whose end unblocks the next one must not run that one
    /// inside its own call.
    static READY: RefCell<Option<VecDeque<Waiting>>> = const { RefCell::new(None) };
}

impl Holds {
    /// Runs a round on this thread, or, if another round holds one of its keys, on the thread that ends that round.
    pub fn run(self: &Arc<Self>, engine: Arc<dyn Engine>, round: Box<dyn Round>) {
        let keys = round.locked_keys();
        let waiting = Waiting {
            keys,
            round,
            engine,
        };
        let mut state = self.state.lock();
        let is_free = |key: &Key| {
            !state.held.contains(key) && !state.waiting.iter().any(|it| it.keys.contains(key))
        };
        if !waiting.keys.iter().all(is_free) {
            return state.waiting.push_back(waiting);
        }
        state.held.extend(waiting.keys.iter().cloned());
        drop(state);
        self.begin(waiting);
    }

    /// Reads, decides and submits. The round holds its keys already.
    fn begin(self: &Arc<Self>, waiting: Waiting) {
        let Waiting {
            keys,
            mut round,
            engine,
        } = waiting;
        let decided = catch_unwind(AssertUnwindSafe(|| decide(&*engine, &mut *round)));
        let release = Release {
            holds: Arc::clone(self),
            keys,
        };
        let end = move |outcome| {
            // Dropped last, even if `done` panics.
            let _release = release;
            round.done(outcome);
        };
        match decided.unwrap_or(Err(EngineError::Panicked)) {
            Ok(writes) if !writes.is_empty() => engine.submit(Commit {
                writes,
                done: Box::new(end),
            }),
            outcome => end(outcome.map(drop)),
        }
    }

    fn release(self: &Arc<Self>, keys: &[Key]) {
        let ready = self.state.lock().release(keys);
        if ready.is_empty() {
            return;
        }
        let is_nested = READY.with_borrow_mut(|queue| match queue {
            Some(queue) => {
                queue.extend(ready);
                true
            }
            None => {
                *queue = Some(ready);
                false
            }
        });
        if is_nested {
            return;
        }
        let mut panicked = None;
        loop {
            let next = READY.with_borrow_mut(|queue| {
                let next = queue.as_mut().and_then(VecDeque::pop_front);
                if next.is_none() {
                    *queue = None;
                }
                next
            });
            let Some(next) = next else { break };
            // A panic in `done` must not stop the other rounds.
            let outcome = catch_unwind(AssertUnwindSafe(|| self.begin(next)));
            panicked = outcome.err().or(panicked);
        }
        if let Some(panic) = panicked.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

impl State {
    /// Releases keys and returns the waiting rounds that can run now, with their keys held.
    fn release(&mut self, keys: &[Key]) -> VecDeque<Waiting> {
        for key in keys {
            self.held.remove(key);
        }
        let (mut ready, mut behind) = (VecDeque::new(), HashSet::default());
        for waiting in std::mem::take(&mut self.waiting) {
            let is_taken = |key: &Key| self.held.contains(key) || behind.contains(key);
            if waiting.keys.iter().any(is_taken) {
                behind.extend(waiting.keys.iter().cloned());
                self.waiting.push_back(waiting);
            } else {
                self.held.extend(waiting.keys.iter().cloned());
                ready.push_back(waiting);
            }
        }
        ready
    }
}

struct Release {
    holds: Arc<Holds>,
    keys: Vec<Key>,
}

impl Drop for Release {
    fn drop(&mut self) {
        self.holds.release(&self.keys);
    }
}

fn decide(engine: &dyn Engine, round: &mut dyn Round) -> Result<Writes, EngineError> {
    let mut reads = ReadResults::default();
    let mut requests = round.initial_reads();
    loop {
        reads.read(engine, requests)?;
        match round.decide(&reads) {
            RoundStep::Write(writes) => return Ok(writes),
            RoundStep::Read(more) => requests = more,
        }
    }
}
