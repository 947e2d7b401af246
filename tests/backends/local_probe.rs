//! Probes of `sdapi` and `comfyui` backends.

use crate::comfyui_stub::{Age, Stub as Comfy};
use crate::fixture::{remote, run};
use crate::sdapi_stub::{Kind, Stub as WebUi};
use serde_json::json;
use tintype::backends::probe::Findings;
use tintype::backends::{comfyui, sdapi};
use tintype::config::{ComfyUiSettings, SdApiSettings};
use tintype_egress::testing::server::{json, unreachable_url};

fn ask_web_ui(url: &str, settings: &SdApiSettings, models: &[&str]) -> Findings {
    let models = models.iter().map(ToString::to_string).collect();
    run(sdapi::probe("webui", &remote(url), settings, models)).unwrap()
}

fn ask_comfyui(url: &str, settings: &ComfyUiSettings, models: &[&str]) -> Findings {
    let models = models.iter().map(ToString::to_string).collect();
    run(comfyui::probe("comfy", &remote(url), settings, models)).unwrap()
}

pub fn web_ui() -> WebUi {
    WebUi::with(Kind::Automatic, |call| {
        let list = match call.path() {
            "/sdapi/v1/sd-models" => {
                json!([{"title": "sdxl.safetensors [31e35c80fc]", "model_name": "sdxl", "filename": "/opt/s3cret/sdxl.safetensors"}])
            }
            "/sdapi/v1/samplers" => json!([{"name": "DPM++ 2M", "aliases": []}]),
            "/sdapi/v1/schedulers" => json!([{"name": "karras", "label": "Karras"}]),
            "/sdapi/v1/upscalers" => json!([{"name": "R-ESRGAN 4x+"}]),
            _ => return None,
        };
        Some(json(200, &list))
    })
}

#[test]
fn all_settings_of_a_web_ui_are_probed() {
    let stub = web_ui();
    let settings = SdApiSettings {
        sampler: Some("DPM++ 2M".into()),
        scheduler: Some("Karras".into()),
        upscaler: Some("R-ESRGAN 4x+".into()),
        checkpoint: Some("sdxl".into()),
        ..SdApiSettings::default()
    };
    let found = ask_web_ui(&stub.url(), &settings, &["sdxl.safetensors"]);
    assert_eq!(found.fails, Vec::<String>::new());
    assert!(
        found.works[0].contains("sdxl.safetensors [31e35c80fc]"),
        "{found:?}"
    );
    assert_eq!(found.works.len(), 6, "{found:?}");
    let wrong = SdApiSettings {
        sampler: Some("DPM+++".into()),
        ..SdApiSettings::default()
    };
    let found = ask_web_ui(&stub.url(), &wrong, &["flux"]);
    assert_eq!(
        found.fails,
        [
            "checkpoint flux: the server does not list it",
            "sampler DPM+++: the server does not list it"
        ]
    );
    assert!(
        stub.calls("POST /sdapi/v1/txt2img").is_empty(),
        "no image is made"
    );
}

#[test]
fn a_web_ui_without_its_api_is_reported_with_the_missing_option() {
    let stub = WebUi::start(Kind::Automatic);
    let found = ask_web_ui(&stub.url(), &SdApiSettings::default(), &[]);
    assert!(found.fails[0].contains("--api"), "{found:?}");
}

#[test]
fn nodes_and_checkpoints_of_comfyui_are_probed() {
    let stub = Comfy::with(Age::New, |call| {
        let class = call.path().strip_prefix("/object_info/")?;
        Some(json(200, &json!({ class: {"input": {}} })))
    });
    let settings = ComfyUiSettings {
        checkpoint: Some("second.safetensors".into()),
        ..ComfyUiSettings::default()
    };
    let found = ask_comfyui(
        &stub.url(),
        &settings,
        &["first.safetensors", "third.safetensors"],
    );
    assert_eq!(
        found.fails,
        ["checkpoint third.safetensors: the server does not list it"]
    );
    let works = found.works.join("\n");
    for word in [
        "first.safetensors",
        "checkpoint second.safetensors",
        "every node",
    ] {
        assert!(works.contains(word), "{works}");
    }
    assert!(!stub.calls("GET /object_info/KSampler").is_empty());
    assert!(stub.prompts().is_empty(), "nothing is made");
}

#[test]
fn a_node_that_comfyui_lacks_is_named() {
    let stub = Comfy::with(Age::New, |call| {
        let class = call.path().strip_prefix("/object_info/")?;
        let known = if class == "ImageBlend" {
            json!({})
        } else {
            json!({ class: {} })
        };
        Some(json(200, &known))
    });
    let found = ask_comfyui(&stub.url(), &ComfyUiSettings::default(), &[]);
    assert!(
        found.fails[0].starts_with("missing nodes: ImageBlend;"),
        "{found:?}"
    );
}

#[test]
fn an_unreachable_server_is_reported() {
    let url = unreachable_url();
    for found in [
        ask_web_ui(&url, &SdApiSettings::default(), &[]),
        ask_comfyui(&url, &ComfyUiSettings::default(), &[]),
    ] {
        assert!(found.fails[0].contains("no connection"), "{found:?}");
    }
}
