//! Checks that the server lists the checkpoints, samplers, schedulers and upscalers that the settings name.

use crate::backends::probe::Findings;
use crate::backends::setup_error::BackendSetupError;
use crate::backends::upstream::{Auth, Fault, Upstream};
use crate::config::{Remote, SdApiSettings};
use serde_json::Value;

/// The fields that hold an entry's name; they differ between servers.
const NAMES: [&str; 6] = ["title", "model_name", "filename", "name", "label", "alias"];

pub async fn probe(
    name: &str,
    remote: &Remote,
    settings: &SdApiSettings,
    models: Vec<String>,
) -> Result<Findings, BackendSetupError> {
    let upstream = Upstream::new(name, remote, Auth::Basic)?.for_small_responses();
    let mut findings = Findings::default();
    let known = match list(&upstream, "sd-models").await {
        Ok(known) => known,
        Err(fault) => {
            findings.fails(format!(
                "the list of checkpoints: {fault}; A1111 and Forge need --api"
            ));
            return Ok(findings);
        }
    };
    let titles: Vec<&str> = known.iter().filter_map(|it| names(it).next()).collect();
    let titles = upstream.clean(&titles.join(", "));
    findings.works(format!("it responds; its checkpoints: {titles}"));
    for model in models.iter().chain(&settings.checkpoint) {
        look_up(&mut findings, "checkpoint", model, &known);
    }
    for (what, path, wanted) in [
        ("sampler", "samplers", &settings.sampler),
        ("scheduler", "schedulers", &settings.scheduler),
        ("upscaler", "upscalers", &settings.upscaler),
    ] {
        let Some(wanted) = wanted else { continue };
        match list(&upstream, path).await {
            Ok(known) => look_up(&mut findings, what, wanted, &known),
            Err(fault) => findings.fails(format!("the list of {path}: {fault}")),
        }
    }
    Ok(findings)
}

async fn list(upstream: &Upstream, what: &str) -> Result<Vec<Value>, Fault> {
    let response = upstream.get(&format!("/sdapi/v1/{what}")).await?;
    let response = upstream.expect_success(response)?;
    upstream.json(response).await
}

fn names(entry: &Value) -> impl Iterator<Item = &str> {
    let members = NAMES.iter().filter_map(|name| entry[*name].as_str());
    entry.as_str().into_iter().chain(members)
}

fn look_up(findings: &mut Findings, what: &str, wanted: &str, known: &[Value]) {
    // The servers also accept a checkpoint without the hash at the end of its title.
    let is = |name: &str| name == wanted || name.starts_with(&format!("{wanted} ["));
    findings.listed(what, wanted, known.iter().any(|entry| names(entry).any(is)));
}
