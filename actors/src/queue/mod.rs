//! Waiting jobs: one fair queue for each tier, and the notification that wakes the dispatcher.

mod backlog;
mod fair_queue;
mod job_queues;
mod shared_queue;
mod waiting_jobs;

pub use backlog::Backlog;
pub use fair_queue::Lane;
pub use job_queues::{Depths, JobQueues, NextJob, QueuedJob, Turn};
pub use shared_queue::QueueChange;
pub use waiting_jobs::WaitingJobs;
