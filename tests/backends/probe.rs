//! `tintype check-config --probe`

use crate::comfyui_stub::{Age, Stub as Comfy};
use crate::local_probe::web_ui;
use crate::service::KEY;
use crate::stub::{Reply, Stub};
use crate::support::process::Process;
use serde_json::json;
use tintype_egress::testing::server::{json, unreachable_url};

/// Probes one backend of the tier `pro`. Returns whether the command succeeded, and its lines for that backend.
fn probe(kind: &str, base_url: &str, model: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let entry = format!("[{{ name = \"far\", model = \"{model}\" }}]");
    let mut settings = vec![
        ("BACKENDS__FAR__KIND", kind),
        ("BACKENDS__FAR__BASE_URL", base_url),
        ("BACKENDS__FAR__CONCURRENCY", "1"),
        ("TIERS__PRO__BACKENDS", &entry),
    ];
    if kind != "comfyui" {
        settings.push(("BACKENDS__FAR__API_KEY", KEY));
    }
    let done = Process::command(dir.path(), &settings)
        .args(["check-config", "--probe"])
        .output()
        .unwrap();
    let output = String::from_utf8(done.stdout).unwrap();
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(
        !output.contains(KEY) && !errors.contains(KEY),
        "{output}{errors}"
    );
    // The other two models have no backend.
    let warning = "warning: the built-in generator, which is not an AI model";
    assert!(errors.starts_with(warning), "{errors}{output}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(
        output.contains("builtin\n  ok    built in, needs no network\n"),
        "{output}"
    );
    let of_far = output.split("far at ").nth(1).unwrap();
    let (_, lines) = of_far.split_once('\n').unwrap();
    (done.status.success(), lines.to_owned())
}

#[test]
fn an_existing_model_passes_and_a_missing_model_is_reported() {
    let stub = Stub::answering([Reply::error(
        "404 Not Found",
        &json!({"error": {"code": 404, "message": "models/x is not found", "status": "NOT_FOUND"}}),
    )])
    .on(
        "/v1beta/models/gemini-3-pro-image",
        Reply::json(
            &json!({"name": "models/gemini-3-pro-image", "displayName": "Nano Banana Pro"}),
        ),
    );
    let (works, output) = probe("gemini", &stub.url(""), "gemini-2.5-flash-image");
    assert!(!works);
    assert!(output.contains("  note  model pro: the model gemini-2.5-flash-image generates at most 1K, but the tier sells 2K and 4K"), "{output}");
    let asked = stub.seen().len();
    assert_eq!(
        probe("gemini", &stub.url(""), "gemini-3-pro-image"),
        (
            true,
            "  ok    model gemini-3-pro-image (Nano Banana Pro)\n".into()
        )
    );
    assert_eq!(stub.seen()[asked].header("x-goog-api-key"), Some(KEY));
    let (works, output) = probe("gemini", &stub.url(""), "x");
    assert!(
        !works && output.starts_with("  FAIL  model x: it returned 404"),
        "{output}"
    );
    assert!(
        output.contains("models/x is not found") && output.contains("`base_url`"),
        "{output}"
    );
}

#[test]
fn local_servers_are_probed_as_well() {
    let web = web_ui();
    let (works, output) = probe("sdapi", &web.url(), "sdxl.safetensors");
    assert!(
        works && output.contains("  ok    checkpoint sdxl.safetensors\n"),
        "{output}"
    );
    let (works, output) = probe("sdapi", &web.url(), "flux");
    assert!(!works, "{output}");
    let fails = "  FAIL  checkpoint flux: the server does not list it\n";
    assert!(output.contains(fails), "{output}");
    let comfy = Comfy::with(Age::New, |call| {
        let class = call.path().strip_prefix("/object_info/")?;
        Some(json(200, &json!({ class: {"input": {}} })))
    });
    let (works, output) = probe("comfyui", &comfy.url(), "second.safetensors");
    assert!(works, "{output}");
    for line in ["the workflows are valid", "checkpoint second.safetensors"] {
        assert!(output.contains(&format!("  ok    {line}\n")), "{output}");
    }
    let (works, output) = probe("comfyui", &unreachable_url(), "x");
    assert!(!works && output.contains("is it running"), "{output}");
}

#[test]
fn the_model_is_searched_for_in_the_list_of_models() {
    let stub = Stub::answering([Reply::json(
        &json!({"object": "list", "data": [{"id": "sd-cpp-local"}]}),
    )]);
    assert_eq!(
        probe("openai", &stub.url("/v1"), "sd-cpp-local"),
        (
            true,
            "  ok    it responds; its models: sd-cpp-local\n  ok    model sd-cpp-local\n  \
             note  model pro: its server is asked for 2K and 4K at full size: if the model draws duplicates or runs out of memory \
             there, set `max_pixels` of the backend\n"
                .into()
        )
    );
    assert_eq!(stub.only().target, "/v1/models");
    let (works, output) = probe("openai", &stub.url("/v1"), "other");
    assert!(!works, "{output}");
    assert!(
        output.contains("  FAIL  model other: the server does not list it\n"),
        "{output}"
    );
}

#[test]
fn each_failure_is_printed_with_advice() {
    let refused = Stub::answering([Reply::typed(
        "401 Unauthorized",
        "text/plain",
        "who are you",
    )]);
    let (works, output) = probe("openai", &refused.url("/v1"), "m");
    assert!(
        !works && output.contains("`api_key`") && output.contains("who are you"),
        "{output}"
    );
    let page = Stub::answering([Reply::typed("200 OK", "text/html", "<html></html>")]);
    let (works, output) = probe("openai", &page.url("/v1"), "m");
    assert!(
        !works && output.contains("does `base_url` name a server of this kind?"),
        "{output}"
    );
    let mut gone = Stub::answering([Reply::Nothing]);
    gone.kill();
    for kind in ["gemini", "openai"] {
        let (works, output) = probe(kind, &gone.url("/v1"), "m");
        assert!(!works && output.contains("is it running"), "{output}");
    }
}

#[test]
fn a_printed_built_in_workflow_is_accepted_as_a_configured_workflow() {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, images) in [
        (&["workflow", "text"][..], 0),
        (&["workflow", "image", "--inputs", "3"], 3),
    ] {
        let output = Process::command(dir.path(), &[]).args(arguments).output();
        let text = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(
            text.contains("{{prompt}}") && text.ends_with('\n'),
            "{text}"
        );
        let last = format!("{{{{image_{images}}}}}");
        assert_eq!(text.contains(&last), images > 0);
        std::fs::write(dir.path().join(format!("{images}.json")), text).unwrap();
    }
    let inputs_of_text = ["workflow", "text", "--inputs", "2"];
    let output = Process::command(dir.path(), &[])
        .args(inputs_of_text)
        .output();
    let output = output.unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("--inputs `2`: a text-to-image workflow"),
        "{error}"
    );
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (text, image) = (file("0.json"), file("3.json"));
    let settings = [
        ("BACKENDS__FAR__KIND", "comfyui"),
        ("BACKENDS__FAR__BASE_URL", "http://127.0.0.1:1"),
        ("BACKENDS__FAR__WORKFLOW_TEXT", &text),
        ("BACKENDS__FAR__WORKFLOW_IMAGE", &image),
    ];
    let output = Process::command(dir.path(), &settings)
        .args(["check-config", "--probe"])
        .output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(
        output.contains("  ok    the workflows are valid\n"),
        "{output}"
    );
}
