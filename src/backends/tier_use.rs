//! The backends of a tier, and the models that the tier requests from them.

use super::kinds;
use crate::catalog::tier_config;
use crate::config::{Backend, Config, TierBackend};
use tintype_storage::domain::tier::Tier;

/// One entry in `[tiers.*] backends`.
pub struct TierUse<'a> {
    pub tier: Tier,
    pub entry: &'a TierBackend,
    pub backend: &'a Backend,
    /// See [`kinds::model`].
    pub model: Option<String>,
    resolutions: &'a [String],
}

/// The backends of a tier, in order of preference.
pub fn uses_of(config: &Config, tier: Tier) -> impl Iterator<Item = TierUse<'_>> {
    let settings = tier_config(&config.tiers, tier);
    // The configuration has checked that every backend of a tier exists.
    settings.backends.iter().filter_map(move |entry| {
        let backend = config.backends.get(&entry.name)?;
        Some(TierUse {
            tier,
            entry,
            backend,
            model: kinds::model(backend, entry.model.as_deref(), &settings.compat_models),
            resolutions: &settings.resolutions,
        })
    })
}

impl TierUse<'_> {
    /// See [`kinds::shortfall`].
    pub fn shortfall(&self) -> Option<String> {
        let model = self.model.as_deref();
        kinds::shortfall(self.backend, model, self.tier, self.resolutions)
    }
}
