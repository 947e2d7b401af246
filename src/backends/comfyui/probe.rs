//! Reads the workflows, and checks that the server has their nodes and checkpoints.

use super::server::Server;
use super::setup_error::ComfyUiSetupError;
use super::templates::Templates;
use crate::backends::probe::{Findings, Probe};
use crate::backends::upstream::{Auth, Upstream};
use crate::config::{ComfyUiSettings, Remote};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::collections::BTreeSet;

/// The probe checks at most this many node classes.
const MAX_CLASSES: usize = 128;

pub struct ComfyUiProbe {
    server: Server,
    classes: BTreeSet<String>,
    takes_checkpoint: bool,
    checkpoint: Option<String>,
}

impl ComfyUiProbe {
    /// Reads the workflows that the settings name.
    ///
    /// # Errors
    /// See [`ComfyUiSetupError`].
    pub fn new(
        name: &str,
        remote: &Remote,
        settings: &ComfyUiSettings,
    ) -> Result<Self, ComfyUiSetupError> {
        let templates = Templates::read(settings).map_err(|source| {
            let name = name.to_owned();
            ComfyUiSetupError::Template { name, source }
        })?;
        let all = templates.all();
        Ok(Self {
            server: Server::new(Upstream::new(name, remote, Auth::None)?),
            classes: all.iter().flat_map(|it| it.classes()).collect(),
            takes_checkpoint: all.iter().any(|it| it.takes_checkpoint()),
            checkpoint: settings.checkpoint.clone(),
        })
    }
}

impl Probe for ComfyUiProbe {
    fn probe(&self, models: Vec<String>) -> LocalBoxFuture<'static, Findings> {
        let (server, classes) = (self.server.clone(), self.classes.clone());
        let takes_checkpoint = self.takes_checkpoint;
        let wanted: Vec<String> = models.into_iter().chain(self.checkpoint.clone()).collect();
        async move {
            let mut findings = Findings::default();
            findings.works("the workflows are valid");
            if takes_checkpoint {
                match server.checkpoints().await {
                    Ok(known) => check_checkpoints(&mut findings, &server, &known, &wanted),
                    Err(fault) => {
                        findings.fails(format!("the list of checkpoints: {fault}"));
                        return findings;
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
                        return findings;
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
            findings
        }
        .boxed_local()
    }
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
    findings.works(format!("it answers; its checkpoints: {names}"));
    for name in wanted {
        findings.listed("checkpoint", name, known.contains(name));
    }
}
