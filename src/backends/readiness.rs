//! Tests a back end for what the configuration uses it for.

use super::kinds;
use super::probe::Findings;
use crate::config::{Backend, Config};
use std::collections::BTreeSet;
use std::time::Duration;

/// Time limit for one back end.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A model of the service that a back end makes images for: one entry in `[tiers.*] backends`.
pub struct ModelUse {
    /// The model of the service.
    pub tier: &'static str,
    /// The back end's own model, where it is named.
    pub model: Option<String>,
    /// What the tier offers but the back end's model cannot make.
    pub shortfall: Option<String>,
}

/// What the configuration uses a back end for.
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

/// Asks a back end whether it works, and for the models that the configuration uses it for.
pub async fn test(config: &Config, name: &str, backend: &Backend) -> Findings {
    let uses = uses(config, name, backend);
    let models: BTreeSet<String> = uses.iter().filter_map(|it| it.model.clone()).collect();
    let mut findings = asked(name, backend, models).await;
    let unnamed = uses.iter().filter(|it| it.model.is_none());
    for it in unnamed.filter(|_| kinds::needs_model(backend)) {
        findings.fails(format!(
            "model {}: the back end's model is not named, and this API needs one; set `model`",
            it.tier
        ));
    }
    findings
}

async fn asked(name: &str, backend: &Backend, models: BTreeSet<String>) -> Findings {
    let mut findings = Findings::default();
    match kinds::probe(name, backend) {
        Ok(Some(probe)) => {
            let asked = probe.probe(models.into_iter().collect());
            match tokio::time::timeout(TIMEOUT, asked).await {
                Ok(found) => findings = found,
                Err(_) => findings.fails(format!("no answer within {} s", TIMEOUT.as_secs())),
            }
        }
        Ok(None) => findings.works("built in, needs no network"),
        Err(error) => findings.fails(error.to_string()),
    }
    findings
}
