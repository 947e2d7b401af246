//! The engine of one node: its commits have latency, its connection breaks, and the store releases its locks when it stalls.

use super::shared::SharedState;
use crate::rng::Rng;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::adoption::Adoption;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{
    Commit, Engine, EngineError, Holds, Key, ReadRequest, ReadResults, Round, RoundStep,
};
use tintype_storage::store::tables::{ADOPTION, NODES};
use tintype_storage::testing::layer::{DecidedTwice, Layer};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// What happens to the commits of a node that stalls for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// The connections break, and commits in flight are lost.
    Breaks,
    /// The connection of the heartbeats breaks. Other commits arrive late.
    LosesBeats,
    /// All commits arrive late.
    IsLate,
}

/// The store releases the locks of a node that is silent for this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

pub struct NodeEngine {
    pub id: NodeId,
    shared: Arc<SharedState>,
    rng: Rng,
    state: Mutex<State>,
    arrived: Notify,
    /// The node that the deciding round fences.
    fence: Arc<Mutex<Option<NodeId>>>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Commit, Option<NodeId>)>,
    /// The connection is broken for good.
    is_cut: bool,
    has_lost_beats: bool,
    stall: Option<(Instant, Stall)>,
    /// The connection is broken until this moment.
    away_until: Option<Instant>,
    /// Rounds that begin once the connection is back.
    kept_back: Vec<Box<dyn Round>>,
}

impl NodeEngine {
    pub fn new(id: NodeId, shared: &Arc<SharedState>, rng: &Rng) -> Arc<Self> {
        Arc::new(Self {
            id,
            shared: Arc::clone(shared),
            rng: rng.clone(),
            state: Mutex::default(),
            arrived: Notify::new(),
            fence: Arc::default(),
        })
    }

    /// Kills the node. Some commits in flight become durable without an acknowledgement.
    pub fn cut(&self) {
        let (mut lost, through) = {
            let mut state = self.state.lock();
            state.is_cut = true;
            let through = self.rng.below(state.queue.len() as u64 + 1) as usize;
            (std::mem::take(&mut state.queue), through)
        };
        for (commit, fence) in lost.drain(..through) {
            let unanswered = Commit {
                writes: commit.writes.clone(),
                done: Box::new(|_| {}),
            };
            self.apply(unanswered, fence);
            drop(commit);
        }
        // Dropping the rounds releases their locks.
        drop(lost);
    }

    fn lose_beats(&self) {
        let mut state = self.state.lock();
        state.has_lost_beats = true;
        let all = std::mem::take(&mut state.queue);
        let (lost, kept): (VecDeque<_>, VecDeque<_>) =
            all.into_iter().partition(|(commit, _)| is_beat(commit));
        state.queue = kept;
        drop(state);
        // Dropping these rounds releases their locks.
        drop(lost);
    }

    pub fn stall(&self, span: Duration, stall: Stall) {
        self.state.lock().stall = Some((Instant::now() + span, stall));
    }

    /// Commits everything in flight. Returns whether there was anything.
    pub fn flush(&self) -> bool {
        let queue = std::mem::take(&mut self.state.lock().queue);
        let had_any = !queue.is_empty();
        for (commit, fence) in queue {
            self.apply(commit, fence);
        }
        had_any
    }

    /// Breaks the connection for a while. Unlike in a stall, the node holds no lock meanwhile, and loses nothing.
    pub fn disconnect(self: Arc<Self>, until: Instant) {
        self.state.lock().away_until = Some(until);
        actix::spawn(async move {
            sleep_until(until).await;
            let rounds = {
                let mut state = self.state.lock();
                if state.away_until != Some(until) {
                    // The next outage has begun.
                    return;
                }
                state.away_until = None;
                std::mem::take(&mut state.kept_back)
            };
            for round in rounds {
                Arc::clone(&self).round(round);
            }
        });
    }

