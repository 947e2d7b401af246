//! The API keys whose input images turned out damaged recently.

use super::cooldown::Cooldown;
use super::rate_limit::Elapsed;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::KeyId;

const RECENT: Duration = Duration::from_secs(60);

/// The process's own; forgotten when it ends.
pub struct DamagedInputs(Cooldown<KeyId>);

impl DamagedInputs {
    pub fn new(elapsed: &Elapsed) -> Self {
        Self(Cooldown::new(RECENT, Arc::clone(elapsed)))
    }

    /// A job of this key failed because an input image is damaged.
    pub fn add(&self, key: KeyId) {
        // A key that is known already is remembered from its first damaged image on, and again from the next one after that.
        let _ = self.0.begin(key);
    }

    /// Has an input image of this key turned out damaged within the last minute?
    pub fn are_recent(&self, key: KeyId) -> bool {
        self.0.is_running(&key)
    }
}
