//! Counts of what this process has done as one of several nodes.

use std::sync::atomic::AtomicU64;

/// What this process has done as one of several nodes.
#[derive(Default)]
pub struct NodeStats {
    /// Nodes that it has declared dead.
    pub takeovers: AtomicU64,
    /// Jobs of dead nodes that it has put back into their queues.
    pub jobs_put_back: AtomicU64,
    /// Rounds that took jobs from the shared queue.
    pub takes: AtomicU64,
    /// Jobs that they took.
    pub jobs_taken: AtomicU64,
}
