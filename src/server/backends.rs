//! Builds the configured backends, and the route of each tier to them.

use super::setup::Setup;
use crate::application::limits::damaged_inputs::DamagedInputs;
use crate::backends::damaged_inputs::{OnDamagedInput, ReportsDamagedInputs};
use crate::backends::kinds;
use crate::backends::setup_error::BackendSetupError;
use crate::backends::tier_use::{TierUse, uses_of};
use crate::config::{Sources, misspelt_variables};
use crate::objects::ObjectStorage;
use std::collections::HashMap;
use std::sync::Arc;
use tintype_actors::backends::{Backend, Route, Routes};
use tintype_storage::domain::tier::Tier;

pub struct ConfiguredBackends {
    pub backends: Vec<Backend>,
    pub routes: Routes,
}

impl ConfiguredBackends {
    /// Builds the backends and the tiers' routes. Logs a warning for each setting that is valid but suspicious.
    pub fn new(
        setup: &Setup,
        objects: &ObjectStorage,
        damaged_inputs: &Arc<DamagedInputs>,
    ) -> Result<Self, BackendSetupError> {
        let config = &setup.config;
        let damaged_inputs = Arc::clone(damaged_inputs);
        let on_damaged_input: OnDamagedInput = Arc::new(move |key| damaged_inputs.add(key));
        let misspelt = misspelt_variables(&Sources::process_environment());
        let bucket = ObjectStorage::warning(config.storage.objects.as_ref());
        for warning in config.warnings().into_iter().chain(misspelt).chain(bucket) {
            tracing::warn!("{warning}");
        }
        let mut backends = Vec::new();
        let mut index_of = HashMap::new();
        for (name, backend) in &config.backends {
            let generator = match setup.generators.get(name) {
                Some(replacement) => Arc::clone(replacement),
                None => kinds::generator(name, backend, &config.backends, objects)?,
            };
            index_of.insert(name.as_str(), backends.len());
            backends.push(Backend {
                name: name.clone(),
                generator: Arc::new(ReportsDamagedInputs {
                    inner: generator,
                    report: Arc::clone(&on_damaged_input),
                }),
                slots: backend.concurrency,
                is_shared: backend.shared,
                timeout: backend.timeout(),
                retries: backend.retries(),
            });
        }
        let routes = |tier: Tier| {
            let route = |used: TierUse<'_>| {
                let name = &used.entry.name;
                if let Some(shortfall) = used.shortfall() {
                    tracing::warn!(%tier, backend = %name, "{shortfall}");
                }
                Some(Route {
                    backend: *index_of.get(name.as_str())?,
                    model: used.model,
                    weight: used.entry.weight,
                })
            };
            uses_of(config, tier).filter_map(route).collect()
        };
        let routes = Routes([routes(Tier::Fast), routes(Tier::Quality), routes(Tier::Pro)]);
        Ok(Self { backends, routes })
    }
}
