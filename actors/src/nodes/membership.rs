//! Membership: a node sends heartbeats, and takes over from nodes whose heartbeats have stopped.

use super::adoption::adopt;
use super::heartbeat::{Heartbeat, HeartbeatOutcome, Join};
use super::takeover::{DeclareDead, Departure, Requeue, RequeueOutcome};
use crate::node::{HEARTBEAT_INTERVAL, NodeContext, SeenNode};
use crate::process_context::ProcessContext;
use crate::queue::LocalQueue;
use crate::round::decide;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::Node;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{Store, StoreError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// A leaving node checks this often whether it has released its locks.
const LOCK_POLL: Duration = Duration::from_millis(20);
/// After an outage of the database, a living node sends a heartbeat within this time: its engine pauses for up to a third of
/// a second before it reconnects, and again if a commit was interrupted. The rest is for the connections.
const RECONNECT_TIME: Duration = Duration::from_millis(2_500);
/// Maximum reconnect time if packets were lost: TCP doubles the pauses between its retransmissions, so the next one may come as late
/// after the outage as the outage lasted.
const MAX_RECONNECT_TIME: Duration = Duration::from_secs(10);
/// How many long gaps in a row give a silent node the time to reconnect.
const MAX_RECONNECTS: u32 = 3;

pub struct Membership {
    pub node: Arc<NodeContext>,
    pub process: Arc<ProcessContext>,
    pub local_queue: Arc<LocalQueue>,
}

/// The other nodes, as this node has seen them.
struct OtherNodes {
    last_beats: HashMap<NodeId, LastBeat>,
    looked: Instant,
}

/// The heartbeat counter of another node.
struct LastBeat {
    beat: u64,
    /// When the counter last changed, by this node's clock. A [`LongGap`] moves it later, so it may be in the future.
    since: Instant,
    /// Long gaps since the counter last changed.
    gaps: u32,
}

impl LastBeat {
    fn new(beat: u64, since: Instant) -> Self {
        Self {
            beat,
            since,
            gaps: 0,
        }
    }
}

#[derive(Clone, Default)]
struct TakeoverCandidates {
    /// Nodes whose heartbeats have stopped, with their last counters.
    silent: Vec<(NodeId, u64)>,
    /// Nodes that are already declared dead. The node that declared them may have died before it requeued their jobs.
    dead: Vec<NodeId>,
}

impl Membership {
    /// Joins the nodes, and runs until it is aborted. Trips the fail-stop if another node has declared this one dead.
    pub async fn run(self) {
        if let Err(error) = self.participate().await {
            self.process.fail_stop.trip(error.to_string());
        }
    }

    async fn participate(&self) -> Result<(), StoreError> {
        adopt(&self.process.store).await?;
        self.node.mark_adopted();
        let own = self.node.id;
        let sent = Instant::now();
        let join = Join {
            node: own,
            process: self.node.process.clone(),
        };
        let nodes = decide(&self.process.store, join).await?;
        let others = OtherNodes::since(sent);
        // The process serves calls once it has joined, and lists the nodes from then on.
        self.node.set_nodes(others.seen_nodes(nodes, sent));
        self.node.confirm(sent);
        self.node.take.notify_one();
        let (reported, candidates) = watch::channel(TakeoverCandidates::default());
        // Concurrently: a takeover may wait for a record that a late node holds, and this node must send heartbeats meanwhile.
        tokio::select! {
            ended = self.send_heartbeats(others, reported) => ended,
            ended = self.take_over(candidates) => ended,
        }
    }

    /// Sends heartbeats, and watches those of the others.
    async fn send_heartbeats(
        &self,
        mut others: OtherNodes,
        candidates: watch::Sender<TakeoverCandidates>,
    ) -> Result<(), StoreError> {
        let own = self.node.id;
        loop {
            sleep(HEARTBEAT_INTERVAL).await;
            let sent = Instant::now();
            let heartbeat = Heartbeat {
                node: own,
                is_leaving: self.node.is_leaving(),
                running: self.local_queue.in_progress() as u64,
            };
            let nodes = match decide(&self.process.store, heartbeat).await? {
                HeartbeatOutcome::Alive(nodes) => nodes,
                HeartbeatOutcome::DeclaredDead => {
                    self.process.fail_stop.trip(EngineError::Fenced.to_string());
                    return Ok(());
                }
            };
            self.node.confirm(sent);
            let dead = nodes.iter().filter(|(_, node)| node.has_ended);
            let dead = dead.map(|(id, _)| *id).collect();
            let silent = others.observe(&nodes, own, self.node.dead_after);
            candidates.send_replace(TakeoverCandidates { silent, dead });
            self.node.set_nodes(others.seen_nodes(nodes, sent));
            // Looks for jobs that another node has queued.
            self.node.take.notify_one();
        }
    }

    async fn take_over(
        &self,
        mut candidates: watch::Receiver<TakeoverCandidates>,
    ) -> Result<(), StoreError> {
        while candidates.changed().await.is_ok() {
            let TakeoverCandidates { silent, dead } = candidates.borrow_and_update().clone();
            for (id, beat) in silent {
                self.declare_dead(id, beat).await?;
            }
            for id in dead {
                self.requeue_jobs(id).await?;
            }
        }
        Ok(())
    }

    async fn declare_dead(&self, dead: NodeId, beat: u64) -> Result<(), StoreError> {
        let by = self.node.id;
        if decide(&self.process.store, DeclareDead { dead, beat, by }).await? {
            tracing::warn!(node = %dead, "declared a node dead, because its heartbeats have stopped");
            let takeovers = &self.process.stats.nodes.takeovers;
            takeovers.fetch_add(1, Ordering::Relaxed);
            self.requeue_jobs(dead).await?;
        }
        Ok(())
    }

    async fn requeue_jobs(&self, dead: NodeId) -> Result<(), StoreError> {
        if let Some(jobs) = requeue_jobs(&self.process.store, dead, Departure::Dead).await? {
            tracing::info!(node = %dead, jobs, "the jobs of a dead node are queued again");
            let put_back = &self.process.stats.nodes.jobs_put_back;
            put_back.fetch_add(jobs as u64, Ordering::Relaxed);
            self.node.take.notify_one();
        }
        Ok(())
    }
}

/// Lets the jobs that a stopping node has taken and not finished go on at other nodes.
pub async fn return_jobs(store: &Store, node: NodeId) -> Result<(), StoreError> {
    requeue_jobs(store, node, Departure::Stopping)
        .await
        .map(drop)
}

/// Removes a node that takes no more jobs, once it holds no lock. The jobs that it still has go on at other nodes.
pub async fn leave(store: &Store, node: NodeId) -> Result<(), StoreError> {
    requeue_jobs(store, node, Departure::Leaving)
        .await
        .map(drop)
}

/// Returns the number of jobs that were queued again, or `None` if another node does it.
async fn requeue_jobs(
    store: &Store,
    node: NodeId,
    departure: Departure,
) -> Result<Option<usize>, StoreError> {
    let mut total = 0;
    loop {
        match decide(store, Requeue { node, departure }).await? {
            RequeueOutcome::Partial(jobs) => total += jobs,
            // The call in flight that holds the lock releases it soon.
            RequeueOutcome::CompleteButLocked(jobs) => {
                total += jobs;
                sleep(LOCK_POLL).await;
            }
            RequeueOutcome::Complete(jobs) => return Ok(Some(total + jobs)),
            RequeueOutcome::NotRequeued => return Ok(None),
        }
    }
}

impl OtherNodes {
    fn since(looked: Instant) -> Self {
        Self {
            last_beats: HashMap::new(),
            looked,
        }
    }

    /// Updates the heartbeats of the other nodes, and returns the nodes whose heartbeats have stopped for too long.
    fn observe(
        &mut self,
        nodes: &[(NodeId, Node)],
        own: NodeId,
        dead_after: Duration,
    ) -> Vec<(NodeId, u64)> {
        let now = Instant::now();
        let gap = LongGap::between(self.looked, now, dead_after);
        self.looked = now;
        for last in self.last_beats.values_mut() {
            if let Some(gap) = &gap {
                last.since = gap.since(last);
                last.gaps += 1;
            }
        }
        // The heartbeat of a new counter may have been sent before the gap.
        let since = gap.map_or(now, |it| now.max(it.earliest()));
        self.last_beats
            .retain(|id, _| nodes.iter().any(|(other, _)| other == id));
        let mut silent = Vec::new();
        for (id, node) in nodes.iter().filter(|(id, it)| *id != own && !it.has_ended) {
            let beat = node.beat;
            let last = self
                .last_beats
                .entry(*id)
                .or_insert_with(|| LastBeat::new(beat, since));
            if last.beat != beat {
                *last = LastBeat::new(beat, since);
            } else if now.duration_since(last.since) >= dead_after {
                silent.push((*id, beat));
            }
        }
        silent
    }

    fn seen_nodes(&self, nodes: Vec<(NodeId, Node)>, confirmed: Instant) -> Vec<SeenNode> {
        let seen = |(id, node)| SeenNode {
            id,
            node,
            since: self.last_beats.get(&id).map_or(confirmed, |it| it.since),
        };
        nodes.into_iter().map(seen).collect()
    }
}

/// A gap of more than half of `dead_after` between two looks: an outage of the database may have stopped the other nodes too. A
/// shorter gap counts in full, so that takeovers continue while the database is slow. The other half is enough to reconnect after it.
struct LongGap {
    /// The later look.
    now: Instant,
    length: Duration,
    dead_after: Duration,
}

impl LongGap {
    fn between(looked: Instant, now: Instant, dead_after: Duration) -> Option<Self> {
        let length = now - looked;
        (length > dead_after / 2).then_some(Self {
            now,
            length,
            dead_after,
        })
    }

    /// The outage may have begun earlier for another node. So each node gets the time to reconnect, however old its heartbeat was.
    fn earliest(&self) -> Instant {
        let reconnect = RECONNECT_TIME.max(self.length.min(MAX_RECONNECT_TIME));
        self.now + reconnect - self.dead_after
    }

    /// From when an unchanged heartbeat counts. Outages may follow each other, so a silent node gets the time to reconnect up to
    /// [`MAX_RECONNECTS`] times. Of each further gap, half of `dead_after` counts: otherwise a database that is slow all the time
    /// would keep a dead node on record forever.
    fn since(&self, last: &LastBeat) -> Instant {
        let age = self.now.duration_since(last.since);
        let without_gap = self.now - age.saturating_sub(self.length);
        match last.gaps < MAX_RECONNECTS {
            true => self.earliest().max(without_gap - HEARTBEAT_INTERVAL),
            false => without_gap - self.dead_after / 2,
        }
    }
}

#[cfg(test)]
mod tests;
