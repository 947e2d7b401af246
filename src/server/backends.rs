//! Builds the configured backends, and the route of each tier to them.

use super::start_error::StartError;
use crate::backends::damaged_inputs::{OnDamagedInput, ReportsDamagedInputs};
use crate::backends::kinds;
use crate::catalog::tier_config;
use crate::config::{Config, Sources, TierBackend, misspelt_variables};
use crate::objects::ObjectStorage;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_actors::backends::{Backend, Route, Routes};
use tintype_actors::ports::Generator;
use tintype_storage::domain::tier::Tier;

/// Builds the backends and the tiers' routes. Logs a warning for each setting that is valid but suspicious.
pub fn backends(
    config: &Config,
    objects: &ObjectStorage,
    generators: &HashMap<String, Arc<dyn Generator>>,
    on_damaged_input: &OnDamagedInput,
) -> Result<(Vec<Backend>, Routes), StartError> {
    let misspelt = misspelt_variables(&Sources::process_environment());
    let bucket = ObjectStorage::warning(config.storage.objects.as_ref());
    for warning in config.warnings().into_iter().chain(misspelt).chain(bucket) {
        tracing::warn!("{warning}");
    }
    let mut backends = Vec::new();
    let mut index_of = HashMap::new();
    for (name, backend) in &config.backends {
        let generator = match generators.get(name) {
            Some(replacement) => Arc::clone(replacement),
            None => kinds::generator(name, backend, &config.backends, objects)?,
        };
        index_of.insert(name.as_str(), backends.len());
        backends.push(Backend {
            name: name.clone(),
            generator: Arc::new(ReportsDamagedInputs {
                inner: generator,
                report: Arc::clone(on_damaged_input),
            }),
            slots: backend.concurrency,
            is_shared: backend.shared,
            timeout: backend.timeout(),
            retries: backend.retries(),
        });
    }
    let routes = |tier: Tier| {
        let settings = tier_config(&config.tiers, tier);
        // The configuration has checked that every backend of a tier exists.
        let route = |listed: &TierBackend| {
            let name = &listed.name;
            let backend = config.backends.get(name)?;
            let model = kinds::model(backend, listed.model.as_deref(), &settings.compat_models);
            let sold = &settings.resolutions;
            if let Some(shortfall) = kinds::shortfall(backend, model.as_deref(), sold) {
                tracing::warn!(%tier, backend = %name, "{shortfall}");
            }
            Some(Route {
                backend: *index_of.get(name.as_str())?,
                model,
                weight: listed.weight,
            })
        };
        settings.backends.iter().filter_map(route).collect()
    };
    let routes = Routes([routes(Tier::Fast), routes(Tier::Quality), routes(Tier::Pro)]);
    Ok((backends, routes))
}
