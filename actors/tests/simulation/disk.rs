//! The disk: an in-memory engine with latency, which crashes or fails at a chosen commit.
//!
//! A commit becomes readable and is acknowledged once it is durable. A crash loses the commits in flight, except for a random number of
//! the first ones, which become durable without an acknowledgement.

use crate::model::Before;
use crate::world::World;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tintype_storage::engine::{
    Commit, CommitCallback, Engine, EngineError, Holds, Key, OnFailure, Round, Value,
};
use tintype_storage::testing::layer::{DecidedTwice, Layer};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::Notify;
use tokio::time::sleep;

/// The contents of the disk.
pub type Image = BTreeMap<Key, Value>;
type Writes = Vec<(Key, Option<Value>)>;

/// The failure that a disk injects, at a commit counted from the start of the life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    None,
    /// The process crashes before this commit is written.
    Crash(u64),
    /// This commit and all later ones fail.
    Fail(u64),
}

/// The engine of one life.
pub struct Disk {
    inner: Arc<MemoryEngine>,
    holds: Arc<Holds>,
    world: World,
    state: Mutex<State>,
    arrived: Notify,
    /// Notified of the crash.
    pub crashed: Notify,
    on_failure: OnFailure,
}

#[derive(PartialEq, Eq)]
enum Status {
    Alive,
    Failed,
    Dead,
}

struct State {
    queue: VecDeque<(Writes, CommitCallback, Before)>,
    fault: DiskFault,
    durable: u64,
    status: Status,
    /// Commits that became durable without an acknowledgement. The next life finds them.
    unacknowledged: Vec<(Writes, Before)>,
    /// Callbacks of a dead process. They are kept, because dropping them would wake their callers.
    never_called: Vec<CommitCallback>,
}

