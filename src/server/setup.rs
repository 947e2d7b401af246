//! The parts of an instance that its starter chooses.

use super::sweeps;
use crate::application::limits::rate_limit::{Elapsed, elapsed};
use crate::config::Config;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::ports::Generator;
use tintype_egress::Resolve;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::Engine;
use uuid::Uuid;

/// The parts of an instance. Tests and benchmarks replace some of them.
pub struct Setup {
    pub config: Config,
    /// The prefix of absolute links.
    pub public_url: String,
    /// `None`: the database's clock if nodes share a database, else the system's.
    pub clock: Option<Clock>,
    /// Monotonic time for rate limits.
    pub elapsed: Elapsed,
    /// Stores the records. `None`: the configured engine.
    pub engine: Option<Arc<dyn Engine>>,
    /// This process's id among the nodes that share the engine. `None`: a single process.
    pub node: Option<NodeId>,
    /// Whether to wait some seconds for a process that has the data directory open, such as a predecessor that exits.
    pub waits_for_predecessor: bool,
    /// Whether to continue the jobs and deliveries in the store. Otherwise the start fails if there are any.
    pub resumes_work: bool,
    /// Replaces the generators of configured backends, by backend name.
    pub generators: HashMap<String, Arc<dyn Generator>>,
    /// Resolves the host names of input images and webhooks. `None`: the system resolver.
    pub resolver: Option<Arc<dyn Resolve>>,
    pub fail_stop: FailStop,
    /// How often expired records and objects are removed.
    pub sweep_interval: Duration,
}

impl Setup {
    /// The parts for production.
    pub fn new(config: Config, public_url: String) -> Self {
        let is_cluster = config.storage.url.is_some();
        Self {
            config,
            public_url,
            clock: None,
            elapsed: elapsed(),
            engine: None,
            node: is_cluster.then(|| NodeId(Uuid::new_v4())),
            waits_for_predecessor: true,
            resumes_work: true,
            generators: HashMap::new(),
            resolver: None,
            fail_stop: FailStop::new(),
            sweep_interval: sweeps::INTERVAL,
        }
    }
}
