//! Membership: a node shows that it lives, and ends the nodes that do not.

use super::adoption::adopt;
use super::beat::{Beat, Beaten, Join};
use super::rescue::{Declare, Moved, PutBack};
use crate::fail_stop::FailStop;
use crate::node::{BEAT, NodeContext, SeenNode};
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

/// How often a node that leaves looks whether it has given its locks back.
const LOOK_AT_LOCKS: Duration = Duration::from_millis(20);
/// How long it does so. A node that has a lock even then is taken for dead by the others, and nothing of it is committed any more.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// A node among the others.
pub struct Membership {
    pub node: Arc<NodeContext>,
    pub store: Store,
    pub queues: Arc<JobQueues>,
    pub stats: Arc<Stats>,
    pub fail_stop: FailStop,
}

/// The beat of another node, and since when it stands there by this node's clock.
struct Seen {
    beat: u64,
    since: Instant,
}

/// What a beat has found of the others.
#[derive(Clone, Default)]
struct Suspects {
    /// Nodes whose beats stand still, and where.
    still: Vec<(NodeId, u64)>,
    /// Nodes that were declared dead. The node that declared them so may have died itself.
    ended: Vec<NodeId>,
}

impl Membership {
    /// Joins the nodes, and then runs for as long as the process. The process must end when another node has taken it for dead.
    pub async fn run(self) {
        if let Err(error) = self.stay().await {
            self.fail_stop.trip(error.to_string());
        }
    }

    async fn stay(&self) -> Result<(), StoreError> {
        adopt(&self.store).await?;
        self.node.note_adoption();
        let own = self.node.id;
        let sent = Instant::now();
        let join = Join {
            node: own,
            process: self.node.process.clone(),
        };
        decide(&self.store, join).await?;
        self.node.confirm(sent);
        self.node.take.notify_one();
        let (found, suspects) = watch::channel(Suspects::default());
        // Side by side: a rescue waits for a record that a late node may hold, and this node must show meanwhile that it lives.
        tokio::select! {
            ended = self.beat(sent, found) => ended,
            ended = self.rescue(suspects) => ended,
        }
    }

    /// Shows that the node lives, and watches the others.
    async fn beat(
        &self,
        joined: Instant,
        found: watch::Sender<Suspects>,
    ) -> Result<(), StoreError> {
        let own = self.node.id;
        let mut others: HashMap<NodeId, Seen> = HashMap::new();
        let mut confirmed = joined;
        loop {
            sleep(BEAT).await;
            let sent = Instant::now();
            let beat = Beat {
                node: own,
                is_leaving: self.node.is_leaving(),
                running: self.queues.depths().running as u64,
            };
            let nodes = match decide(&self.store, beat).await? {
                Beaten::Alive(nodes) => nodes,
                Beaten::Dead => {
                    let reason = "another node has taken this one for dead, because its beat stood still; its jobs go on there";
                    self.fail_stop.trip(reason.to_owned());
                    return Ok(());
                }
            };
            // A node that saw nothing for a while takes no other for dead: what stood still may have been its own view.
            if sent.duration_since(confirmed) + sent.elapsed() > self.node.dead_after {
                others.clear();
            }
            confirmed = sent;
            self.node.confirm(sent);
            let ended = nodes.iter().filter(|(_, node)| node.has_ended);
            let ended = ended.map(|(id, _)| *id).collect();
            let still = still(&mut others, &nodes, own, self.node.dead_after);
            found.send_replace(Suspects { still, ended });
            self.node.note(seen(&others, nodes, sent));
            // Jobs that another node has queued are looked for at least this often.
            self.node.take.notify_one();
        }
    }

    /// Ends the nodes whose beats stand still.
    async fn rescue(&self, mut suspects: watch::Receiver<Suspects>) -> Result<(), StoreError> {
        while suspects.changed().await.is_ok() {
            let Suspects { still, ended } = suspects.borrow_and_update().clone();
            for (id, beat) in still {
                self.declare(id, beat).await?;
            }
            for id in ended {
                self.put_back(id).await?;
            }
        }
        Ok(())
    }

