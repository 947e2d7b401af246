//! The metrics of `GET /metrics` for Prometheus.
//!
//! Storage and actors count in their own atomics and do not depend on this module, which reads them at each scrape.

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
pub use requests::{Requests, WorkerMetrics, route_label};

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

pub struct Metrics {
    pub requests: Requests,
    ledger: LedgerTotals,
    started: SystemTime,
    data_dir: PathBuf,
    store_dir: PathBuf,
    exporter: Option<Arc<Exporter>>,
}

/// What a scrape has read from the store.
pub struct StoredFigures {
    pub deliveries: DeliveryDepths,
    /// When the oldest queued job of each model was created.
    pub oldest_queued: [Option<Timestamp>; 3],
}

/// The sources of one scrape.
pub struct Sources<'a> {
    pub is_ready: bool,
    pub store: &'a Store,
    pub system: &'a System,
    pub pause: Pause,
    /// `None` while the database is unreachable: the metrics that need the store are left out.
    pub stored: Option<StoredFigures>,
    pub now: Timestamp,
    pub max_live_jobs: u64,
    pub currency: &'a str,
}

impl Metrics {
    /// `started` is the start time of the process; `store_dir` holds the engine's files.
    pub fn new(
        started: SystemTime,
        data_dir: PathBuf,
        store_dir: PathBuf,
        exporter: Option<Arc<Exporter>>,
    ) -> Self {
        Self {
            requests: Requests::default(),
            ledger: LedgerTotals::default(),
            started,
            data_dir,
            store_dir,
            exporter,
        }
    }

    /// All metrics in the exposition format. Blocking: it reads files and accounts.
    pub fn text(&self, sources: &Sources<'_>) -> Result<String, StoreError> {
        let mut text = Exposition::default();
        process::collect(&mut text, self.started, sources.is_ready);
        self.requests.collect(&mut text);
        jobs::collect(&mut text, sources);
        backends::collect(&mut text, sources.system);
        store::collect(&mut text, sources.store, &self.data_dir, &self.store_dir);
        if sources.stored.is_some() {
            store::collect_last_backup(&mut text, sources.store)?;
            self.ledger
                .collect(&mut text, sources.store, sources.currency)?;
        }
        let deliveries = sources.stored.as_ref().map(|it| &it.deliveries);
        webhooks::collect(&mut text, sources.system, deliveries);
        nodes::collect(&mut text, sources.system);
        traces::collect(&mut text, self.exporter.as_deref());
        Ok(text.into_text())
    }
}