impl Disk {
    pub fn new(world: &World, image: Image, fault: DiskFault, on_failure: OnFailure) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::new(MemoryEngine::from_image(image)),
            holds: Arc::default(),
            world: world.clone(),
            state: Mutex::new(State {
                queue: VecDeque::new(),
                fault,
                durable: 0,
                status: Status::Alive,
                unacknowledged: Vec::new(),
                never_called: Vec::new(),
            }),
            arrived: Notify::new(),
            crashed: Notify::new(),
            on_failure,
        })
    }

    /// Crashes the process at this commit, counted from now on.
    pub fn crash_at(&self, commit: u64) {
        let mut state = self.state.lock();
        state.fault = DiskFault::Crash(state.durable + commit);
    }

    /// Is no commit in flight?
    pub fn is_quiet(&self) -> bool {
        self.state.lock().queue.is_empty()
    }

    /// Writes the commits in flight, as an engine does when it closes. The process may crash meanwhile.
    pub fn close(&self) {
        while self.write_group(usize::MAX) {}
        // After a crash, `image` still writes the unacknowledged commits.
        if self.state.lock().status == Status::Alive {
            self.inner.close();
        }
    }

    /// Crashes the process now.
    pub fn crash(&self) {
        let mut state = self.state.lock();
        if state.status == Status::Alive {
            let survivors = self.keep_survivors(&mut state);
            self.world.trace(format!(
                "crash, {survivors} commits become durable without an acknowledgement"
            ));
            state.status = Status::Dead;
            let mut model = self.world.model.lock();
            if model.stopping {
                model.count("crashes within a stop");
            }
        }
        drop(state);
        self.crashed.notify_one();
    }

    /// Ends this life, and returns the disk for the next one.
    pub fn image(&self) -> Image {
        let mut state = self.state.lock();
        state.status = Status::Dead;
        let lost: Vec<CommitCallback> = state.queue.drain(..).map(|(_, done, _)| done).collect();
        state.never_called.extend(lost);
        for (writes, before) in std::mem::take(&mut state.unacknowledged) {
            self.write(writes, &before);
        }
        self.inner.image()
    }

    /// Runs until it is aborted.
    pub async fn run(self: Arc<Self>) {
        loop {
            while self.is_quiet() {
                self.arrived.notified().await;
            }
            let rng = &self.world.rng;
            sleep(match rng.below(20) {
                0 if !self.world.is_calm() => rng.millis(50, 900),
                1..6 => rng.millis(0, 1),
                _ => rng.millis(1, 8),
            })
            .await;
            let most = 1 + rng.below(6) as usize;
            self.write_group(most);
        }
    }

    /// Makes the next commits durable, then acknowledges them. Returns false if there were none.
    fn write_group(&self, most: usize) -> bool {
        let mut state = self.state.lock();
        let mut answers: Vec<CommitCallback> = Vec::new();
        while answers.len() < most && state.status == Status::Alive && !state.queue.is_empty() {
            let number = state.durable + 1;
            match state.fault {
                DiskFault::Crash(at) if at == number => {
                    // Earlier commits of the group are durable, but not acknowledged.
                    state.never_called.append(&mut answers);
                    drop(state);
                    self.crash();
                    return false;
                }
                DiskFault::Fail(at) if at == number => {
                    self.fail(&mut state);
                    break;
                }
                _ => {}
            }
            let Some((writes, done, before)) = state.queue.pop_front() else {
                break;
            };
            self.write(writes, &before);
            state.durable = number;
            answers.push(done);
        }
        let refused: Vec<CommitCallback> = match state.status {
            Status::Failed => state.queue.drain(..).map(|(_, done, _)| done).collect(),
            _ => Vec::new(),
        };
        drop(state);
        let any = !answers.is_empty();
        answers.into_iter().for_each(|done| done(Ok(())));
        if !refused.is_empty() {
            let error = EngineError::Failed("no space left on device (simulated)".into());
            (self.on_failure)(&error);
            refused
                .into_iter()
                .for_each(|done| done(Err(error.clone())));
        }
        any
    }

    fn fail(&self, state: &mut State) {
        state.status = Status::Failed;
        let survivors = self.world.rng.below(3).min(state.queue.len() as u64);
        for (writes, _, before) in state.queue.iter().take(survivors as usize) {
            state.unacknowledged.push((writes.clone(), before.clone()));
        }
        self.world.trace(format!(
            "storage fails, {survivors} failed commits are durable nevertheless"
        ));
    }

    /// Keeps the first few commits in flight, without an acknowledgement.
    fn keep_survivors(&self, state: &mut State) -> u64 {
        let count = self.world.rng.below(4).min(state.queue.len() as u64);
        for _ in 0..count {
            if let Some((writes, done, before)) = state.queue.pop_front() {
                state.never_called.push(done);
                state.unacknowledged.push((writes, before));
            }
        }
        count
    }

    fn write(&self, writes: Writes, before: &Before) {
        let trace = self.world.record_commit(&writes, before);
        trace.into_iter().for_each(|line| self.world.trace(line));
        let done = Box::new(|outcome: Result<(), EngineError>| drop(outcome));
        self.inner.submit(Commit { writes, done });
    }
}

impl Layer for Disk {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner) as _
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn wrap_round(&self, round: Box<dyn Round>) -> Box<dyn Round> {
        // An engine with a shared database decides again when its commit conflicts.
        match self.world.rng.below(4) {
            0 => Box::new(DecidedTwice(round)),
            _ => round,
        }
    }

    fn submit(&self, commit: Commit) {
        let before = self.world.model.lock().before();
        let mut state = self.state.lock();
        match state.status {
            Status::Alive => {
                state.queue.push_back((commit.writes, commit.done, before));
                drop(state);
                self.arrived.notify_one();
            }
            Status::Failed => {
                drop(state);
                (commit.done)(Err(EngineError::Stopped));
            }
            Status::Dead => state.never_called.push(commit.done),
        }
    }

    fn close(&self) {
        Disk::close(self);
    }
}
