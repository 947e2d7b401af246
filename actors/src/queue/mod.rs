//! The queue of jobs: of a single process, or a copy of the one that several nodes share; and the jobs that wait in this process, with
//! the notification that wakes the dispatcher.

mod backlog;
mod fair_queue;
mod job_queue;
mod local_queue;
mod queue_change;
mod shared_queue;

pub use backlog::Backlog;
pub use fair_queue::Lane;
pub use job_queue::{Depths, JobQueue, NextJob, QueuedJob};
pub use local_queue::{LocalQueue, Turn};
pub use queue_change::QueueChange;
pub use shared_queue::SharedQueue;
