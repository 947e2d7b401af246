//! Which code drives which kind of back end.

use super::builtin::Builtin;
use super::comfyui::{ComfyUi, ComfyUiProbe, ComfyUiSetupError};
use super::gemini::{self, Gemini, GeminiProbe};
use super::openai::{self, OpenAi, OpenAiProbe};
use super::probe::Probe;
use super::sdapi::{SdApi, SdApiProbe};
use super::upstream::UpstreamSetupError;
use crate::config::{Backend, BackendKind};
use crate::images::Images;
use std::sync::Arc;
use tintype_actors::ports::Generator;
use tintype_storage::domain::tier::Resolution;
use url::Url;

/// Why a back end cannot be driven as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum BackendSetupError {
    /// It cannot be spoken to.
    #[error(transparent)]
    Upstream(#[from] UpstreamSetupError),
    /// ComfyUI.
    #[error(transparent)]
    ComfyUi(#[from] ComfyUiSetupError),
}

/// What makes the pictures of a configured back end.
///
/// # Errors
/// See [`BackendSetupError`].
pub fn generator(
    name: &str,
    backend: &Backend,
    images: &Images,
) -> Result<Arc<dyn Generator>, BackendSetupError> {
    let images = images.clone();
    Ok(match &backend.kind {
        BackendKind::Procedural => Arc::new(Builtin::new(images)),
        BackendKind::Gemini { remote, .. } => Arc::new(Gemini::new(name, remote, images)?),
        BackendKind::OpenAi {
            remote, dialect, ..
        } => Arc::new(OpenAi::new(name, remote, dialect.clone(), images)?),
        BackendKind::SdApi { remote, settings } => {
            let (settings, places) = (settings.clone(), backend.concurrency);
            Arc::new(SdApi::new(name, remote, settings, places, images)?)
        }
        BackendKind::ComfyUi { remote, settings } => {
            Arc::new(ComfyUi::new(name, remote, settings.clone(), images)?)
        }
    })
}

/// What can be asked whether it works; `None` for the built-in generator, which needs no asking.
///
/// # Errors
/// See [`BackendSetupError`].
pub fn probe(name: &str, backend: &Backend) -> Result<Option<Box<dyn Probe>>, BackendSetupError> {
    Ok(match &backend.kind {
        BackendKind::Gemini { remote, .. } => Some(Box::new(GeminiProbe::new(name, remote)?)),
        BackendKind::OpenAi { remote, .. } => Some(Box::new(OpenAiProbe::new(name, remote)?)),
        BackendKind::SdApi { remote, settings } => {
            Some(Box::new(SdApiProbe::new(name, remote, settings.clone())?))
        }
        BackendKind::ComfyUi { remote, settings } => {
            Some(Box::new(ComfyUiProbe::new(name, remote, settings)?))
        }
        BackendKind::Procedural => None,
    })
}

/// The model that a tier asks a back end for: what the tier's entry names, else the back end's own, else, for the Gemini API,
/// the first id under which the tier is offered, since those are names of its models.
pub fn model(backend: &Backend, listed: Option<&str>, compat_models: &[String]) -> Option<String> {
    let own = match &backend.kind {
        BackendKind::Gemini { model, .. } => model.as_ref().or(compat_models.first()),
        BackendKind::OpenAi { model, .. } => model.as_ref(),
        // A checkpoint is the adapter's own default, for it may have to ask the server.
        BackendKind::Procedural | BackendKind::SdApi { .. } | BackendKind::ComfyUi { .. } => None,
    };
    listed.or(own.map(String::as_str)).map(str::to_owned)
}

/// Does it make nothing without being told a model? A server with one model needs no telling; OpenAI itself does.
pub fn needs_model(backend: &Backend) -> bool {
    match &backend.kind {
        BackendKind::Gemini { .. } => true,
        BackendKind::OpenAi { remote, .. } => {
            let url = Url::parse(&remote.base_url).ok();
            url.is_some_and(|it| it.host_str() == Some("api.openai.com"))
        }
        BackendKind::Procedural | BackendKind::SdApi { .. } | BackendKind::ComfyUi { .. } => false,
    }
}

/// What a tier sells and its model does not make, in words for the operator; `None` where it makes all, or nobody knows.
pub fn shortfall(backend: &Backend, model: Option<&str>, resolutions: &[String]) -> Option<String> {
    let largest = match &backend.kind {
        BackendKind::Gemini { .. } => gemini::largest(model?),
        BackendKind::OpenAi { .. } => openai::largest(model?),
        BackendKind::Procedural | BackendKind::SdApi { .. } | BackendKind::ComfyUi { .. } => None,
    }?;
    let lacking: Vec<&str> = resolutions
        .iter()
        .filter(|word| word.parse().is_ok_and(|it: Resolution| it > largest))
        .map(String::as_str)
        .collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "the model {} makes at most {largest}, and the tier sells {}: its pictures will be smaller than that",
            model.unwrap_or_default(),
            lacking.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};

    #[test]
    fn openai_and_gemini_need_to_be_told_a_model_and_servers_with_one_do_not() {
        let needs = |kind: &str, base_url: &str| {
            let env = [("KIND", kind), ("BASE_URL", base_url)];
            let name = |key: &str| format!("TINTYPE__BACKENDS__FAR__{key}");
            let sources = Sources {
                env: env.map(|(key, value)| (name(key), value.to_owned())).into(),
                ..Sources::default()
            };
            needs_model(&Config::load(&sources).unwrap().backends["far"])
        };
        assert!(needs("openai", "https://api.openai.com/v1"));
        assert!(needs("gemini", "https://generativelanguage.googleapis.com"));
        for (kind, url) in [
            ("openai", "http://127.0.0.1:8000/v1"),
            ("openai", "https://api.openai.com.example/v1"),
            ("sdapi", "http://127.0.0.1:7860"),
            ("comfyui", "http://127.0.0.1:8188"),
        ] {
            assert!(!needs(kind, url), "{kind} {url}");
        }
    }
}
