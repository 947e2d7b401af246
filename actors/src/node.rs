//! What the actors of a process know of their node, where several processes share one store.

use parking_lot::Mutex;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
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

/// This process among the nodes.
pub struct NodeContext {
    pub id: NodeId,
    /// A node whose beat stands still for so long is taken for dead.
    pub dead_after: Duration,
    /// There may be a free slot, or a job in the shared queue.
    pub take: Notify,
    /// Held during each take.
    pub taking: tokio::sync::Mutex<Taking>,
    /// When this node's last confirmed beat was sent.
    confirmed: Mutex<Option<Instant>>,
}

impl NodeContext {
    pub fn new(id: NodeId, dead_after: Duration) -> Self {
        Self {
            id,
            dead_after,
            take: Notify::new(),
            taking: tokio::sync::Mutex::default(),
            confirmed: Mutex::default(),
        }
    }

    /// A beat that was sent at this moment has been confirmed.
    pub fn confirm(&self, sent: Instant) {
        *self.confirmed.lock() = Some(sent);
    }

    /// Has the node been seen to live so recently that no other can have taken it for dead? Otherwise it must begin nothing.
    pub fn is_trusted(&self) -> bool {
        let span = self.dead_after.saturating_sub(BEAT);
        self.confirmed.lock().is_some_and(|it| it.elapsed() < span)
    }
}
