//! What every handler may use.

use super::change::Turns;
use super::key_ring::KeyRing;
use super::openapi::Documents;
use super::rate::Rates;
use crate::compat::{Line, Orphans, Room};
use crate::config::Config;
use crate::egress::Egress;
use crate::gallery::ObjectGallery;
use crate::images::Images;
use crate::inputs::InputLimits;
use crate::metrics::Metrics;
use crate::panel::Panel;
use crate::traces::Exporter;
use crate::webhooks::Vault;
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::system::System;
use tintype_storage::domain::catalog::Catalog;
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Store;
use tokio::sync::{Semaphore, watch};

/// Shared by all workers.
pub struct AppState {
    /// The effective configuration.
    pub config: Config,
    /// What is on sale.
    pub catalog: Catalog,
    /// Records.
    pub store: Store,
    /// The actors.
    pub system: System,
    /// Pictures and input images.
    pub images: Images,
    /// Clears away what ended jobs leave.
    pub gallery: ObjectGallery,
    /// Seals the secrets of webhooks.
    pub vault: Vault,
    /// The way out, for input images, and for a look at where a webhook is to be.
    pub egress: Egress,
    /// The moment.
    pub clock: Clock,
    /// Hears of jobs whose callers have gone away.
    pub abandoned: Line,
    /// Jobs that go on though their callers have gone.
    pub orphans: Orphans,
    /// The memory that large bodies may take while they arrive.
    pub room: Room,
    /// Turns true when an orderly stop begins.
    pub stopping: watch::Sender<bool>,
    /// The end of the process.
    pub fail_stop: FailStop,
    /// Places for refused creations whose callers are told after a pause.
    pub held_refusals: Semaphore,
    /// API keys that were used lately.
    pub key_ring: Arc<KeyRing>,
    /// How often keys may call.
    pub rates: Rates,
    /// The operator's switches, as they are on the disk.
    pub pause: Arc<RwLock<Pause>>,
    /// SHA-256 of the operator's token.
    pub admin_token: [u8; 32],
    /// What absolute links begin with.
    pub public_url: String,
    /// Turns at changing keys, webhooks and switches.
    pub operator: Turns,
    /// What the web panel keeps in memory.
    pub panel: Panel,
    /// The published descriptions of the interfaces.
    pub documents: Documents,
    /// What is counted at the edge.
    pub metrics: Metrics,
    /// Where traces of jobs go, if anywhere.
    pub traces: Option<Arc<Exporter>>,
}

impl AppState {
    /// The moment.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// How long a download URL is valid.
    pub fn url_lifetime(&self) -> Duration {
        Duration::from_secs(self.config.results.url_lifetime_seconds)
    }

    /// Bounds of fetching input images.
    pub fn input_limits(&self) -> InputLimits {
        InputLimits {
            timeout: Duration::from_secs(self.config.inputs.timeout_seconds),
            max_total_bytes: self.config.inputs.max_total_bytes,
            ..InputLimits::default()
        }
    }
}
