//! Tests of `[backends.*]`: each kind has its own keys, in all layers.

use std::time::Duration;

use serde_json::json;

use super::super::{BackendKind, Config, ImageField, MaskFormat, ResponseFormat, SeedFormat};
use super::TestConfig;

const OPENAI: &str = "[backends.gpu]\nkind = 'openai'\nbase_url = 'http://127.0.0.1:8000/v1/'\n";

fn with(kind: &str, line: &str) -> Vec<String> {
    TestConfig::file(format!("[backends.x]\nkind = '{kind}'\n{line}\n")).faults()
}

#[test]
fn a_backend_has_the_defaults_of_its_kind() {
    let c = TestConfig::file(OPENAI).config();
    let gpu = &c.backends["gpu"];
    let remote = gpu.remote().unwrap();
    assert_eq!(remote.base_url, "http://127.0.0.1:8000/v1");
    assert_eq!(
        (gpu.concurrency, remote.retries, remote.timeout()),
        (4, 2, Duration::from_secs(300))
    );
    assert_eq!((&remote.api_key, remote.headers.len()), (&None, 0));
    assert!(matches!(&gpu.kind, BackendKind::OpenAi { model: None, .. }));
    assert!(c.backends["builtin"].remote().is_none());
}

#[test]
fn nodes_share_the_slots_of_a_backend_on_one_machine() {
    let shared = |kind: &str, line: &str| {
        let url = if kind == "procedural" {
            ""
        } else {
            "base_url = 'http://127.0.0.1:8000/v1'"
        };
        let file = format!("[backends.x]\nkind = '{kind}'\n{url}\n{line}\n");
        TestConfig::file(file).config().backends["x"].shared
    };
    for (kind, by_default) in [
        ("procedural", false),
        ("openai", false),
        ("sdapi", true),
        ("comfyui", true),
    ] {
        assert_eq!(shared(kind, ""), by_default, "{kind}");
        assert!(shared(kind, "shared = true") && !shared(kind, "shared = false"));
    }
}

#[test]
fn the_environment_sets_keys_of_a_backend() {
    let c = TestConfig::file(OPENAI.replace("gpu", "My-GPU"))
        .env("TINTYPE__BACKENDS__MY_GPU__CONCURRENCY", "7")
        .env("TINTYPE__BACKENDS__MY_GPU__API_KEY", "12345")
        .env("TINTYPE__BACKENDS__MY_GPU__HEADERS", "{ X-Team = 'a' }")
        .env(
            "TINTYPE__BACKENDS__NEW",
            "{ kind = 'comfyui', base_url = 'http://127.0.0.1:8188' }",
        )
        .env("TINTYPE__BACKENDS__BUILTIN__CONCURRENCY", "1")
        .config();
    let gpu = &c.backends["My-GPU"];
    assert_eq!(gpu.concurrency, 7);
    assert_eq!(
        gpu.remote().unwrap().api_key.as_ref().unwrap().expose(),
        "12345"
    );
    assert_eq!(gpu.remote().unwrap().headers["x-team"].expose(), "a");
    assert!(matches!(
        c.backends["new"].kind,
        BackendKind::ComfyUi { .. }
    ));
    assert_eq!(c.backends["builtin"].concurrency, 1);
    assert_eq!(c.backends.len(), 3);
}

#[test]
fn a_flag_sets_a_key_of_a_backend() {
    let c = TestConfig::file(OPENAI)
        .flag("backends.gpu.retries", 0)
        .config();
    assert_eq!(c.backends["gpu"].remote().unwrap().retries, 0);
}

#[test]
fn a_key_of_another_kind_is_refused_with_the_right_one() {
    let base = "base_url = 'http://a'";
    assert!(with("procedural", base)[0].ends_with("unknown key for kind \"procedural\""));
    assert!(with("procedural", "headers = {}")[0].ends_with("unknown key for kind \"procedural\""));
    assert!(
        with("sdapi", &format!("{base}\nmodel = 'x'"))[0]
            .ends_with("there it is called `checkpoint`")
    );
    assert!(
        with("openai", &format!("{base}\ncheckpoint = 'x'"))[0]
            .ends_with("there it is called `model`")
    );
    assert!(
        with("gemini", &format!("{base}\nworkflow_text = 'x'"))[0]
            .ends_with("unknown key for kind \"gemini\"")
    );
    assert!(with("comfyui", &format!("{base}\napi_key = 'x'"))[0].contains("`headers`"));
    assert!(
        with("openai", &format!("{base}\ntimout_seconds = 1"))[0]
            .ends_with("did you mean `timeout_seconds`?")
    );
}

