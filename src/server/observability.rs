//! What operators see of this process: its description, its metrics and its traces.

use super::engine::store_dir;
use super::node_process::node_process;
use crate::config::Config;
use crate::observability::metrics::Metrics;
use crate::observability::traces::{Exporter, JobTraces, TraceSetupError};
use std::sync::Arc;
use std::time::SystemTime;
use tintype_actors::clock::Clock;
use tintype_actors::ports::Observer;
use tintype_storage::domain::node::NodeProcess;

pub struct Observability {
    pub process: NodeProcess,
    pub metrics: Metrics,
    pub traces: Option<Arc<Exporter>>,
}

impl Observability {
    /// Starts the export of traces, if it is configured. `started` is the start time of the process.
    pub async fn start(
        config: &Config,
        started: SystemTime,
        is_cluster: bool,
    ) -> Result<Self, TraceSetupError> {
        let process = node_process(config, started, is_cluster).await;
        let endpoint = config.otlp.endpoint.as_deref();
        let start = |endpoint| Exporter::start(&config.otlp, endpoint).map(Arc::new);
        let traces = endpoint.map(start).transpose()?;
        let data_dir = config.storage.data_dir.clone();
        Ok(Self {
            process,
            metrics: Metrics::new(started, data_dir, store_dir(config), traces.clone()),
            traces,
        })
    }

    /// Makes the traces of jobs; `None` if none are exported.
    pub fn job_observer(&self, config: &Config, clock: &Clock) -> Option<Arc<dyn Observer>> {
        let exporter = Arc::clone(self.traces.as_ref()?);
        let ratio = config.otlp.sample_ratio;
        Some(Arc::new(JobTraces::new(exporter, Arc::clone(clock), ratio)))
    }
}
