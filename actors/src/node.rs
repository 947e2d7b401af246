//! The state of this process as a node, if several processes share one store.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};
use tokio::sync::Notify;
use tokio::time::Instant;

pub const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);

/// May a node begin runs and attempts?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Its first heartbeat is not confirmed yet.
    Joining,
    Trusted,
    /// Its last heartbeat was confirmed so long ago that another node may declare it dead.
    Doubtful {
        since: Duration,
    },
    /// It takes no more jobs and is about to end.
    Leaving,
}

/// A node as this one saw it last.
#[derive(Clone, Debug)]
pub struct SeenNode {
    pub id: NodeId,
    pub node: Node,
    /// When its heartbeat counter last changed, by this node's clock, without gaps that this node did not see. For this node, and for
    /// ended ones, the time of the last confirmed heartbeat of this node.
    pub since: Instant,
}

/// This process as a node.
pub struct NodeContext {
    pub id: NodeId,
    pub process: NodeProcess,
    /// A node without a heartbeat for this time is declared dead.
    pub dead_after: Duration,
    /// A slot may be free, or the shared queue may have a job.
    pub take: Notify,
    /// Held during each take. After [`begin_to_leave`](Self::begin_to_leave), its next holder knows that no more jobs are taken.
    pub taking: tokio::sync::Mutex<()>,
    /// When the last confirmed heartbeat of this node was sent.
    confirmed: Mutex<Option<Instant>>,
    is_leaving: AtomicBool,
    has_adopted: AtomicBool,
    /// All nodes, as of the last confirmed heartbeat.
    seen: Mutex<Vec<SeenNode>>,
    joined: Notify,
}

impl NodeContext {
    pub fn new(id: NodeId, dead_after: Duration) -> Self {
        Self {
            id,
            process: NodeProcess::default(),
            dead_after,
            take: Notify::new(),
            taking: tokio::sync::Mutex::default(),
            confirmed: Mutex::default(),
            is_leaving: AtomicBool::new(false),
            has_adopted: AtomicBool::new(false),
            seen: Mutex::default(),
            joined: Notify::new(),
        }
    }

    /// Adds the description of the process for the operator.
    pub fn with_process(self, process: NodeProcess) -> Self {
        Self { process, ..self }
    }

    pub fn mark_adopted(&self) {
        self.has_adopted.store(true, Ordering::Relaxed);
    }

    /// Is the store converted to a shared one? Before that, no account decides.
    pub fn has_adopted(&self) -> bool {
        self.has_adopted.load(Ordering::Relaxed)
    }

    /// Confirms the heartbeat that was sent at this time.
    pub fn confirm(&self, sent: Instant) {
        *self.confirmed.lock() = Some(sent);
        self.joined.notify_waiters();
    }

    /// Waits for the first confirmed heartbeat.
    pub async fn joined(&self) {
        let joined = self.joined.notified();
        if self.confirmed.lock().is_none() {
            joined.await;
        }
    }

    /// Is the last confirmed heartbeat so recent that no other node can have declared this one dead? If not, this node must not begin
    /// anything.
    pub fn is_trusted(&self) -> bool {
        let span = self.dead_after.saturating_sub(HEARTBEAT_INTERVAL);
        self.confirmed.lock().is_some_and(|it| it.elapsed() < span)
    }

    /// From now on no take begins that moves jobs to this node. The next heartbeat reports to the others that the node leaves.
    pub fn begin_to_leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
    }

    pub fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }

    pub fn state(&self) -> NodeState {
        let confirmed = *self.confirmed.lock();
        match confirmed {
            _ if self.is_leaving() => NodeState::Leaving,
            None => NodeState::Joining,
            Some(_) if self.is_trusted() => NodeState::Trusted,
            Some(confirmed) => NodeState::Doubtful {
                since: confirmed.elapsed(),
            },
        }
    }

    pub fn set_nodes(&self, nodes: Vec<SeenNode>) {
        *self.seen.lock() = nodes;
    }

    /// All nodes, including this one, as of the last confirmed heartbeat.
    pub fn nodes(&self) -> Vec<SeenNode> {
        self.seen.lock().clone()
    }

    /// The number of nodes that take jobs, always including this one.
    pub fn count(&self) -> usize {
        let seen = self.seen.lock();
        let take = seen.iter().map(|it| &it.node);
        let take = take.filter(|it| !it.has_ended && !it.is_leaving);
        take.count().max(1)
    }
}