    async fn declare(&self, dead: NodeId, beat: u64) -> Result<(), StoreError> {
        let by = self.node.id;
        if decide(&self.store, Declare { dead, beat, by }).await? {
            tracing::warn!(node = %dead, "a node is taken for dead, because its beat stands still");
            self.stats.nodes.takeovers.fetch_add(1, Ordering::Relaxed);
            self.put_back(dead).await?;
        }
        Ok(())
    }

    /// Has the jobs of a node go on that was declared dead.
    async fn put_back(&self, dead: NodeId) -> Result<(), StoreError> {
        if let Some(jobs) = put_back(&self.store, dead, false).await? {
            tracing::info!(node = %dead, jobs, "the jobs of a dead node go on");
            let put_back = &self.stats.nodes.jobs_put_back;
            put_back.fetch_add(jobs as u64, Ordering::Relaxed);
            self.node.take.notify_one();
        }
        Ok(())
    }
}

/// Has a node leave that takes no more: the jobs that it still has go on at others.
///
/// # Errors
/// The engine fails.
pub async fn leave(store: &Store, node: NodeId) -> Result<(), StoreError> {
    put_back(store, node, true).await.map(drop)
}

/// Returns how many jobs were put back, or `None` where others do it.
async fn put_back(
    store: &Store,
    node: NodeId,
    is_leaving: bool,
) -> Result<Option<usize>, StoreError> {
    let mut total = 0;
    let until = Instant::now() + LEAVE_WITHIN;
    loop {
        match decide(store, PutBack { node, is_leaving }).await? {
            Moved::Some(jobs) => total += jobs,
            // The call under way that has the lock gives it back soon.
            Moved::Locked(jobs) => {
                total += jobs;
                if Instant::now() >= until {
                    return Ok(None);
                }
                sleep(LOOK_AT_LOCKS).await;
            }
            Moved::All(jobs) => return Ok(Some(total + jobs)),
            Moved::None => return Ok(None),
        }
    }
}

/// Notes the beats of the other nodes, and returns the nodes whose beats have stood still for too long.
fn still(
    seen: &mut HashMap<NodeId, Seen>,
    nodes: &[(NodeId, Node)],
    own: NodeId,
    dead_after: Duration,
) -> Vec<(NodeId, u64)> {
    let now = Instant::now();
    seen.retain(|id, _| nodes.iter().any(|(other, _)| other == id));
    let mut dead = Vec::new();
    for (id, node) in nodes.iter().filter(|(id, it)| *id != own && !it.has_ended) {
        let beat = node.beat;
        let known = seen.entry(*id).or_insert(Seen { beat, since: now });
        if known.beat != beat {
            *known = Seen { beat, since: now };
        } else if now.duration_since(known.since) >= dead_after {
            dead.push((*id, beat));
        }
    }
    dead
}

/// All nodes, each with the moment since when its beat stands there. A node that has ended has no beat any more.
fn seen(
    others: &HashMap<NodeId, Seen>,
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
    async fn the_age_of_a_beat_is_that_of_the_observers_clock() {
        let (own, other) = (node(1, 0), node(2, 7));
        let mut others = HashMap::new();
        let mut look = |nodes: &[(NodeId, Node)]| {
            let dead = still(&mut others, nodes, own.0, DEAD_AFTER);
            let ages = seen(&others, nodes.to_vec(), Instant::now());
            let ages: Vec<u64> = ages.iter().map(|it| it.since.elapsed().as_secs()).collect();
            (dead, ages)
        };
        assert_eq!(look(&[own.clone(), other.clone()]), (vec![], vec![0, 0]));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(look(&[own.clone(), other.clone()]), (vec![], vec![0, 2]));
        tokio::time::advance(Duration::from_secs(1)).await;
        let dead = vec![(other.0, 7)];
        assert_eq!(look(&[own.clone(), other]), (dead, vec![0, 3]));
        assert_eq!(look(&[own.clone(), node(2, 8)]), (vec![], vec![0, 0]));
    }
}
