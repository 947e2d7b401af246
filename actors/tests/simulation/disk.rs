//! The disk: an engine in memory that takes its time, and that dies or fails at a chosen commit.
//!
//! A commit is shown and answered when it is durable, and not before. At a crash the commits that are on their way are lost,
//! but for the first few that chance lets come through; nobody is answered.

use crate::model::Before;
use crate::world::World;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tintype_storage::engine::{
    Commit, Done, Engine, EngineError, Holds, Key, OnFailure, Round, Value,
};
use tintype_storage::testing::layer::{DecidedTwice, Layer};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::Notify;
use tokio::time::sleep;

/// What the disk holds.
pub type Image = BTreeMap<Key, Value>;
type Writes = Vec<(Key, Option<Value>)>;

/// How the disk of a life ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doom {
    /// Not at all.
    None,
    /// The process dies when this commit of its life is about to be written.
    Crash(u64),
    /// This commit of its life, and all later ones, fail.
    Fail(u64),
}

/// The engine of one life.
pub struct Disk {
    inner: Arc<MemoryEngine>,
    holds: Arc<Holds>,
    world: World,
    state: Mutex<State>,
    arrived: Notify,
    /// Hears of the crash.
    pub crashed: Notify,
    on_failure: OnFailure,
}

#[derive(PartialEq, Eq)]
enum Standing {
    Alive,
    Failed,
    Dead,
}

struct State {
    queue: VecDeque<(Writes, Done, Before)>,
    doom: Doom,
    durable: u64,
    standing: Standing,
    /// Came through although their callers heard of a failure: found by the next life.
    hidden: Vec<(Writes, Before)>,
    /// Callbacks that a dead process does not call. Not let go of either, for that alone would tell those who wait.
    never_called: Vec<Done>,
}

impl Disk {
    pub fn new(world: &World, image: Image, doom: Doom, on_failure: OnFailure) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::new(MemoryEngine::from_image(image)),
            holds: Arc::default(),
            world: world.clone(),
            state: Mutex::new(State {
                queue: VecDeque::new(),
                doom,
                durable: 0,
                standing: Standing::Alive,
                hidden: Vec::new(),
                never_called: Vec::new(),
            }),
            arrived: Notify::new(),
            crashed: Notify::new(),
            on_failure,
        })
    }

    /// The process dies at this commit from now on.
    pub fn dies_at(&self, commit: u64) {
        let mut state = self.state.lock();
        state.doom = Doom::Crash(state.durable + commit);
    }

    /// Nothing is on its way.
    pub fn is_quiet(&self) -> bool {
        self.state.lock().queue.is_empty()
    }

    /// Writes what is on its way, as the orderly end of an engine does. The process may die of that as well.
    pub fn close(&self) {
        while self.write_group(usize::MAX) {}
        // What a crash lets through is still to be written.
        if self.state.lock().standing == Standing::Alive {
            self.inner.close();
        }
    }

    /// The process dies now.
    pub fn crash(&self) {
        let mut state = self.state.lock();
        if state.standing == Standing::Alive {
            let came_through = self.come_through(&mut state);
            self.world.tell(format!(
                "crash, {came_through} commits came through unanswered"
            ));
            state.standing = Standing::Dead;
            let mut model = self.world.model.lock();
            if model.stopping {
                model.count("crashes within a stop");
            }
        }
        drop(state);
        self.crashed.notify_one();
    }

    /// What the next life finds. Ends this one.
    pub fn image(&self) -> Image {
        let mut state = self.state.lock();
        state.standing = Standing::Dead;
        let lost: Vec<Done> = state.queue.drain(..).map(|(_, done, _)| done).collect();
        state.never_called.extend(lost);
        for (writes, before) in std::mem::take(&mut state.hidden) {
            self.write(writes, &before);
        }
        self.inner.image()
    }

    /// Runs for as long as the life does.
    pub async fn run(self: Arc<Self>) {
        loop {
            while self.is_quiet() {
                self.arrived.notified().await;
            }
            let chance = &self.world.chance;
            sleep(match chance.below(20) {
                0 if !self.world.is_calm() => chance.millis(50, 900),
                1..6 => chance.millis(0, 1),
                _ => chance.millis(1, 8),
            })
            .await;
            let most = 1 + chance.below(6) as usize;
            self.write_group(most);
        }
    }

    /// Makes the next commits durable, shows them, then answers them. Returns whether there were any.
    fn write_group(&self, most: usize) -> bool {
        let mut state = self.state.lock();
        let mut answers: Vec<Done> = Vec::new();
        while answers.len() < most && state.standing == Standing::Alive && !state.queue.is_empty() {
            let number = state.durable + 1;
            match state.doom {
                Doom::Crash(at) if at == number => {
                    // Those of its group that were written before it are not answered any more either.
                    state.never_called.append(&mut answers);
                    drop(state);
                    self.crash();
                    return false;
                }
                Doom::Fail(at) if at == number => {
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
        let refused: Vec<Done> = match state.standing {
            Standing::Failed => state.queue.drain(..).map(|(_, done, _)| done).collect(),
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
        state.standing = Standing::Failed;
        let came_through = self.world.chance.below(3).min(state.queue.len() as u64);
        for (writes, _, before) in state.queue.iter().take(came_through as usize) {
            state.hidden.push((writes.clone(), before.clone()));
        }
        self.world.tell(format!(
            "storage fails, {came_through} commits are on the disk all the same"
        ));
    }

    /// Writes the first few of what is on its way, unseen.
    fn come_through(&self, state: &mut State) -> u64 {
        let count = self.world.chance.below(4).min(state.queue.len() as u64);
        for _ in 0..count {
            if let Some((writes, done, before)) = state.queue.pop_front() {
                state.never_called.push(done);
                state.hidden.push((writes, before));
            }
        }
        count
    }

    fn write(&self, writes: Writes, before: &Before) {
        let told = self.world.note_commit(&writes, before);
        told.into_iter().for_each(|line| self.world.tell(line));
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
        // An engine that shares its database has to decide again when it loses a commit.
        match self.world.chance.below(4) {
            0 => Box::new(DecidedTwice(round)),
            _ => round,
        }
    }

    fn submit(&self, commit: Commit) {
        let before = self.world.model.lock().before();
        let mut state = self.state.lock();
        match state.standing {
            Standing::Alive => {
                state.queue.push_back((commit.writes, commit.done, before));
                drop(state);
                self.arrived.notify_one();
            }
            Standing::Failed => {
                drop(state);
                (commit.done)(Err(EngineError::Stopped));
            }
            Standing::Dead => state.never_called.push(commit.done),
        }
    }

    fn close(&self) {
        Disk::close(self);
    }
}
