//! The options of a [`System`](crate::system::System): its dependencies and its settings.

use crate::backends::{Backend, Routes};
use crate::clock::{Clock, Jitter, random_jitter, system_clock};
use crate::delivery::DeliveryOptions;
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use crate::ports::{InputFetcher, JobObjects, Observer};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::store::{Limits, Store};

pub struct SystemOptions {
    pub store: Store,
    pub jobs: JobOptions,
    pub deliveries: DeliveryOptions,
    pub process: ProcessOptions,
}

pub struct JobOptions {
    pub limits: Limits,
    /// Maximum number of runs of a job.
    pub max_runs: u32,
    /// The longest time of one run over all attempts and backends, not counting waits for slots.
    pub run_timeout: Duration,
    pub backends: Vec<Backend>,
    pub routes: Routes,
    pub job_objects: Arc<dyn JobObjects>,
    pub input_fetcher: Arc<dyn InputFetcher>,
}

pub struct ProcessOptions {
    pub clock: Clock,
    pub jitter: Jitter,
    pub observer: Option<Arc<dyn Observer>>,
    pub fail_stop: FailStop,
    /// Receives operator events; without it there are none.
    pub operator: Option<Arc<Webhook>>,
    pub threads: Threads,
    /// `None` on a single node: no other process uses the store.
    pub node: Option<Arc<NodeContext>>,
}

/// A single node with the system's clock.
impl Default for ProcessOptions {
    fn default() -> Self {
        Self {
            clock: system_clock(),
            jitter: random_jitter(),
            observer: None,
            fail_stop: FailStop::default(),
            operator: None,
            threads: Threads::default(),
            node: None,
        }
    }
}

/// The threads on which the actors run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// Three new threads: one for decisions, one for jobs, one for deliveries.
    #[default]
    Own,
    /// The caller's thread, so that tests can pause one clock for all actors.
    Callers,
}
