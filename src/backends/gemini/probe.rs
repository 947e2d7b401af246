//! Requests each model's entry, which proves that the key is valid and the model exists.

use super::model::Model;
use super::response::ModelEntry;
use super::{AUTH, fault, path};
use crate::backends::probe::Findings;
use crate::backends::setup_error::BackendSetupError;
use crate::backends::upstream::{Fault, Upstream};
use crate::config::Remote;

pub async fn probe(
    name: &str,
    remote: &Remote,
    models: Vec<String>,
) -> Result<Findings, BackendSetupError> {
    let upstream = Upstream::new(name, remote, AUTH)?.for_small_responses();
    let mut findings = Findings::default();
    for id in models {
        match entry(&upstream, &id).await {
            Ok(ModelEntry {
                display_name: Some(name),
            }) => findings.works(format!("model {id} ({})", upstream.clean(&name))),
            Ok(_) => findings.works(format!("model {id}")),
            Err(fault) => findings.fails(format!("model {id}: {fault}")),
        }
    }
    Ok(findings)
}

async fn entry(upstream: &Upstream, id: &str) -> Result<ModelEntry, Fault> {
    let model = Model::named(id);
    let response = upstream.get(&path(upstream, &model.segment())).await?;
    if response.status.is_success() {
        upstream.json(response).await
    } else {
        Err(fault::to_fault(upstream, &response))
    }
}
