//! Builds the adapter of each kind of backend, and probes it.

use super::builtin::Builtin;
use super::comfyui::{self, ComfyUi};
use super::gemini::{self, Gemini};
use super::openai::{self, OpenAi};
use super::probe::Findings;
use super::sdapi::{self, SdApi};
use super::setup_error::BackendSetupError;
use crate::config::{Backend, BackendKind};
use crate::objects::ObjectStorage;
use std::collections::BTreeMap;
use std::sync::Arc;
use tintype_actors::ports::Generator;
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::tier::{Resolution, Tier};
use url::Url;

/// The generator of a configured backend. `all` are the configured backends.
pub fn generator(
    name: &str,
    backend: &Backend,
    all: &BTreeMap<String, Backend>,
    objects: &ObjectStorage,
) -> Result<Arc<dyn Generator>, BackendSetupError> {
    let objects = objects.clone();
    Ok(match &backend.kind {
        BackendKind::Procedural => Arc::new(Builtin::new(objects)),
        BackendKind::Gemini { remote, .. } => Arc::new(Gemini::new(name, remote, objects)?),
        BackendKind::OpenAi {
            remote, dialect, ..
        } => Arc::new(OpenAi::new(name, remote, dialect.clone(), objects)?),
        BackendKind::SdApi { remote, settings } => {
            let same_server = all.values().filter(|it| it.shares_server(backend));
            let concurrency = same_server.map(|it| it.concurrency).sum();
            let settings = settings.clone();
            Arc::new(SdApi::new(name, remote, settings, concurrency, objects)?)
        }
        BackendKind::ComfyUi { remote, settings } => {
            Arc::new(ComfyUi::new(name, remote, settings.clone(), objects)?)
        }
    })
}

/// Reads the files that the settings name, as [`generator`] does, without a request.
///
/// # Errors
/// See [`BackendSetupError`].
pub fn check_files(name: &str, backend: &Backend) -> Result<(), BackendSetupError> {
    match &backend.kind {
        BackendKind::ComfyUi { settings, .. } => comfyui::check_files(name, settings),
        BackendKind::Procedural
        | BackendKind::Gemini { .. }
        | BackendKind::OpenAi { .. }
        | BackendKind::SdApi { .. } => Ok(()),
    }
}

/// Probes a configured backend. `models` are the models that the tiers will request; may be empty.
pub async fn probe(
    name: &str,
    backend: &Backend,
    models: Vec<String>,
) -> Result<Findings, BackendSetupError> {
    match &backend.kind {
        BackendKind::Gemini { remote, .. } => gemini::probe(name, remote, models).await,
        BackendKind::OpenAi { remote, .. } => openai::probe(name, remote, models).await,
        BackendKind::SdApi { remote, settings } => {
            sdapi::probe(name, remote, settings, models).await
        }
        BackendKind::ComfyUi { remote, settings } => {
            comfyui::probe(name, remote, settings, models).await
        }
        BackendKind::Procedural => {
            let mut findings = Findings::default();
            findings.works("built in, needs no network");
            Ok(findings)
        }
    }
}

/// The model that a tier requests from a backend: the one in the tier's entry, else the backend's own, else, for the Gemini API,
/// the tier's first compat model id, because those ids are names of Gemini models.
pub fn model(backend: &Backend, listed: Option<&str>, compat_models: &[String]) -> Option<String> {
    let own = match &backend.kind {
        BackendKind::Gemini { model, .. } => model.as_ref().or(compat_models.first()),
        BackendKind::OpenAi { model, .. } => model.as_ref(),
        // The adapter picks the default checkpoint: it may have to ask the server.
        BackendKind::Procedural | BackendKind::SdApi { .. } | BackendKind::ComfyUi { .. } => None,
    };
    listed.or(own.map(String::as_str)).map(str::to_owned)
}

/// Does the backend require a model name? OpenAI itself does; a server with a single model does not.
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

/// Does the backend use the mask of an edit, with this model?
pub fn takes_mask(backend: &Backend, model: Option<&str>) -> bool {
    match &backend.kind {
        BackendKind::Procedural => true,
        BackendKind::OpenAi { dialect, .. } => openai::takes_mask(model, dialect),
        BackendKind::SdApi { settings, .. } => !settings.reference_inputs,
        BackendKind::Gemini { .. } | BackendKind::ComfyUi { .. } => false,
    }
}

