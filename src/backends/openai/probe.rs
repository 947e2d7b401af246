//! Requests the list of models, which proves that the key is valid, and checks that the list holds the tiers' models.

use super::response::ModelList;
use crate::backends::probe::{Findings, Probe};
use crate::backends::upstream::{Auth, Fault, Upstream, UpstreamSetupError};
use crate::config::Remote;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

pub struct OpenAiProbe {
    upstream: Upstream,
}

impl OpenAiProbe {
    /// # Errors
    /// See [`UpstreamSetupError`].
    pub fn new(name: &str, remote: &Remote) -> Result<Self, UpstreamSetupError> {
        let upstream = Upstream::new(name, remote, Auth::Bearer)?;
        Ok(Self {
            upstream: upstream.for_small_responses(),
        })
    }
}

async fn known_models(upstream: &Upstream) -> Result<Vec<String>, Fault> {
    let response = upstream.get("/models").await?;
    let response = upstream.expect_success(response)?;
    Ok(upstream.json::<ModelList>(response).await?.ids())
}

impl Probe for OpenAiProbe {
    fn probe(&self, models: Vec<String>) -> LocalBoxFuture<'static, Findings> {
        let upstream = self.upstream.clone();
        async move {
            let mut findings = Findings::default();
            let known = match known_models(&upstream).await {
                Ok(known) => known,
                Err(fault) => {
                    findings.fails(format!("the list of models: {fault}"));
                    return findings;
                }
            };
            let names = upstream.clean(&known.join(", "));
            findings.works(format!("it answers; its models: {names}"));
            for model in models {
                findings.listed("model", &model, known.contains(&model));
            }
            findings
        }
        .boxed_local()
    }
}
