//! Tests of the backends on local GPUs: kinds `sdapi` and `comfyui`.

use std::path::Path;

use serde_json::json;

use super::super::{BackendKind, ComfyUiSettings, SdApiSettings};
use super::TestConfig;

fn file(kind: &str, lines: &str) -> TestConfig {
    TestConfig::file(format!(
        "[backends.x]\nkind = '{kind}'\nbase_url = 'http://a'\n{lines}\n"
    ))
}

fn sdapi(given: &TestConfig) -> SdApiSettings {
    match &given.config().backends["x"].kind {
        BackendKind::SdApi { settings, .. } => settings.clone(),
        other => panic!("{other:?}"),
    }
}

fn comfyui(given: &TestConfig) -> ComfyUiSettings {
    match &given.config().backends["x"].kind {
        BackendKind::ComfyUi { settings, .. } => settings.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn absent_keys_have_the_documented_defaults() {
    assert_eq!(sdapi(&file("sdapi", "")), SdApiSettings::default());
    let blank = "checkpoint = ''\nsampler = ''\nscheduler = ''\nupscaler = ''\noverride_settings = {}\nrequest = {}";
    assert_eq!(sdapi(&file("sdapi", blank)), SdApiSettings::default());
    assert_eq!(comfyui(&file("comfyui", "")), ComfyUiSettings::default());
    let given = file("sdapi", "");
    assert_eq!(given.config().backends["x"].concurrency, 1);
}

#[test]
fn every_key_is_read() {
    let settings = sdapi(&file(
        "sdapi",
        "checkpoint = 'sdxl.safetensors'\nsampler = 'DPM++ 2M'\nscheduler = 'Karras'\nsteps = 8\ncfg_scale = 1\n\
         negative_prompt = '(blurry:1.2)'\ndenoising_strength = 0.5\nmax_pixels = 262_144\nupscaler = 'R-ESRGAN 4x+'\n\
         reference_inputs = true\nprompt_syntax = true\nprompt_template = '<lora:a:1>, {prompt}'\nrestore_settings = false\n\
         request = { enable_hr = true, alwayson_scripts = { ADetailer = { args = [true] } } }\n\
         override_settings = { forge_additional_modules = ['ae', 't5'], n = 1, f = 3.5, on = true, deep = { a = [[1]] } }",
    ));
    let expected = SdApiSettings {
        checkpoint: Some("sdxl.safetensors".into()),
        sampler: Some("DPM++ 2M".into()),
        scheduler: Some("Karras".into()),
        steps: 8,
        cfg_scale: 1.0,
        negative_prompt: "(blurry:1.2)".into(),
        denoising_strength: 0.5,
        max_pixels: 262_144,
        upscaler: Some("R-ESRGAN 4x+".into()),
        reference_inputs: true,
        prompt_syntax: true,
        prompt_template: "<lora:a:1>, {prompt}".into(),
        restore_settings: false,
        request: [
            ("enable_hr", json!(true)),
            ("alwayson_scripts", json!({"ADetailer": {"args": [true]}})),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into(),
        override_settings: [
            ("forge_additional_modules", json!(["ae", "t5"])),
            ("n", json!(1)),
            ("f", json!(3.5)),
            ("on", json!(true)),
            ("deep", json!({"a": [[1]]})),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into(),
    };
    assert_eq!(settings, expected);
    let settings = comfyui(&file(
        "comfyui",
        "checkpoint = 'a'\nworkflow_text = 't.json'\nworkflow_image = 'i.json'\nmax_pixels = 65_536",
    ));
    assert_eq!(settings.checkpoint.as_deref(), Some("a"));
    assert_eq!(settings.workflow_text.as_deref(), Some(Path::new("t.json")));
    assert_eq!(
        settings.workflow_image.as_deref(),
        Some(Path::new("i.json"))
    );
    assert_eq!(settings.max_pixels, 65_536);
}

#[test]
fn the_environment_sets_numbers_switches_and_tables() {
    let given = file("sdapi", "")
        .env("TINTYPE__BACKENDS__X__CFG_SCALE", "3.5")
        .env("TINTYPE__BACKENDS__X__PROMPT_SYNTAX", "true")
        .env(
            "TINTYPE__BACKENDS__X__OVERRIDE_SETTINGS",
            "{ sd_vae = 'x' }",
        );
    let settings = sdapi(&given);
    assert_eq!((settings.cfg_scale, settings.prompt_syntax), (3.5, true));
    assert_eq!(settings.override_settings["sd_vae"], "x");
}

#[test]
fn an_invalid_value_is_reported_with_the_expectation() {
    for (line, said) in [
        (
            "steps = 0",
            "steps: expected an integer from 1 to 150, found 0",
        ),
        (
            "steps = 2.5",
            "steps: expected an integer from 1 to 150, found a float",
        ),
        (
            "cfg_scale = 31",
            "cfg_scale: expected a number from 0 to 30, found 31",
        ),
        (
            "cfg_scale = nan",
            "cfg_scale: expected a number from 0 to 30, found NaN",
        ),
        (
            "cfg_scale = '7'",
            "cfg_scale: expected a number from 0 to 30, found a string",
        ),
        (
            "denoising_strength = 1.01",
            "expected a number from 0 to 1, found 1.01",
        ),
        (
            "denoising_strength = -0.1",
            "expected a number from 0 to 1, found -0.1",
        ),
        (
            "max_pixels = 1",
            "max_pixels: expected an integer from 65536 to 268435456, found 1",
        ),
        (
            "prompt_syntax = 'yes'",
            "prompt_syntax: expected true or false, found a string",
        ),
        (
            "reference_inputs = 1",
            "reference_inputs: expected true or false, found an integer",
        ),
        (
            "override_settings = 'x'",
            "override_settings: expected a table",
        ),
        (
            "override_settings = { a = 2020-01-01 }",
            "expected strings, finite numbers",
        ),
        (
            "override_settings = { a = inf }",
            "expected strings, finite numbers",
        ),
        (
            "override_settings = { a = [[[[[[[[[1]]]]]]]]] }",
            "at most 8 deep",
        ),
        (
            "override_settings = { sd_model_checkpoint = 'x' }",
            "it goes into `checkpoint`",
        ),
        (
            "request = { seed = 1 }",
            "request: expected no seed in here; Tintype sets this field itself",
        ),
        (
            "request = { sampler_index = 'x' }",
            "expected no sampler_index in here",
        ),
        ("request = { a = inf }", "expected strings, finite numbers"),
        (
            "prompt_template = 'a fox'",
            "prompt_template: expected a text with {prompt} once",
        ),
        (
            "prompt_template = '{prompt}, {prompt}'",
            "expected a text with {prompt} once",
        ),
        (
            "prompt_template = \"{prompt}\\u0000\"",
            "expected at most 8192 bytes without NUL",
        ),
        ("sampler = ' x'", "expected a name of at most 512 bytes"),
        (
            "negative_prompt = \"a\\u0000b\"",
            "expected at most 8192 bytes without NUL",
        ),
        ("workflow_text = 'x'", "unknown key for kind \"sdapi\""),
        ("promt_syntax = true", "did you mean `prompt_syntax`?"),
    ] {
        let faults = file("sdapi", line).faults();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains(said), "{line}: {faults:?}");
    }
    for line in ["steps = 5", "sampler = 'x'", "prompt_syntax = true"] {
        let faults = file("comfyui", line).faults();
        assert!(
            faults[0].contains("unknown key for kind \"comfyui\""),
            "{faults:?}"
        );
    }
}

/// The examples are commented-out lines that users uncomment.
#[test]
fn the_examples_of_the_manual_contain_the_defaults() {
    let manual = super::super::DEFAULT_TOML;
    for name in ["webui", "comfy"] {
        let start = manual.find(&format!("\n#[backends.{name}]")).expect("it");
        let lines = manual[start + 1..].lines();
        let example: String = lines
            .take_while(|line| line.starts_with('#') && !line.starts_with("# "))
            .map(|line| format!("{}\n", &line[1..]))
            .collect();
        let config = TestConfig::file(&example).config();
        match &config.backends[name].kind {
            BackendKind::SdApi { settings, .. } => assert_eq!(*settings, SdApiSettings::default()),
            BackendKind::ComfyUi { settings, .. } => {
                assert_eq!(*settings, ComfyUiSettings::default());
            }
            other => panic!("{other:?}"),
        }
        assert!(example.contains("max_pixels = 1_179_648"), "{example}");
    }
}
