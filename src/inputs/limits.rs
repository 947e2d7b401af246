//! The limits of one call's input images.

use super::memory_budget::AccountMemory;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct InputLimits {
    /// For the whole ingestion: DNS lookups, connections, redirects, bodies and the store.
    pub timeout: Duration,
    /// Over all images, declared or received.
    pub max_total_bytes: u64,
    /// Per image.
    pub max_pixels: u64,
    pub memory: AccountMemory,
}
