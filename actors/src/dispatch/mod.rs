//! Running jobs: the dispatcher decides which job is next, and a job actor runs one job to its end.

pub(crate) mod abandoned_jobs;
mod backend_attempts;
pub mod backoff;
mod context;
mod cut_off;
mod dispatcher;
pub(crate) mod expiry;
mod failover;
mod failures;
mod input_fetch;
mod job;
mod lease_wait;
mod next_step;
mod progress;
mod prompt_redaction;
mod run;
mod run_deadline;
mod run_log;

pub(crate) use context::DispatchContext;
pub(crate) use cut_off::CutOff;
pub(crate) use dispatcher::{Dispatcher, DispatcherCommand};
pub use failures::FailedAttempt;
pub(crate) use failures::RecentFailures;
pub(crate) use progress::RunProgress;
