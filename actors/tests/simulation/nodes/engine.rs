//! The engine of one node: its commits take their time, its connection breaks, and what it holds is let go of when it stands still.

use super::shared::Shared;
use crate::chance::Chance;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{Ask, Commit, Engine, EngineError, Holds, Key, Round, Seen, Verdict};
use tintype_storage::store::tables::NODES;
use tintype_storage::testing::layer::{DecidedTwice, Layer};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// What becomes of a node that stands still for long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Still {
    /// Its connections break, and what it had under way is lost.
    Breaks,
    /// The connection of its beats breaks. Other commits are on the wire still, and arrive late.
    LosesBeats,
    /// Everything arrives late.
    IsLate,
}

/// The store lets go of what a node holds that says nothing for so long.
const PATIENCE: Duration = Duration::from_secs(2);

pub struct NodeEngine {
    pub id: NodeId,
    shared: Arc<Shared>,
    chance: Chance,
    state: Mutex<State>,
    arrived: Notify,
    /// The node that the round fences that decides at the moment.
    fence: Arc<Mutex<Option<NodeId>>>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Commit, Option<NodeId>)>,
    /// Nothing of this node arrives any more.
    is_cut: bool,
    has_lost_beats: bool,
    still: Option<(Instant, Still)>,
}

impl NodeEngine {
    pub fn new(id: NodeId, shared: &Arc<Shared>, chance: &Chance) -> Arc<Self> {
        Arc::new(Self {
            id,
            shared: Arc::clone(shared),
            chance: chance.clone(),
            state: Mutex::default(),
            arrived: Notify::new(),
            fence: Arc::default(),
        })
    }

    /// The node dies. Of the commits that are on their way some come through, unanswered.
    pub fn cut(&self) {
        let (mut lost, through) = {
            let mut state = self.state.lock();
            state.is_cut = true;
            let through = self.chance.below(state.queue.len() as u64 + 1) as usize;
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
        // Dropped: the store lets go of what the rounds hold.
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
        // The store lets go of what these rounds hold.
        drop(lost);
    }

    /// The node stands still for so long.
    pub fn stand_still(&self, span: Duration, still: Still) {
        self.state.lock().still = Some((Instant::now() + span, still));
    }

    fn still(&self) -> Option<(Instant, Still)> {
        let state = self.state.lock();
        state.still.filter(|(until, _)| *until > Instant::now())
    }

    /// Has the connection broken for good?
    pub fn is_cut(&self) -> bool {
        self.state.lock().is_cut
    }

    /// Runs for as long as the story does.
    pub async fn run(self: Arc<Self>) {
        loop {
            while self.state.lock().queue.is_empty() {
                self.arrived.notified().await;
            }
            if self.chance.one_in(2) {
                sleep(self.chance.millis(0, 4)).await;
            }
            if let Some((until, still)) = self.still() {
                if until - Instant::now() >= PATIENCE && still != Still::IsLate {
                    sleep(PATIENCE).await;
                    if still == Still::Breaks {
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
        self.shared.memory.submit(commit);
        let may_die = is_fencing && !self.shared.is_calm() && !self.is_cut();
        if may_die && self.chance.one_in(4) {
            self.shared
                .tell(format!("{} dies as it has fenced", self.id));
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

    fn wrap_round(&self, round: Box<dyn Round>) -> Box<dyn Round> {
        let round: Box<dyn Round> = match self.chance.one_in(3) {
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

/// A round that leaves word of whom it fences. Its commit is submitted right after its decision.
struct NotesFence {
    round: Box<dyn Round>,
    fence: Arc<Mutex<Option<NodeId>>>,
}

impl Round for NotesFence {
    fn holds(&self) -> Vec<Key> {
        self.round.holds()
    }

    fn needs(&self) -> Vec<Ask> {
        self.round.needs()
    }

    fn decide(&mut self, seen: &Seen) -> Verdict {
        let verdict = self.round.decide(seen);
        *self.fence.lock() = self.round.fences();
        verdict
    }

    fn done(self: Box<Self>, outcome: Result<(), EngineError>) {
        self.round.done(outcome);
    }
}
