//! Warnings about valid settings that are probably not intended.

use super::super::Config;
use super::TestConfig;

#[test]
fn an_own_server_with_the_concurrency_of_a_hosted_service_is_warned_about() {
    let warnings = |url: &str, line: &str| {
        let file = format!(
            "[backends.gpu]\nkind = 'openai'\nbase_url = '{url}'\n{line}\n[tiers.fast]\nbackends = [{{ name = 'gpu' }}]\n"
        );
        other_warnings(&TestConfig::file(file).config())
    };
    let own = "http://127.0.0.1:8000/v1";
    let warned = warnings(own, "");
    assert_eq!(warned.len(), 1);
    assert!(
        warned[0].starts_with("the backend `gpu` gets 4 requests at the same time"),
        "{warned:?}"
    );
    assert_eq!(warnings(own, "concurrency = 4"), [""; 0]);
    assert_eq!(warnings("https://api.openai.com/v1", ""), [""; 0]);
}

#[test]
fn a_listener_that_other_machines_reach_without_https_is_warned_about() {
    let listening = |listen: &str, public_url: &str| {
        let file = format!("[server]\nlisten = '{listen}'\npublic_url = '{public_url}'\n");
        other_warnings(&TestConfig::file(&file).config()).join(" ")
    };
    for quiet in ["127.0.0.9:80", "[::1]:80", "localhost:80"] {
        assert_eq!(listening(quiet, ""), "");
    }
    assert_eq!(listening("0.0.0.0:80", "https://pictures.example"), "");
    for open in ["0.0.0.0:80", "[::]:80", "192.0.2.1:80", "pictures:80"] {
        for url in ["", "http://pictures.example"] {
            let warning = listening(open, url);
            assert!(
                warning.starts_with(&format!("other machines reach `{open}`")),
                "{warning}"
            );
        }
    }
}

#[test]
fn a_backend_that_no_tier_uses_is_warned_about() {
    let gpu = "[backends.gpu]\nkind = 'openai'\nbase_url = 'https://a'\n";
    let warnings = other_warnings(&TestConfig::file(gpu).config());
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("no model uses the backend `gpu`"));
    let used = format!("{gpu}[tiers.fast]\nbackends = [{{ name = 'gpu' }}]\n");
    assert_eq!(other_warnings(&TestConfig::file(used).config()), [""; 0]);
}

#[test]
fn models_of_the_built_in_generator_beside_a_configured_one_are_warned_about() {
    let gpu = "[backends.gpu]\nkind = 'openai'\nbase_url = 'https://a'\n";
    let with = |models: &[&str]| {
        let tier = |model: &&str| format!("[tiers.{model}]\nbackends = [{{ name = 'gpu' }}]\n");
        let tiers: String = models.iter().map(tier).collect();
        TestConfig::file(format!("{gpu}{tiers}"))
            .config()
            .warnings()
    };
    let warnings = with(&["quality"]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("of the models `fast` and `pro`"),
        "{warnings:?}"
    );
    assert!(
        warnings[0].contains("`tintype pause set fast pro`"),
        "{warnings:?}"
    );
    let warnings = with(&["quality", "fast"]);
    assert!(warnings[0].contains("of the model `pro`"), "{warnings:?}");
    assert_eq!(with(&["fast", "quality", "pro"]), [""; 0]);
    assert_eq!(TestConfig::file("").config().warnings(), [""; 0]);
}

/// The warnings of a configuration that gives some models no backend, but for the warning about that.
fn other_warnings(config: &Config) -> Vec<String> {
    let mut warnings = config.warnings();
    warnings.retain(|it| !it.starts_with("the built-in generator, which"));
    warnings
}

#[test]
fn the_built_in_generator_behind_another_backend_is_warned_about() {
    let with = |backends: &str| {
        let gpu = "[backends.gpu]\nkind = 'openai'\nbase_url = 'https://a'\n";
        let file = format!("{gpu}[tiers.pro]\nbackends = [{backends}]\n");
        other_warnings(&TestConfig::file(&file).config())
    };
    let [gpu, builtin] = ["{ name = 'gpu' }", "{ name = 'builtin' }"];
    assert_eq!(with(gpu), [""; 0]);
    assert_eq!(with(&format!("{builtin}, {gpu}")), [""; 0]);
    let warnings = with(&format!("{gpu}, {builtin}"));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("[tiers.pro]"), "{warnings:?}");
    // Backends without a weight are fallbacks of those with one, wherever they are in the list.
    let weighted = "{ name = 'gpu', weight = 1 }";
    assert_eq!(with(&format!("{builtin}, {weighted}")).len(), 1);
    let weighted = "{ name = 'builtin', weight = 1 }";
    assert_eq!(with(&format!("{weighted}, {gpu}")).len(), 1);
    assert_eq!(with("{ name = 'gpu', weight = 1 }"), [""; 0]);
}

#[test]
fn backends_of_one_local_server_are_warned_about() {
    let with = |kind: &str, urls: [&str; 2]| {
        let backend = |(name, url)| {
            format!(
                "[backends.{name}]\nkind = '{kind}'\nbase_url = '{url}'\n[tiers.{name}]\nbackends = [{{ name = '{name}' }}]\n"
            )
        };
        let files = ["fast", "pro"].into_iter().zip(urls).map(backend);
        TestConfig::file(files.collect::<String>()).config()
    };
    let one = ["http://127.0.0.1:1", "http://127.0.0.1:1/"];
    for kind in ["sdapi", "comfyui"] {
        let config = with(kind, one);
        assert!(config.backends["fast"].shares_server(&config.backends["pro"]));
        let warnings = other_warnings(&config);
        assert_eq!(warnings.len(), 1);
        let said = "the backends `fast` and `pro` use one server, http://127.0.0.1:1, but";
        assert!(warnings[0].starts_with(said), "{warnings:?}");
        for other in ["http://127.0.0.1:2", "http://127.0.0.1:1/gpu2"] {
            let config = with(kind, [one[0], other]);
            assert!(!config.backends["fast"].shares_server(&config.backends["pro"]));
            assert_eq!(other_warnings(&config), [""; 0]);
        }
    }
    let warnings = other_warnings(&with("openai", one));
    assert!(
        !warnings.iter().any(|it| it.contains("use one server")),
        "{warnings:?}"
    );
}

#[test]
fn a_tier_whose_attempts_may_outlast_a_run_is_warned_about() {
    assert_eq!(TestConfig::file("").config().warnings(), [""; 0]);
    let two = "[backends.a]\nkind = 'openai'\nbase_url = 'https://a'\n[backends.b]\nkind = 'sdapi'\n\
               base_url = 'http://127.0.0.1:2'\n[tiers.pro]\nbackends = [{ name = 'a' }, { name = 'b' }]\n";
    let given =
        |seconds: u64| TestConfig::file(format!("{two}[jobs]\ntimeout_seconds = {seconds}\n"));
    assert_eq!(
        other_warnings(&TestConfig::file(two).config()),
        [""; 0],
        "the defaults fit"
    );
    assert_eq!(other_warnings(&given(1_800).config()), [""; 0]);
    let warnings = other_warnings(&given(1_799).config());
    assert_eq!(warnings.len(), 1);
    for word in ["model `pro`", "1800 s", "1799 s"] {
        assert!(warnings[0].contains(word), "{warnings:?}");
    }
}
