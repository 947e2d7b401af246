//! The jobs of calls: submission, and the wait for their images.

pub mod background_jobs;
pub mod job_waiter;
pub mod outage;
pub mod submission;
