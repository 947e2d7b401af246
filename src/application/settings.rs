//! The configuration, and what follows from it alone.

use crate::config::Config;
use tintype_storage::domain::catalog::Catalog;

pub struct Settings {
    /// The effective configuration, defaults included.
    pub config: Config,
    pub catalog: Catalog,
    /// Prefix of absolute links.
    pub public_url: String,
}
