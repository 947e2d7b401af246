//! No output shows a secret: neither `render`, nor `Debug`, nor an error.

use super::super::MASK;
use super::{TestConfig, assert_same, defaults};
use std::fs;

const SECRETS: [&str; 6] = [
    "s3cret-token-of-32-characters-or-more",
    "s3cret-key",
    "s3cret-header",
    "s3cret-env",
    "user:s3cret-pass",
    WEBHOOK_SECRET,
];

const WEBHOOK_SECRET: &str = "whsec_s3cretAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn given() -> TestConfig {
    let content = "
[admin]
token = 's3cret-token-of-32-characters-or-more'
[operator]
webhook_url = 'http://10.0.0.1/hook'
webhook_secret = 'whsec_s3cretAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='
[backends.a]
kind = 'openai'
base_url = 'http://127.0.0.1:1/v1'
api_key = 's3cret-key'
headers = { X-Proxy = 's3cret-header' }
[backends.b]
kind = 'gemini'
base_url = 'https://gemini.example'
api_key_env = 'KEY_OF_B'
[backends.c]
kind = 'sdapi'
base_url = 'http://127.0.0.1:2'
api_key = 'user:s3cret-pass'
";
    TestConfig::file(content).env("KEY_OF_B", "s3cret-env")
}

#[test]
fn render_and_debug_mask_them() {
    let config = given().config();
    let debug = format!("{config:?} {config:#?}");
    let rendered = config.render();
    for secret in SECRETS {
        assert!(
            !rendered.contains(secret) && !debug.contains(secret),
            "{secret}"
        );
    }
    assert_eq!(
        rendered.matches(&format!("\"{MASK}\"")).count() - 1,
        SECRETS.len(),
        "{rendered}"
    );
    assert!(rendered.contains("api_key_env = \"KEY_OF_B\""));
    assert_eq!(
        config.backends["b"]
            .remote()
            .unwrap()
            .api_key
            .as_ref()
            .unwrap()
            .expose(),
        "s3cret-env"
    );
    assert_eq!(
        config.backends["a"].remote().unwrap().headers["x-proxy"].expose(),
        "s3cret-header"
    );
}

#[test]
fn a_rendered_configuration_loads_to_the_same_values() {
    assert_eq!(TestConfig::file(defaults().render()).config(), defaults());
    let content = "
storage.objects = 's3://bucket/prefix'
server = { public_url = 'https://x.example', metrics_listen = '127.0.0.1:9' }
egress.allow = ['10.0.0.0/8', '::1/128']
log.format = 'json'
tiers.pro.backends = [{ name = 'c', model = 'm' }, { name = 'builtin' }]
[backends.c]
kind = 'comfyui'
base_url = 'http://127.0.0.1:2'
workflow_text = 'w.json'
[backends.d]
kind = 'sdapi'
base_url = 'http://127.0.0.1:3'
cfg_scale = 1
denoising_strength = 0.3
prompt_syntax = true
restore_settings = false
prompt_template = 'a {prompt}'
override_settings = { list = ['a', 2, 1.5, true], deep = { x = 'y' } }
request = { alwayson_scripts = { deep = { args = [1] } } }
[backends.e]
kind = 'openai'
base_url = 'http://127.0.0.1:4/v1'
max_inputs = 0
max_pixels = 65_536
request = { negative_prompt = ' ', true_cfg_scale = 4.0 }
";
    let config = TestConfig::file(content).config();
    assert_same(TestConfig::file(config.render()).config(), config);
}

