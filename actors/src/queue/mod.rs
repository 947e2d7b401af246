//! Waiting jobs: one fair queue for each tier, and the notification that wakes the dispatcher.

mod expiries;
mod fair_queue;
mod job_queues;

pub use expiries::{Expiries, Expiry};
pub use fair_queue::Lane;
pub use job_queues::{Backlog, Depths, JobQueues, NextJob, QueuedJob, Turn};
