//! What the actors of a process know of their node, where several processes share one store.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::{Node, NodeProcess};
use tokio::sync::Notify;
use tokio::time::Instant;

/// How often a node shows that it lives.
pub const BEAT: Duration = Duration::from_millis(500);

/// Does a node take jobs?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Taking {
    #[default]
    Yes,
    /// It leaves.
    NoMore,
}

/// May a node begin runs and attempts?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Its first beat is not confirmed yet.
    Joining,
    Trusted,
    /// Its last beat was confirmed so long ago that another node may take it for dead.
    Doubtful {
        since: Duration,
    },
    /// It takes no more jobs, and ends.
    Leaving,
}

/// A node as this one saw it last.
#[derive(Clone, Debug)]
pub struct SeenNode {
    pub id: NodeId,
    pub node: Node,
    /// Since when its beat stands there, by this node's clock.
    pub since: Instant,
}

/// This process among the nodes.
pub struct NodeContext {
    pub id: NodeId,
    pub process: NodeProcess,
    /// A node whose beat stands still for so long is taken for dead.
    pub dead_after: Duration,
    /// There may be a free slot, or a job in the shared queue.
    pub take: Notify,
    /// Held during each take.
    pub taking: tokio::sync::Mutex<Taking>,
    /// When this node's last confirmed beat was sent.
    confirmed: Mutex<Option<Instant>>,
    is_leaving: AtomicBool,
    has_adopted: AtomicBool,
    /// All nodes, as the last confirmed beat found them.
    seen: Mutex<Vec<SeenNode>>,
    /// The first beat has been confirmed.
    has_joined: Notify,
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
            has_joined: Notify::new(),
        }
    }

    /// Describes the process for the operator.
    pub fn of_process(self, process: NodeProcess) -> Self {
        Self { process, ..self }
    }

    /// The store is one that nodes share.
    pub fn note_adoption(&self) {
        self.has_adopted.store(true, Ordering::Relaxed);
    }

    /// Is the store known to be one that nodes share? No decision is made about an account before.
    pub fn has_adopted(&self) -> bool {
        self.has_adopted.load(Ordering::Relaxed)
    }

    /// A beat that was sent at this moment has been confirmed.
    pub fn confirm(&self, sent: Instant) {
        *self.confirmed.lock() = Some(sent);
        self.has_joined.notify_waiters();
    }

    /// Waits for the first beat to be confirmed.
    pub async fn joined(&self) {
        let has_joined = self.has_joined.notified();
        if self.confirmed.lock().is_none() {
            has_joined.await;
        }
    }

    /// Has the node been seen to live so recently that no other can have taken it for dead? Otherwise it must begin nothing.
    pub fn is_trusted(&self) -> bool {
        let span = self.dead_after.saturating_sub(BEAT);
        self.confirmed.lock().is_some_and(|it| it.elapsed() < span)
    }

    /// From the next beat on the others see that the node leaves.
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

    /// Notes what a confirmed beat has found.
    pub fn note(&self, nodes: Vec<SeenNode>) {
        *self.seen.lock() = nodes;
    }

    /// All nodes, this one included, as the last confirmed beat found them.
    pub fn nodes(&self) -> Vec<SeenNode> {
        self.seen.lock().clone()
    }

    /// How many nodes take jobs; this one counts always.
    pub fn count(&self) -> usize {
        let seen = self.seen.lock();
        let take = seen.iter().map(|it| &it.node);
        let take = take.filter(|it| !it.has_ended && !it.is_leaving);
        take.count().max(1)
    }
}
