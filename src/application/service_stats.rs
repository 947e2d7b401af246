//! How the service is: queue, running, throughput, back ends, webhooks.

use super::error::{self, Error};
use super::state::AppState;
use tintype_actors::backends::BackendHealth;
use tintype_actors::stats::{RecentFigures, WINDOW, WindowCounts};
use tintype_actors::system::Depths;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Wait as _;
use tokio::task::spawn_blocking;

/// Pending deliveries that are counted.
const MOST: usize = 10_000;

/// The figures of the whole service.
pub struct ServiceStats {
    pub depths: Depths,
    pub live_jobs: usize,
    /// Jobs that ended within the last hour: done and failed ones.
    pub ended: WindowCounts<2>,
    /// Each with its tries of the last hour, in the order of their names.
    pub backends: Vec<(BackendHealth, RecentFigures)>,
    /// At 10,000 the counting stops.
    pub deliveries_pending: usize,
    pub last_export: Option<Timestamp>,
}

/// Gathers the figures.
///
/// # Errors
/// The store fails.
pub async fn gather(state: &AppState) -> Result<ServiceStats, Error> {
    let store = state.store.clone();
    let pending = spawn_blocking(move || store.pending_deliveries(MOST).wait()).await;
    let deliveries_pending = pending.map_err(|_| error::busy())??;
    let (stats, now) = (state.system.stats(), state.now());
    let recent = stats.backends.iter().map(|it| it.recent.figures(now));
    Ok(ServiceStats {
        depths: state.system.waiting_jobs().depths(),
        live_jobs: state.system.live_jobs(),
        ended: stats.jobs.recent.counts(now, WINDOW),
        backends: state.system.backends().into_iter().zip(recent).collect(),
        deliveries_pending,
        last_export: state.store.last_export().await?,
    })
}