#[test]
fn the_dialect_of_an_openai_server_is_read_and_no_other_kind_has_one() {
    let base = "base_url = 'http://a'";
    let file = format!("[backends.x]\nkind = 'openai'\n{base}\n");
    let dialect = |file: String| match TestConfig::file(file).config().backends["x"].kind.clone() {
        BackendKind::OpenAi { dialect, .. } => dialect,
        other => panic!("{other:?}"),
    };
    let plain = dialect(file.clone());
    assert_eq!(
        (
            plain.response_format,
            plain.image_field,
            plain.mask,
            plain.seed,
            plain.quality
        ),
        (
            ResponseFormat::Auto,
            ImageField::Auto,
            MaskFormat::Auto,
            SeedFormat::Auto,
            None
        )
    );
    let set = "response_format = 'none'\nimage_field = 'image[]'\nmask = 'luma'\nquality = 'high'";
    let configured = dialect(format!("{file}{set}\nseed = 'sd_cpp_extra_args'\n"));
    assert_eq!(configured.seed, SeedFormat::SdCppExtraArgs);
    assert_eq!(
        (
            configured.response_format,
            configured.image_field,
            configured.mask
        ),
        (
            ResponseFormat::None,
            ImageField::ImageList,
            MaskFormat::Luma
        )
    );
    assert_eq!(configured.quality.as_deref(), Some("high"));
    assert!(
        with("openai", &format!("{base}\nresponse_format = 'url'"))[0]
            .contains("one of: auto, b64_json, none")
    );
    assert!(
        with("openai", &format!("{base}\nimage_field = 'images'"))[0]
            .contains("one of: auto, image, image[], file")
    );
    assert!(
        with("openai", &format!("{base}\nmask = 'red'"))[0]
            .contains("one of: auto, alpha, luma, none")
    );
    assert!(
        with("openai", &format!("{base}\nseed = '42'"))[0]
            .contains("one of: auto, field, sd_cpp_extra_args, none")
    );
    assert!(
        with("gemini", &format!("{base}\nquality = 'high'"))[0].ends_with("only \"openai\" has it")
    );
}

#[test]
fn the_limits_of_an_openai_model_are_read() {
    let base = "base_url = 'http://a'";
    let dialect = |lines: &str| {
        let file = format!("[backends.x]\nkind = 'openai'\n{base}\n{lines}\n");
        match TestConfig::file(file).config().backends["x"].kind.clone() {
            BackendKind::OpenAi { dialect, .. } => dialect,
            other => panic!("{other:?}"),
        }
    };
    let limits = |lines: &str| {
        let read = dialect(lines);
        (read.max_inputs, read.max_pixels)
    };
    assert_eq!(limits(""), (16, None));
    assert_eq!(limits("max_inputs = 1\nmax_pixels = 0"), (1, None));
    assert_eq!(
        limits("max_inputs = 0\nmax_pixels = 1_179_648"),
        (0, Some(1_179_648))
    );
    for (line, expected) in [
        ("max_inputs = 17", "an integer from 0 to 16"),
        ("max_pixels = 1", "an integer from 65536 to"),
    ] {
        let faults = with("openai", &format!("{base}\n{line}"));
        assert!(faults[0].contains(expected), "{faults:?}");
    }
    assert!(
        with("gemini", &format!("{base}\nmax_pixels = 65_536"))[0]
            .ends_with("unknown key for kind \"gemini\"")
    );
}

#[test]
fn fields_that_tintype_sets_are_no_further_fields_of_requests() {
    let base = "base_url = 'http://a'";
    let file = format!(
        "[backends.x]\nkind = 'openai'\n{base}\nrequest = {{ true_cfg_scale = 4.0, negative_prompt = ' ' }}\n"
    );
    let BackendKind::OpenAi { dialect, .. } =
        TestConfig::file(file).config().backends["x"].kind.clone()
    else {
        panic!("another kind");
    };
    let fields: Vec<_> = dialect.request.into_iter().collect();
    assert_eq!(
        fields,
        [
            ("negative_prompt".to_owned(), json!(" ")),
            ("true_cfg_scale".to_owned(), json!(4.0))
        ]
    );
    for name in ["prompt", "size", "n", "seed", "output_format", "quality"] {
        let faults = with("openai", &format!("{base}\nrequest = {{ {name} = 1 }}"));
        assert_eq!(faults.len(), 1);
        let expected = format!(
            "backends.x.request: expected no {name} in here; Tintype sets this field itself"
        );
        assert!(faults[0].ends_with(&expected), "{faults:?}");
    }
}

