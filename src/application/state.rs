//! What every handler may use.

use super::api_key_cache::KeyRing;
use super::commit::Turns;
use super::rate_limit::Rates;
use crate::config::Config;
use crate::gallery::ObjectGallery;
use crate::images::Images;
use crate::inputs::InputLimits;
use crate::webhooks::Vault;
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::clock::Clock;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::system::System;
use tintype_egress::Client;
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
    pub egress: Client,
    /// The moment.
    pub clock: Clock,
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
    /// Turns at changing people and their sessions.
    pub people: Turns,
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
