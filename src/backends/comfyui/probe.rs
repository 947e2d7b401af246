//! Reads the workflows, and checks that the server has their nodes and checkpoints.

use super::server::Server;
use crate::backends::probe::Findings;
use crate::backends::setup_error::BackendSetupError;
use crate::config::{ComfyUiSettings, Remote};
use std::collections::BTreeSet;

/// The probe checks at most this many node classes.
const MAX_CLASSES: usize = 128;

pub async fn probe(
    name: &str,
    remote: &Remote,
    settings: &ComfyUiSettings,
    models: Vec<String>,
) -> Result<Findings, BackendSetupError> {
    let (server, templates) = super::set_up(name, remote, settings)?;
    let all = templates.all();
    let classes: BTreeSet<String> = all.iter().flat_map(|it| it.classes()).collect();
    let wanted: Vec<String> = models
        .into_iter()
        .chain(settings.checkpoint.clone())
        .collect();
    let mut findings = Findings::default();
    findings.works("the workflows are valid");
    if all.iter().any(|it| it.takes_checkpoint()) {
        match server.checkpoints().await {
            Ok(known) => check_checkpoints(&mut findings, &server, &known, &wanted),
            Err(fault) => {
                findings.fails(format!("the list of checkpoints: {fault}"));
                return Ok(findings);
            }
        }
    }
    let mut missing = Vec::new();
    for class in classes.iter().take(MAX_CLASSES) {
        match server.has_node(class).await {
            Ok(true) => {}
            Ok(false) => missing.push(class.as_str()),
            Err(fault) => {
                findings.fails(format!("the list of node classes: {fault}"));
                return Ok(findings);
            }
        }
    }
    match missing.is_empty() {
        true => findings.works("every node of the workflows is installed"),
        false => findings.fails(format!(
            "missing nodes: {}; install the extensions that provide them, or change the workflow",
            missing.join(", ")
        )),
    }
    Ok(findings)
}

fn check_checkpoints(
    findings: &mut Findings,
    server: &Server,
    known: &[String],
    wanted: &[String],
) {
    if known.is_empty() {
        findings.fails("the server has no checkpoint: put one into its models/checkpoints");
        return;
    }
    let names = server.upstream().clean(&known.join(", "));
    findings.works(format!("it responds; its checkpoints: {names}"));
    for name in wanted {
        findings.listed("checkpoint", name, known.contains(name));
    }
}
