//! Requests each model's entry, which proves that the key is valid and the model exists.

use super::model::Model;
use super::response::ModelEntry;
use super::{AUTH, fault, path};
use crate::backends::probe::{Findings, Probe};
use crate::backends::upstream::{Fault, Upstream, UpstreamSetupError};
use crate::config::Remote;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

pub struct GeminiProbe {
    upstream: Upstream,
}

impl GeminiProbe {
    /// # Errors
    /// See [`UpstreamSetupError`].
    pub fn new(name: &str, remote: &Remote) -> Result<Self, UpstreamSetupError> {
        let upstream = Upstream::new(name, remote, AUTH)?;
        Ok(Self {
            upstream: upstream.for_small_responses(),
        })
    }
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

impl Probe for GeminiProbe {
    fn probe(&self, models: Vec<String>) -> LocalBoxFuture<'static, Findings> {
        let upstream = self.upstream.clone();
        async move {
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
            findings
        }
        .boxed_local()
    }
}