#[test]
fn no_error_quotes_a_secret() {
    let wrong = [
        "admin.token = ['s3cret']",
        "admin.token = { x = 's3cret' }",
        "admin.token = 's3cret with spaces'",
        "admin = 's3cret'",
        "admin.tokn = 's3cret'",
        "admin.token = \"s3cret\nworkers = 3",
        "admin.token = s3cret",
        "admin.token = 's3cret' 's3cret'",
        "admin.token = 's3cret'\nadmin.token = 's3cret'",
        "operator.webhook_secret = 's3cret'",
        "operator.webhook_secret = 'whsec_s3cret'",
        "operator.webhook_secret = ['s3cret']",
        "operator.webhook_url = 'http://u:s3cret@a'",
        "operator = { webhook_url = 's3cret' }",
        "backends.x = 's3cret'",
        "backends.x = { kind = 'openai', base_url = 'http://a', api_key = ['s3cret'] }",
        "backends.x = { kind = 'openai', base_url = 'http://a', api_key = \"s3cret\\n\" }",
        "backends.x = { kind = 'openai', base_url = 'http://a', api_kye = 's3cret' }",
        "backends.x = { kind = 'openai', base_url = 'http://a', api_key_env = 's3cret-sk' }",
        "backends.x = { kind = 'comfyui', base_url = 'http://a', api_key = 's3cret' }",
        "backends.x = { kind = 'openai', base_url = 'http://u:s3cret@a' }",
        "backends.x = { kind = 'openai', base_url = 's3cret' }",
        "backends.x = { kind = 'openai', base_url = 'http://a', headers = 's3cret' }",
        "backends.x = { kind = 'openai', base_url = 'http://a', headers = { Authorization = ['s3cret'] } }",
        "backends.x = { kind = 'openai', base_url = 'http://a', headers = { Authorization = \"s3cret\\n\" } }",
        "storage.objects = 's3://key:s3cret@bucket/x'",
        "server.public_url = 'https://u:s3cret@a'",
    ];
    for content in wrong {
        let given = TestConfig::file(content);
        let errors = given.load().expect_err(content);
        assert!(
            !format!("{errors} {errors:?}").contains("s3cret"),
            "{content}: {errors}"
        );
    }
    for (name, value) in [
        ("TINTYPE_ADMIN_TOKEN", "s3cret token"),
        ("TINTYPE_ADMIN_TOKEN", "s3cret\n"),
        ("TINTYPE__ADMIN__TOKEN", "['s3cret', 's3cret']"),
        ("TINTYPE__ADMIN__TOKEN__X", "s3cret"),
        ("TINTYPE__ADMIN", "s3cret"),
        ("TINTYPE__ADMIN", "['s3cret']"),
        ("TINTYPE__ADMIN", "{ token = 's3cret token' }"),
    ] {
        let errors = TestConfig::nothing()
            .env(name, value)
            .load()
            .expect_err(name);
        let shown = format!("{errors} {errors:?}");
        assert!(!shown.contains("s3cret"), "{name}: {errors}");
    }
    let broken = TestConfig::file(
        "backends.x = { kind = 'openai', base_url = 'http://a', api_key_env = 'K' }",
    )
    .env("K", "s3cret\n");
    assert!(!broken.load().unwrap_err().to_string().contains("s3cret"));
}

#[test]
fn a_secret_is_read_from_the_file_that_a_variable_names() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let long = file("long", &format!("{}\n", "a".repeat(40)));
    let text = "operator.webhook_url = 'https://a/b'
        backends.x = { kind = 'openai', base_url = 'http://a', api_key_env = 'K', model = 'm' }
        backends.y = { kind = 'openai', base_url = 'http://a', model = 'm' }
        backends.z = { kind = 'comfyui', base_url = 'http://a', headers = { X-Proxy = 'replaced' } }";
    let config = TestConfig::file(text)
        .env("TINTYPE_ADMIN_TOKEN_FILE", &long)
        .env("TINTYPE_SECRET_FILE", &long)
        .env(
            "TINTYPE__OPERATOR__WEBHOOK_SECRET_FILE",
            &file("hook", &format!("{WEBHOOK_SECRET}\r\n")),
        )
        .env("TINTYPE__BACKENDS__Y__API_KEY_FILE", &file("y", "123\n"))
        .env("K_FILE", &file("k", "sk-1"))
        .env(
            "TINTYPE__BACKENDS__Z__HEADERS__X_PROXY_FILE",
            &file("proxy", "p\n"),
        )
        .env(
            "TINTYPE__OTLP__HEADERS__AUTHORIZATION_FILE",
            &file("otlp", "Basic x\n"),
        )
        .load()
        .unwrap();
    assert_eq!(config.admin.token.unwrap().expose(), "a".repeat(40));
    assert_eq!(config.cluster.secret.unwrap().expose(), "a".repeat(40));
    assert!(config.operator.webhook_secret.is_some());
    let key = |name: &str| config.backends[name].remote().unwrap().api_key.clone();
    assert_eq!(key("x").unwrap().expose(), "sk-1");
    assert_eq!(key("y").unwrap().expose(), "123");
    let headers = &config.backends["z"].remote().unwrap().headers;
    for (headers, name, value) in [
        (headers, "x-proxy", "p"),
        (&config.otlp.headers, "authorization", "Basic x"),
    ] {
        let headers: Vec<_> = headers.iter().map(|(k, v)| (&**k, v.expose())).collect();
        assert_eq!(headers, [(name, value)]);
    }

    for (variable, path, expected) in [
        ("TINTYPE_SECRET_FILE", "s3cret", "cannot read the file"),
        ("TINTYPE_SECRET_FILE", &file("empty", "\n"), "is empty"),
        (
            "TINTYPE_ADMIN_TOKEN_FILE",
            &file("large", &"a".repeat(70_000)),
            "64 KiB",
        ),
        ("TINTYPE__SERVER__LISTEN_FILE", &long, "unknown key"),
        ("K_FILE", "s3cret", "K_FILE: cannot read the file"),
        (
            "TINTYPE__OTLP__HEADERS__X_FILE",
            "s3cret",
            "cannot read the file",
        ),
    ] {
        let errors = TestConfig::file(text)
            .env(variable, path)
            .load()
            .unwrap_err();
        let shown = errors.to_string();
        assert!(shown.contains(expected), "{variable}: {shown}");
        assert!(!shown.contains("s3cret"), "{variable}: {shown}");
    }
}
