//! Requests the list of models, which proves that the key is valid, and checks that the list holds the tiers' models.

use super::response::ModelList;
use crate::backends::probe::Findings;
use crate::backends::setup_error::BackendSetupError;
use crate::backends::upstream::{Auth, Fault, Upstream};
use crate::config::Remote;

pub async fn probe(
    name: &str,
    remote: &Remote,
    models: Vec<String>,
) -> Result<Findings, BackendSetupError> {
    let upstream = Upstream::new(name, remote, Auth::Bearer)?.for_small_responses();
    let mut findings = Findings::default();
    let known = match known_models(&upstream).await {
        Ok(known) => known,
        Err(fault) => {
            findings.fails(format!("the list of models: {fault}"));
            return Ok(findings);
        }
    };
    let names = upstream.clean(&known.join(", "));
    findings.works(format!("it responds; its models: {names}"));
    for model in models {
        findings.listed("model", &model, known.contains(&model));
    }
    Ok(findings)
}

async fn known_models(upstream: &Upstream) -> Result<Vec<String>, Fault> {
    let response = upstream.get("/models").await?;
    let response = upstream.expect_success(response)?;
    Ok(upstream.json::<ModelList>(response).await?.ids())
}