    fn current_stall(&self) -> Option<(Instant, Stall)> {
        let state = self.state.lock();
        state.stall.filter(|(until, _)| *until > Instant::now())
    }

    pub fn is_cut(&self) -> bool {
        self.state.lock().is_cut
    }

    /// Runs until the end of the scenario.
    pub async fn run(self: Arc<Self>) {
        loop {
            while self.state.lock().queue.is_empty() {
                self.arrived.notified().await;
            }
            if self.rng.one_in(2) {
                sleep(self.rng.millis(0, 4)).await;
            }
            let away_until = self.state.lock().away_until;
            if let Some(until) = away_until {
                sleep_until(until).await;
            }
            if let Some((until, stall)) = self.current_stall() {
                if until - Instant::now() >= IDLE_TIMEOUT && stall != Stall::IsLate {
                    sleep(IDLE_TIMEOUT).await;
                    if stall == Stall::Breaks {
                        self.cut();
                        continue;
                    }
                    self.lose_beats();
                }
                sleep(until - Instant::now()).await;
            }
            let next = self.state.lock().queue.pop_front();
            if let Some((commit, fence)) = next {
                self.apply(commit, fence);
            }
        }
    }

    fn apply(&self, commit: Commit, fence: Option<NodeId>) {
        if self.shared.is_fenced(self.id) {
            self.shared.count("commits refused after a fence");
            return (commit.done)(Err(EngineError::Stopped));
        }
        let is_fencing = fence.is_some();
        if let Some(node) = fence {
            self.shared.fence(node);
        }
        self.shared.committed(self.id, &commit.writes);
        let ends_adoption = commit.writes.contains(&ADOPTION.put(&(), &Adoption::Done));
        self.shared.memory.submit(commit);
        if ends_adoption {
            self.shared.verify();
        }
        let may_die = is_fencing && !self.shared.is_calm() && !self.is_cut();
        if may_die && self.rng.one_in(4) {
            self.shared
                .trace(format!("{} dies after it has fenced a node", self.id));
            self.shared.count("nodes died after a fence");
            self.shared.died(self.id);
            self.cut();
        }
    }
}

impl Layer for NodeEngine {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.shared.memory) as Arc<dyn Engine>
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.shared.holds
    }

    fn admit_round(&self, round: Box<dyn Round>) -> Option<Box<dyn Round>> {
        let mut state = self.state.lock();
        if state.away_until.is_none() {
            return Some(round);
        }
        state.kept_back.push(round);
        None
    }

    fn wrap_round(&self, round: Box<dyn Round>) -> Box<dyn Round> {
        let round: Box<dyn Round> = match self.rng.one_in(3) {
            true => Box::new(DecidedTwice(round)),
            false => round,
        };
        Box::new(NotesFence {
            round,
            fence: Arc::clone(&self.fence),
        })
    }

    fn submit(&self, commit: Commit) {
        let fence = self.fence.lock().take();
        let mut state = self.state.lock();
        if state.is_cut || state.has_lost_beats && is_beat(&commit) {
            drop(state);
            return drop(commit);
        }
        state.queue.push_back((commit, fence));
        drop(state);
        self.arrived.notify_one();
    }
}

fn is_beat(commit: &Commit) -> bool {
    let of_node = |key: &Key| NODES.read_key(key).is_some();
    commit.writes.iter().any(|(key, _)| of_node(key))
}

/// Reports the node that a round fences. The commit of the round is submitted right after its decision.
struct NotesFence {
    round: Box<dyn Round>,
    fence: Arc<Mutex<Option<NodeId>>>,
}

impl Round for NotesFence {
    fn locked_keys(&self) -> Vec<Key> {
        self.round.locked_keys()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        self.round.initial_reads()
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        let step = self.round.decide(reads);
        *self.fence.lock() = self.round.fences();
        step
    }

    fn done(self: Box<Self>, outcome: Result<(), EngineError>) {
        self.round.done(outcome);
    }
}