/// Does the backend generate images with a transparent background, with this model?
pub fn takes_transparent(backend: &Backend, model: Option<&str>) -> bool {
    match &backend.kind {
        BackendKind::OpenAi { .. } => openai::takes_transparent(model),
        BackendKind::Procedural
        | BackendKind::Gemini { .. }
        | BackendKind::SdApi { .. }
        | BackendKind::ComfyUi { .. } => false,
    }
}

/// A message for the operator about resolutions that the tier sells and its model lacks, or may lack; `None` when the model has all of
/// them.
pub fn shortfall(
    backend: &Backend,
    model: Option<&str>,
    tier: Tier,
    resolutions: &[String],
) -> Option<String> {
    let is_unlimited = match &backend.kind {
        BackendKind::OpenAi { dialect, .. } => openai::is_unlimited(model, dialect),
        _ => false,
    };
    if is_unlimited {
        let sold = sold(resolutions, |it| it > Resolution::K1)?;
        return Some(format!(
            "its server is asked for {sold} at full size: if the model draws duplicates or runs out of memory there, set \
             `max_pixels` of the backend"
        ));
    }
    if let Some(max) = max_pixels(backend, model) {
        // A tier cannot sell less than 1K.
        let is_enlarged = |it| it > Resolution::K1 && is_larger(tier, it, max);
        let sold = sold(resolutions, is_enlarged)?;
        let how = match backend.kind {
            BackendKind::ComfyUi { .. } => "unless its workflow uses `{{final_width}}`, ",
            _ => "",
        };
        return Some(format!(
            "it generates at most {max} pixels (`max_pixels`), but the tier sells {sold}: {how}Tintype enlarges those images. To sell only \
             what it generates, set `resolutions` of the tier"
        ));
    }
    let largest = match &backend.kind {
        BackendKind::Gemini { .. } => gemini::largest(model?),
        BackendKind::OpenAi { .. } => openai::largest(model?),
        BackendKind::Procedural | BackendKind::SdApi { .. } | BackendKind::ComfyUi { .. } => None,
    }?;
    let sold = sold(resolutions, |it| it > largest)?;
    let model = model.unwrap_or_default();
    Some(format!(
        "the model {model} generates at most {largest}, but the tier sells {sold}: those images will be smaller"
    ))
}

/// The pixels that Tintype requests at most from the backend, with this model. It enlarges smaller images; `None` if the server does.
fn max_pixels(backend: &Backend, model: Option<&str>) -> Option<u64> {
    match &backend.kind {
        BackendKind::OpenAi { dialect, .. } => openai::max_pixels(model, dialect),
        BackendKind::SdApi { settings, .. } if settings.upscaler.is_some() => None,
        BackendKind::SdApi { settings, .. } => Some(settings.max_pixels),
        BackendKind::ComfyUi { settings, .. } => Some(settings.max_pixels),
        BackendKind::Procedural | BackendKind::Gemini { .. } => None,
    }
}

/// Has a square image of the resolution more pixels? Other ratios have about as many.
fn is_larger(tier: Tier, resolution: Resolution, max_pixels: u64) -> bool {
    let (width, height) = AspectRatio::SQUARE.pixels(tier, resolution);
    u64::from(width) * u64::from(height) > max_pixels
}

