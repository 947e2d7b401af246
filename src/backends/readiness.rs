//! Tests a backend for the models that the configuration requests from it.

use super::kinds;
use super::probe::Findings;
use crate::config::{Backend, Config};
use std::collections::BTreeSet;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);

/// One entry in `[tiers.*] backends`: a tier that uses the backend.
pub struct ModelUse {
    pub tier: &'static str,
    /// The backend's own model, where the configuration names one.
    pub model: Option<String>,
    /// See [`kinds::shortfall`].
    pub shortfall: Option<String>,
}

pub fn uses(config: &Config, name: &str, backend: &Backend) -> Vec<ModelUse> {
    let mut uses = Vec::new();
    for (tier, settings) in config.tiers.iter() {
        for entry in settings.backends.iter().filter(|it| it.name == name) {
            let listed = entry.model.as_deref();
            let model = kinds::model(backend, listed, &settings.compat_models);
            uses.push(ModelUse {
                tier,
                shortfall: kinds::shortfall(backend, model.as_deref(), &settings.resolutions),
                model,
            });
        }
    }
    uses
}

/// Probes a backend and the models that the configuration requests from it.
pub async fn test(config: &Config, name: &str, backend: &Backend) -> Findings {
    let uses = uses(config, name, backend);
    let models: BTreeSet<String> = uses.iter().filter_map(|it| it.model.clone()).collect();
    let mut findings = run_probe(name, backend, models).await;
    let unnamed = uses.iter().filter(|it| it.model.is_none());
    for it in unnamed.filter(|_| kinds::needs_model(backend)) {
        findings.fails(format!(
            "model {}: no model is configured, and this API needs one; set `model`",
            it.tier
        ));
    }
    findings
}

async fn run_probe(name: &str, backend: &Backend, models: BTreeSet<String>) -> Findings {
    let probing = kinds::probe(name, backend, models.into_iter().collect());
    let failure = match tokio::time::timeout(TIMEOUT, probing).await {
        Ok(Ok(findings)) => return findings,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", TIMEOUT.as_secs()),
    };
    let mut findings = Findings::default();
    findings.fails(failure);
    findings
}
