//! Membership: a node sends heartbeats, and takes over from nodes whose heartbeats have stopped.

use super::adoption::adopt;
use super::heartbeat::{Heartbeat, HeartbeatOutcome, Join};
use super::takeover::{DeclareDead, Requeue, Requeued};
use crate::fail_stop::FailStop;
use crate::node::{HEARTBEAT_INTERVAL, NodeContext, SeenNode};
use crate::queue::JobQueues;
use crate::round::decide;
use crate::stats::Stats;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::Node;
use tintype_storage::store::{Store, StoreError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// A leaving node checks this often whether it has released its locks.
const LOCK_POLL: Duration = Duration::from_millis(20);
/// A node that still holds a lock after this time stays on record: the others declare it dead and fence it.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(10);

pub struct Membership {
    pub node: Arc<NodeContext>,
    pub store: Store,
    pub queues: Arc<JobQueues>,
    pub stats: Arc<Stats>,
    pub fail_stop: FailStop,
}

/// The heartbeat counter of another node.
struct LastBeat {
    beat: u64,
    /// When the counter last changed, by this node's clock.
    since: Instant,
}

#[derive(Clone, Default)]
struct Suspects {
    /// Nodes whose heartbeats have stopped, with their last counters.
    silent: Vec<(NodeId, u64)>,
    /// Nodes that were declared dead by a node that may have died itself.
    dead: Vec<NodeId>,
}

impl Membership {
    /// Joins the nodes, and runs until it is aborted. Trips the fail-stop if another node has declared this one dead.
    pub async fn run(self) {
        if let Err(error) = self.join().await {
            self.fail_stop.trip(error.to_string());
        }
    }

    async fn join(&self) -> Result<(), StoreError> {
        adopt(&self.store).await?;
        self.node.mark_adopted();
        let own = self.node.id;
        let sent = Instant::now();
        let join = Join {
            node: own,
            process: self.node.process.clone(),
        };
        decide(&self.store, join).await?;
        self.node.confirm(sent);
        self.node.take.notify_one();
        let (reported, suspects) = watch::channel(Suspects::default());
        // Concurrently: a takeover may wait for a record that a late node holds, and this node must send heartbeats meanwhile.
        tokio::select! {
            ended = self.send_heartbeats(sent, reported) => ended,
            ended = self.take_over(suspects) => ended,
        }
    }

    /// Sends heartbeats, and watches those of the others.
    async fn send_heartbeats(
        &self,
        joined: Instant,
        suspects: watch::Sender<Suspects>,
    ) -> Result<(), StoreError> {
        let own = self.node.id;
        let mut others: HashMap<NodeId, LastBeat> = HashMap::new();
        let mut confirmed = joined;
        loop {
            sleep(HEARTBEAT_INTERVAL).await;
            let sent = Instant::now();
            let heartbeat = Heartbeat {
                node: own,
                is_leaving: self.node.is_leaving(),
                running: self.queues.depths().running as u64,
            };
            let nodes = match decide(&self.store, heartbeat).await? {
                HeartbeatOutcome::Alive(nodes) => nodes,
                HeartbeatOutcome::DeclaredDead => {
                    let reason = "another node has declared this one dead, because its heartbeats stopped; its jobs go on there";
                    self.fail_stop.trip(reason.to_owned());
                    return Ok(());
                }
            };
            // A node that was cut off for a while starts to watch the others anew: its own view may have been the one that stood still.
            if sent.duration_since(confirmed) + sent.elapsed() > self.node.dead_after {
                others.clear();
            }
            confirmed = sent;
            self.node.confirm(sent);
            let dead = nodes.iter().filter(|(_, node)| node.has_ended);
            let dead = dead.map(|(id, _)| *id).collect();
            let silent = silent_nodes(&mut others, &nodes, own, self.node.dead_after);
            suspects.send_replace(Suspects { silent, dead });
            self.node.set_nodes(seen_nodes(&others, nodes, sent));
            // Looks for jobs that another node has queued.
            self.node.take.notify_one();
        }
    }

    async fn take_over(&self, mut suspects: watch::Receiver<Suspects>) -> Result<(), StoreError> {
        while suspects.changed().await.is_ok() {
            let Suspects { silent, dead } = suspects.borrow_and_update().clone();
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
        if decide(&self.store, DeclareDead { dead, beat, by }).await? {
            tracing::warn!(node = %dead, "declared a node dead, because its heartbeats have stopped");
            self.stats.nodes.takeovers.fetch_add(1, Ordering::Relaxed);
            self.requeue_jobs(dead).await?;
        }
        Ok(())
    }

    async fn requeue_jobs(&self, dead: NodeId) -> Result<(), StoreError> {
        if let Some(jobs) = requeue_jobs(&self.store, dead, false).await? {
            tracing::info!(node = %dead, jobs, "the jobs of a dead node are queued again");
            let put_back = &self.stats.nodes.jobs_put_back;
            put_back.fetch_add(jobs as u64, Ordering::Relaxed);
            self.node.take.notify_one();
        }
        Ok(())
    }
}

/// Removes a node that takes no more jobs. The jobs that it still has go on at other nodes.
///
/// # Errors
/// The engine fails.
pub async fn leave(store: &Store, node: NodeId) -> Result<(), StoreError> {
    requeue_jobs(store, node, true).await.map(drop)
}

/// Returns the number of jobs that were queued again, or `None` if another node does it.
async fn requeue_jobs(
    store: &Store,
    node: NodeId,
    is_leaving: bool,
) -> Result<Option<usize>, StoreError> {
    let mut total = 0;
    let until = Instant::now() + LEAVE_TIMEOUT;
    loop {
        match decide(store, Requeue { node, is_leaving }).await? {
            Requeued::Some(jobs) => total += jobs,
            // The call in flight that holds the lock releases it soon.
            Requeued::Locked(jobs) => {
                total += jobs;
                if Instant::now() >= until {
                    return Ok(None);
                }
                sleep(LOCK_POLL).await;
            }
            Requeued::All(jobs) => return Ok(Some(total + jobs)),
            Requeued::None => return Ok(None),
        }
    }
}

/// Updates the heartbeats of the other nodes, and returns the nodes whose heartbeats have stopped for too long.
fn silent_nodes(
    others: &mut HashMap<NodeId, LastBeat>,
    nodes: &[(NodeId, Node)],
    own: NodeId,
    dead_after: Duration,
) -> Vec<(NodeId, u64)> {
    let now = Instant::now();
    others.retain(|id, _| nodes.iter().any(|(other, _)| other == id));
    let mut silent = Vec::new();
    for (id, node) in nodes.iter().filter(|(id, it)| *id != own && !it.has_ended) {
        let beat = node.beat;
        let last = others.entry(*id).or_insert(LastBeat { beat, since: now });
        if last.beat != beat {
            *last = LastBeat { beat, since: now };
        } else if now.duration_since(last.since) >= dead_after {
            silent.push((*id, beat));
        }
    }
    silent
}

fn seen_nodes(
    others: &HashMap<NodeId, LastBeat>,
    nodes: Vec<(NodeId, Node)>,
    confirmed: Instant,
) -> Vec<SeenNode> {
    let seen = |(id, node)| SeenNode {
        id,
        node,
        since: others.get(&id).map_or(confirmed, |it| it.since),
    };
    nodes.into_iter().map(seen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tintype_storage::domain::node::NodeProcess;
    use uuid::Uuid;

    const DEAD_AFTER: Duration = Duration::from_secs(3);

    fn node(number: u128, beat: u64) -> (NodeId, Node) {
        let node = Node {
            beat,
            ..Node::new(NodeProcess::default())
        };
        (NodeId(Uuid::from_u128(number)), node)
    }

    #[tokio::test(start_paused = true)]
    async fn the_observers_clock_measures_the_age_of_a_heartbeat() {
        let (own, other) = (node(1, 0), node(2, 7));
        let mut others = HashMap::new();
        let mut look = |nodes: &[(NodeId, Node)]| {
            let silent = silent_nodes(&mut others, nodes, own.0, DEAD_AFTER);
            let ages = seen_nodes(&others, nodes.to_vec(), Instant::now());
            let ages: Vec<u64> = ages.iter().map(|it| it.since.elapsed().as_secs()).collect();
            (silent, ages)
        };
        assert_eq!(look(&[own.clone(), other.clone()]), (vec![], vec![0, 0]));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(look(&[own.clone(), other.clone()]), (vec![], vec![0, 2]));
        tokio::time::advance(Duration::from_secs(1)).await;
        let silent = vec![(other.0, 7)];
        assert_eq!(look(&[own.clone(), other]), (silent, vec![0, 3]));
        assert_eq!(look(&[own.clone(), node(2, 8)]), (vec![], vec![0, 0]));
    }
}