#[test]
fn kind_and_base_url_are_needed_and_checked() {
    assert!(with("openai", "")[0].ends_with("backends.x.base_url: missing, but required"));
    assert!(with("openia", "base_url = 'http://a'")[0].contains("did you mean `openai`?"));
    assert!(
        with("openai", "base_url = 'localhost:8000'")[0]
            .contains("begins with http:// or https://")
    );
    assert!(with("openai", "base_url = ''")[0].contains("begins with http:// or https://"));
    let missing = TestConfig::file("[backends.x]\nbase_url = 'http://a'\n").faults();
    assert_eq!(
        missing,
        [
            "config.toml:1: backends.x.kind: missing, expected one of: procedural, gemini, openai, sdapi, comfyui"
        ]
    );
    let from_env = TestConfig::nothing()
        .env("TINTYPE__BACKENDS__X__CONCURRENCY", "1")
        .faults();
    assert!(
        from_env[0]
            .starts_with("environment variable TINTYPE__BACKENDS__X__CONCURRENCY: backends.x.kind")
    );
}

#[test]
fn the_builtin_backend_is_always_procedural() {
    let faults =
        TestConfig::file("[backends.builtin]\nkind = 'gemini'\nbase_url = 'https://a'").faults();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].contains("always procedural"), "{faults:?}");
    let second = TestConfig::file("[backends.more]\nkind = 'procedural'\nconcurrency = 3").config();
    assert_eq!(second.backends["more"].concurrency, 3);
}

#[test]
fn a_faulty_backend_is_reported_once_and_not_as_missing() {
    let content = "[backends.x]\nkind = 'opnai'\n[tiers.fast]\nbackends = [{ name = 'x' }]";
    assert_eq!(TestConfig::file(content).faults().len(), 1);
}

#[test]
fn names_and_headers_are_validated() {
    assert!(
        TestConfig::file("[backends.\"a b\"]\nkind = 'procedural'").faults()[0]
            .contains("expected a name of")
    );
    assert!(
        TestConfig::file("[backends.\"\"]\nkind = 'procedural'").faults()[0]
            .contains("expected a name of")
    );
    let base = "base_url = 'http://a'";
    assert!(
        with("openai", &format!("{base}\nheaders = {{ 'a b' = 'x' }}"))[0]
            .contains("name of an HTTP header")
    );
    assert!(
        with("openai", &format!("{base}\nheaders = {{ Host = 'x' }}"))[0]
            .contains("HTTP client sets")
    );
    assert!(
        with(
            "openai",
            &format!("{base}\nheaders = {{ X-A = 'x', x-a = 'y' }}")
        )[0]
        .contains("twice")
    );
    assert!(
        with("openai", &format!("{base}\nheaders = {{ X-A = 1 }}"))[0].contains("found an integer")
    );
}

#[test]
fn an_api_key_from_the_environment_is_required_once_a_tier_uses_the_backend() {
    let unused = "[backends.g]\nkind = 'gemini'\nbase_url = 'https://a'\napi_key_env = 'G_KEY'\n";
    let used = format!("{unused}[tiers.fast]\nbackends = [{{ name = 'g' }}]\n");
    let key = |given: TestConfig| {
        given.config().backends["g"]
            .remote()
            .unwrap()
            .api_key
            .clone()
    };
    assert_eq!(key(TestConfig::file(unused)), None);
    let faults = TestConfig::file(&used).faults();
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0].contains("config.toml:6: tiers.fast.backends[0].name"),
        "{faults:?}"
    );
    assert!(
        faults[0].contains("environment variable G_KEY, which is not set"),
        "{faults:?}"
    );
    // Not the value: a user who confuses the two keys writes the secret itself here.
    let confused = TestConfig::file(used.replace("G_KEY", "AIzaS3cret"));
    let faults = confused.faults();
    assert!(
        faults[0].contains("variable that api_key_env of [backends.g] names")
            && !faults[0].contains("AIzaS3cret"),
        "{faults:?}"
    );
    // The variable may be set only for the service, so other processes do not require it.
    let command = TestConfig::file(&used);
    assert!(Config::load_for_command(&command.sources).is_ok());
    assert!(
        !TestConfig::file(&used).env("G_KEY", "").faults().is_empty(),
        "an empty variable counts as unset"
    );
    assert_eq!(
        key(TestConfig::file(&used).env("G_KEY", "k"))
            .unwrap()
            .expose(),
        "k"
    );
    let written = TestConfig::file(&used)
        .env("TINTYPE__BACKENDS__G__API_KEY", "w")
        .env("G_KEY", "k");
    assert_eq!(
        key(written).unwrap().expose(),
        "w",
        "the configured key wins"
    );
}
