//! Options that only some backends support.

use crate::application::settings::Settings;
use crate::backends::kinds;
use crate::catalog::tier_config;
use crate::config::Backend;
use tintype_storage::domain::tier::Tier;

/// Does a backend of the model support the option? `takes` says so for a backend and the model that it is asked for.
pub fn is_supported(
    tier: Tier,
    settings: &Settings,
    takes: impl Fn(&Backend, Option<&str>) -> bool,
) -> bool {
    let config = &settings.config;
    let tier = tier_config(&config.tiers, tier);
    tier.backends.iter().any(|listed| {
        config.backends.get(&listed.name).is_some_and(|backend| {
            let model = kinds::model(backend, listed.model.as_deref(), &tier.compat_models);
            takes(backend, model.as_deref())
        })
    })
}