/// The resolutions of a tier that match, as text; `None` if there are none.
fn sold(resolutions: &[String], matches: impl Fn(Resolution) -> bool) -> Option<String> {
    let matching = resolutions
        .iter()
        .filter(|it| it.parse::<Resolution>().is_ok_and(&matches));
    let matching: Vec<&str> = matching.map(String::as_str).collect();
    (!matching.is_empty()).then(|| matching.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};

    fn backend(kind: &str, extra: &[(&str, &str)]) -> Backend {
        let base = [("KIND", kind), ("BASE_URL", "http://127.0.0.1:9/v1")];
        let keys = base.iter().chain(extra);
        let keys =
            keys.map(|(key, value)| (format!("TINTYPE__BACKENDS__FAR__{key}"), (*value).into()));
        let sources = Sources {
            env: keys.collect(),
            ..Sources::default()
        };
        let backends = Config::load(&sources).unwrap().backends;
        backends["far"].clone()
    }

    #[test]
    fn some_backends_take_masks() {
        let takes = |kind: &str, model: &str, extra: &[(&str, &str)]| {
            takes_mask(&backend(kind, extra), Some(model))
        };
        assert!(takes("openai", "gpt-image-2", &[]) && takes("sdapi", "sdxl", &[]));
        assert!(!takes("openai", "gpt-image-2", &[("MASK", "none")]));
        assert!(!takes("openai", "Qwen/Qwen-Image", &[]));
        for format in ["alpha", "luma"] {
            assert!(takes("openai", "sd-cpp-local", &[("MASK", format)]));
            let file = [("MASK", format), ("IMAGE_FIELD", "file")];
            assert!(!takes("openai", "gpt-image-2", &file));
        }
        assert!(!takes("sdapi", "sdxl", &[("REFERENCE_INPUTS", "true")]));
        assert!(!takes("gemini", "", &[]) && !takes("comfyui", "", &[]));
        let backends = Config::load(&Sources::default()).unwrap().backends;
        assert!(takes_mask(&backends["builtin"], None));
    }

    #[test]
    fn most_models_of_openai_take_a_transparent_background() {
        let takes = |kind: &str, model: &str| takes_transparent(&backend(kind, &[]), Some(model));
        for model in ["gpt-image-1", "gpt-image-1.5", "gpt-image-2.5-sunburst"] {
            assert!(takes("openai", model), "{model}");
            assert!(!takes("gemini", model) && !takes("comfyui", model));
        }
        for model in ["gpt-image-2", "gpt-image-2-2026-04-21", "Qwen/Qwen-Image"] {
            assert!(!takes("openai", model), "{model}");
        }
    }

    #[test]
    fn a_tier_that_sells_more_than_the_known_limit_of_its_model_is_reported() {
        let sells = |kind: &str, model: &str, limit: Option<&str>, resolutions: &[&str]| {
            let limit = limit.map(|it| ("MAX_PIXELS", it));
            let backend = backend(kind, limit.as_slice());
            let resolutions: Vec<String> = resolutions.iter().map(|it| (*it).into()).collect();
            shortfall(&backend, Some(model), Tier::Pro, &resolutions).unwrap_or_default()
        };
        let all = ["1K", "2K", "4K"];
        assert!(sells("openai", "gpt-image-2", None, &all).contains("at most 2K"));
        let unknown = sells("openai", "Qwen/Qwen-Image", None, &all);
        assert!(unknown.contains("set `max_pixels`"), "{unknown}");
        for (kind, limit, enlarged) in [
            ("openai", Some("1179648"), "sells 2K and 4K:"),
            ("openai", Some("4194304"), "sells 4K:"),
            ("sdapi", None, "sells 2K and 4K:"),
            ("comfyui", None, "sells 2K and 4K:"),
            (
                "comfyui",
                Some("262144"),
                "sells 2K and 4K: unless its workflow",
            ),
        ] {
            let warning = sells(kind, "Qwen/Qwen-Image", limit, &all);
            assert!(warning.contains(enlarged), "{kind} {limit:?}: {warning}");
            assert!(warning.contains("`resolutions`"), "{warning}");
        }
        for (kind, limit, resolutions) in [
            ("openai", Some("1179648"), &all[..1]),
            ("openai", None, &all[..1]),
            ("sdapi", None, &all[..1]),
            ("sdapi", Some("16777216"), &all[..]),
            ("comfyui", None, &all[..1]),
        ] {
            assert_eq!(sells(kind, "Qwen/Qwen-Image", limit, resolutions), "");
        }
        // `max_pixels` does not apply to models of OpenAI.
        let limited = sells("openai", "gpt-image-2", Some("1179648"), &all);
        assert!(limited.contains("at most 2K"), "{limited}");
    }

    #[test]
    fn openai_and_gemini_need_a_model_name_and_single_model_servers_do_not() {
        let needs =
            |kind: &str, base_url: &str| needs_model(&backend(kind, &[("BASE_URL", base_url)]));
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
