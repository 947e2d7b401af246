//! Tests a backend for the models that the configuration requests from it.

use super::kinds;
use super::probe::Findings;
use super::tier_use::{TierUse, uses_of};
use crate::config::{Backend, Config};
use std::collections::BTreeSet;
use std::time::Duration;
use tintype_storage::domain::tier::Tier;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The entries of all tiers that name the backend.
pub fn uses<'a>(config: &'a Config, name: &str) -> Vec<TierUse<'a>> {
    let uses = Tier::ALL.iter().flat_map(|tier| uses_of(config, *tier));
    uses.filter(|it| it.entry.name == name).collect()
}

/// Probes a backend and the models that the configuration requests from it.
pub async fn test(config: &Config, name: &str, backend: &Backend) -> Findings {
    let uses = uses(config, name);
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
        Err(_) => format!("no response within {} s", TIMEOUT.as_secs()),
    };
    let mut findings = Findings::default();
    findings.fails(failure);
    findings
}
