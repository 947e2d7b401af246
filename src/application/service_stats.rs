//! Statistics of the service: queue, running jobs, throughput, backends, webhooks.

use super::blocking::blocking;
use super::core::Core;
use super::error::Error;
use tintype_actors::backends::BackendHealth;
use tintype_actors::stats::{RecentFigures, WINDOW, WindowCounts};
use tintype_actors::system::Depths;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;

/// The count of pending deliveries stops here.
const MAX_COUNTED: usize = 10_000;

pub struct ServiceStats {
    pub depths: Depths,
    pub live_jobs: usize,
    /// Done and failed jobs of the last hour.
    pub ended: WindowCounts<2>,
    /// With the attempts of the last hour, in the order of names.
    pub backends: Vec<(BackendHealth, RecentFigures)>,
    /// At most 10,000.
    pub deliveries_pending: usize,
    pub last_export: Option<Timestamp>,
}

/// # Errors
/// The store fails.
pub async fn gather(core: &Core) -> Result<ServiceStats, Error> {
    let store = core.store.clone();
    let pending = blocking(move || store.pending_deliveries(MAX_COUNTED).wait());
    let deliveries_pending = pending.await?;
    let (stats, now) = (core.system.stats(), core.now());
    let recent = stats.backends.iter().map(|it| it.recent.figures(now));
    Ok(ServiceStats {
        depths: core.system.waiting_jobs().depths(),
        live_jobs: core.system.live_jobs(),
        ended: stats.jobs.recent.counts(now, WINDOW),
        backends: core.system.backends().into_iter().zip(recent).collect(),
        deliveries_pending,
        last_export: core.store.last_export().await?,
    })
}
