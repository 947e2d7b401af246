//! What the service counts, as `GET /metrics` tells it to Prometheus.
//!
//! Storage and actors count in plain atomics of their own and know nothing of this; what is here reads them when it is asked.

mod backends;
mod exposition;
mod jobs;
mod ledger;
mod nodes;
mod process;
mod requests;
mod store;
mod traces;
mod webhooks;

pub use exposition::CONTENT_TYPE;
pub use requests::{Requests, WorkerMetrics};

use crate::observability::traces::Exporter;
use exposition::Exposition;
use ledger::LedgerTotals;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use tintype_actors::delivery::DeliveryDepths;
use tintype_actors::system::System;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{Store, StoreError};

/// What is counted here, and what does not change while the process lives.
pub struct Metrics {
    /// The calls of all workers.
    pub requests: Requests,
    ledger: LedgerTotals,
    started: SystemTime,
    store_dir: PathBuf,
    exporter: Option<Arc<Exporter>>,
}

/// What is read for one answer.
pub struct Sources<'a> {
    pub store: &'a Store,
    pub system: &'a System,
    pub pause: Pause,
    pub deliveries: DeliveryDepths,
    pub now: Timestamp,
    pub max_live_jobs: u64,
    pub currency: &'a str,
}

impl Metrics {
    /// `started` is when the process began to start; `store_dir` is where the engine's files lie.
    pub fn new(started: SystemTime, store_dir: PathBuf, exporter: Option<Arc<Exporter>>) -> Self {
        Self {
            requests: Requests::default(),
            ledger: LedgerTotals::default(),
            started,
            store_dir,
            exporter,
        }
    }

    /// All metrics in the exposition format. Blocks: it reads files and the accounts.
    pub fn text(&self, sources: &Sources<'_>) -> Result<String, StoreError> {
        let mut text = Exposition::default();
        process::collect(&mut text, self.started);
        self.requests.collect(&mut text);
        jobs::collect(&mut text, sources);
        backends::collect(&mut text, sources.system);
        store::collect(&mut text, sources.store, &self.store_dir);
        self.ledger
            .collect(&mut text, sources.store, sources.currency)?;
        webhooks::collect(&mut text, sources.system, &sources.deliveries);
        nodes::collect(&mut text, sources.system);
        traces::collect(&mut text, self.exporter.as_deref());
        Ok(text.into_text())
    }
}
