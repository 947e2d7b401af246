//! The configuration, and what follows from it alone.

use crate::config::Config;
use std::time::Duration;
use tintype_storage::domain::catalog::Catalog;

pub struct Settings {
    /// The effective configuration, defaults included.
    pub config: Config,
    pub catalog: Catalog,
    /// Prefix of absolute links.
    pub public_url: String,
}

impl Settings {
    /// How long a download URL is valid.
    pub fn url_lifetime(&self) -> Duration {
        Duration::from_secs(self.config.results.url_lifetime_seconds)
    }
}
