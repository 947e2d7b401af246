//! Waiting jobs: one fair queue for each tier, and the notification that wakes the dispatcher.

mod fair_queue;
mod job_queues;

pub use fair_queue::Lane;
pub use job_queues::{Depths, JobQueues, QueuedJob, Turn};
