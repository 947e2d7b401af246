//! Counters of this process as one of several nodes.

use std::sync::atomic::AtomicU64;

#[derive(Default)]
pub struct NodeStats {
    /// Nodes that this one has declared dead.
    pub takeovers: AtomicU64,
    /// Jobs of dead nodes that this node has put back into their queues.
    pub jobs_put_back: AtomicU64,
    /// Rounds that took jobs from the shared queue.
    pub takes: AtomicU64,
    pub jobs_taken: AtomicU64,
}
