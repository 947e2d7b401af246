//! The defaults are the documented ones, and equal the `config.toml` of the repository.

use std::path::Path;
use std::time::Duration;

use rust_decimal::Decimal;

use super::super::DEFAULT_TOML;
use super::super::{BackendKind, Config, LogFormat, Sources, TierConfig};
use super::{TestConfig, assert_same, defaults};

fn prices(tier: &TierConfig) -> Vec<(&str, String)> {
    tier.prices
        .iter()
        .map(|(k, v)| (k.as_str(), v.to_string()))
        .collect()
}

#[test]
fn every_default_is_the_documented_value() {
    let c = defaults();
    assert_eq!(c.server.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(c.server.public_url, None);
    assert_eq!(c.server.metrics_listen, None);
    assert_eq!(c.server.workers, 0);
    assert_eq!(c.server.max_body_bytes, 1_048_576);
    assert_eq!(c.server.body_timeout(), Duration::from_secs(30));
    assert_eq!(c.server.shutdown_grace(), Duration::from_secs(30));
    assert_eq!(c.drain(), Duration::ZERO);
    assert_eq!(c.storage.data_dir, Path::new("data"));
    assert_eq!(c.storage.objects, None);
    assert_eq!(c.storage.cache_bytes, 64 * 1024 * 1024);
    assert_eq!(c.storage.commit_timeout(), Duration::from_secs(5));
    assert_eq!(c.admin.token, None);
    assert_eq!(c.operator.webhook_url, None);
    assert_eq!(c.operator.webhook_secret, None);
    assert_eq!(c.operator.disk_low_bytes, 1 << 30);
    assert!(c.server.trusted_proxies.is_empty());
    assert_eq!(c.audit.retention(), Some(Duration::from_secs(365 * 86_400)));
    assert!(c.egress.allow.is_empty() && c.egress.deny.is_empty());
    assert!(c.egress.extra_ca_file.is_none());
    let delays: Vec<u64> = c
        .webhooks
        .retry_delays()
        .iter()
        .map(Duration::as_secs)
        .collect();
    assert_eq!(delays, [60, 120, 300, 600, 900, 1200]);
    assert_eq!(c.webhooks.attempt_timeout(), Duration::from_secs(10));
    assert_eq!(
        c.webhooks.delivery_retention(),
        Some(Duration::from_secs(30 * 86_400))
    );
    assert_eq!(c.inputs.timeout(), Duration::from_secs(30));
    assert_eq!(c.inputs.max_total_bytes, 200_000_000);
    assert_eq!(c.inputs.max_pixels, 25_000_000);
    assert_eq!(c.results.url_lifetime(), Duration::from_secs(24 * 3600));
    assert_eq!(
        c.results.retention(),
        Some(Duration::from_secs(30 * 86_400))
    );
    assert_eq!(c.jobs.max_runs, 3);
    assert_eq!(c.jobs.max_prompt_chars, 32_768);
    assert_eq!(c.jobs.max_live, 1_000_000);
    assert_eq!(c.jobs.max_live_per_account, 100_000);
    assert_eq!(c.jobs.max_creations_under_way, 8_192);
    assert_eq!(c.jobs.timeout(), Duration::from_secs(3_600));
    assert_eq!(c.batches.max_requests, 10_000);
    assert_eq!(c.batches.price_factor.to_string(), "1");
    assert_eq!(c.batches.max_files_per_account, 1_000);
    assert_eq!(c.batches.max_file_bytes_per_account, 1 << 30);
    assert_eq!(
        c.batches.file_retention(),
        Some(Duration::from_secs(30 * 86_400))
    );
    assert_eq!(c.idempotency.retention(), Duration::from_secs(24 * 3600));
    assert_eq!((c.limits.requests_per_second, c.limits.burst), (0, 0));
    assert_eq!((c.limits.fetches_per_second, c.limits.fetch_burst), (5, 20));
    assert_eq!(c.limits.ingest_bytes, 256 << 20);
    assert_eq!(c.limits.waiting_calls_per_account, 4_000);
    assert_eq!(c.billing.currency, "USD");
    assert_eq!(c.first_run.balance.to_string(), "100.00");
    assert_eq!(
        (c.log.filter.as_str(), c.log.format),
        (
            "info,tintype::requests=warn,actix_server=warn,object_store=warn",
            LogFormat::Text
        )
    );
    assert_eq!(c.otlp.endpoint, None);
    assert_eq!((c.otlp.sample_ratio, c.otlp.headers.len()), (1.0, 0));
    assert_eq!(c.otlp.service_name, "tintype");
    assert_eq!(c.otlp.timeout(), Duration::from_secs(10));
    assert_eq!(c.backends.len(), 1);
    assert_eq!(c.backends["builtin"].kind, BackendKind::Procedural);
    assert_eq!(c.backends["builtin"].concurrency, 2);
    assert!(c.server.workers() >= 1);
}

#[test]
fn every_default_of_the_tiers_is_the_documented_value() {
    let c = defaults();
    let subset = "1:1 2:3 3:2 3:4 4:3 4:5 5:4 9:16 16:9 21:9";
    let full = format!("{subset} 1:4 4:1 1:8 8:1 auto");
    assert_eq!(c.tiers.fast.aspect_ratios.join(" "), subset);
    assert_eq!(c.tiers.quality.aspect_ratios.join(" "), full);
    assert_eq!(c.tiers.pro.aspect_ratios.join(" "), full);
    assert_eq!(c.tiers.fast.resolutions, ["1K"]);
    assert_eq!(c.tiers.quality.resolutions, ["1K", "2K", "4K"]);
    assert_eq!(c.tiers.pro.resolutions, ["1K", "2K", "4K"]);
    let of = |list: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        list.iter().map(|(k, v)| (*k, v.to_string())).collect()
    };
    assert_eq!(prices(&c.tiers.fast), of(&[("1K", "0.039")]));
    assert_eq!(
        prices(&c.tiers.quality),
        of(&[("1K", "0.067"), ("2K", "0.101"), ("4K", "0.151")])
    );
    assert_eq!(
        prices(&c.tiers.pro),
        of(&[("1K", "0.134"), ("2K", "0.134"), ("4K", "0.24")])
    );
    assert_eq!(c.tiers.fast.prices["1K"], Decimal::new(39, 3));
    let models = |tier: &TierConfig| tier.compat_models.join(" ");
    assert_eq!(
        models(&c.tiers.fast),
        "gemini-2.5-flash-image gemini-3.1-flash-lite-image"
    );
    assert_eq!(
        models(&c.tiers.quality),
        "gemini-3.1-flash-image gemini-3.1-flash-image-preview"
    );
    assert_eq!(
        models(&c.tiers.pro),
        "gemini-3-pro-image gemini-3-pro-image-preview"
    );
    for (name, tier) in c.tiers.iter() {
        assert_eq!(tier.backends.len(), 1, "{name}");
        assert_eq!(tier.backends[0].name, "builtin");
        assert_eq!(tier.backends[0].model, None);
    }
}

#[test]
fn the_file_of_the_repository_equals_the_defaults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.toml");
    for sources in [
        Sources {
            file: Some(path.clone()),
            ..Sources::default()
        },
        Sources {
            default_file: Some(path),
            ..Sources::default()
        },
    ] {
        assert_eq!(Config::load(&sources), Ok(defaults()));
    }
}

#[test]
fn every_key_of_the_file_has_a_comment_above_it() {
    let mut above = "";
    for line in DEFAULT_TOML
        .lines()
        .take_while(|line| *line != "[backends.builtin]")
    {
        if line.contains(" = ") && !line.starts_with('#') {
            assert!(above.starts_with("# "), "{line}");
        }
        above = line;
    }
}

/// The file with its examples uncommented.
fn with_examples() -> String {
    let uncommented = |line: &str| match line.strip_prefix('#') {
        Some(example) if !example.is_empty() && !example.starts_with(' ') => format!("{example}\n"),
        _ => format!("{line}\n"),
    };
    DEFAULT_TOML.lines().map(uncommented).collect()
}

#[test]
fn the_examples_load_and_state_the_defaults_of_their_kind() {
    let key = "the-key-in-the-environment";
    let spelled_out = TestConfig::file(with_examples())
        .env("GEMINI_API_KEY", key)
        .config();
    let short = "[backends]
        google = { kind = 'gemini', base_url = 'https://generativelanguage.googleapis.com', api_key_env = 'GEMINI_API_KEY' }
        local = { kind = 'openai', base_url = 'http://127.0.0.1:8000/v1' }
        webui = { kind = 'sdapi', base_url = 'http://127.0.0.1:7860' }
        comfy = { kind = 'comfyui', base_url = 'http://127.0.0.1:8188' }";
    let short = TestConfig::file(short).env("GEMINI_API_KEY", key).config();
    assert_eq!(short.backends.len(), 5);
    assert_same(spelled_out, short);
}

#[test]
fn the_public_url_follows_the_address() {
    assert_eq!(defaults().public_url(), "http://127.0.0.1:8080");
    let any = TestConfig::nothing()
        .flag("server.listen", "0.0.0.0:0")
        .config();
    assert_eq!(any.public_url(), "http://127.0.0.1:0");
    assert_eq!(
        any.public_url_at("0.0.0.0:4711".parse().unwrap()),
        "http://127.0.0.1:4711"
    );
    let own = TestConfig::nothing()
        .flag("server.public_url", "https://pictures.example/t/")
        .config();
    assert_eq!(own.public_url(), "https://pictures.example/t");
    assert_eq!(
        own.public_url_at("127.0.0.1:1".parse().unwrap()),
        "https://pictures.example/t"
    );
}

#[test]
fn a_retention_of_zero_days_never_expires() {
    let c = TestConfig::file("results.retention_days = 0\nwebhooks.delivery_retention_days = 0")
        .config();
    assert_eq!(c.results.retention(), None);
    assert_eq!(c.webhooks.delivery_retention(), None);
    assert_eq!(c.jobs.retention(), None, "the default");
}

#[test]
fn jobs_are_kept_at_least_as_long_as_what_refers_to_them() {
    let in_file = |days: &str, others: &str| {
        let text = format!("jobs.retention_days = {days}\n{others}");
        TestConfig::file(&text).faults().join("\n")
    };
    let config = TestConfig::file("jobs.retention_days = 30").config();
    assert_eq!(
        config.jobs.retention(),
        Some(Duration::from_secs(30 * 86_400))
    );
    assert_eq!(
        in_file("7", ""),
        "config.toml:1: jobs.retention_days: 7 days would delete jobs too early, because `results.retention_days = 30` keeps \
         images for longer"
    );
    let fault = in_file("7", "results.retention_days = 7");
    assert!(fault.ends_with("`webhooks.delivery_retention_days = 30` keeps deliveries for longer"));
    let fault = in_file("90", "webhooks.delivery_retention_days = 0");
    assert!(fault.ends_with("`webhooks.delivery_retention_days = 0` keeps deliveries forever"));
    let fault = in_file("30", "idempotency.retention_hours = 721");
    assert!(fault.ends_with("`idempotency.retention_hours = 721` keeps their keys for longer"));
    let forever = TestConfig::file("idempotency.retention_hours = 721").config();
    assert_eq!(forever.jobs.retention(), None);
}

#[test]
fn uploaded_files_are_kept_at_most_as_long_as_jobs() {
    let days = |jobs: u32, files: u32| {
        let text = format!(
            "results.retention_days = 7\nwebhooks.delivery_retention_days = 7\n\
             jobs.retention_days = {jobs}\nbatches.file_retention_days = {files}"
        );
        let retention = TestConfig::file(&text).config().file_retention();
        retention.map(|it| it.as_secs() / 86_400)
    };
    assert_eq!(days(0, 0), None);
    assert_eq!(days(0, 30), Some(30));
    assert_eq!(days(7, 30), Some(7));
    assert_eq!(days(7, 0), Some(7));
    assert_eq!(days(90, 30), Some(30));
}

#[test]
fn a_node_drains_within_the_grace_period() {
    let seconds = |text: &str| {
        let node =
            "storage.url = 'postgres://localhost/tintype'\nstorage.objects = 's3://pictures'\n";
        let config =
            TestConfig::file(format!("{node}{text}")).flag("cluster.secret", "x".repeat(32));
        let config = config.config();
        [config.drain(), config.grace_after_drain()].map(|it| it.as_secs())
    };
    assert_eq!(seconds(""), [3, 27]);
    assert_eq!(seconds("server.drain_seconds = 0"), [0, 30]);
    assert_eq!(seconds("server.drain_seconds = 40"), [30, 0]);
    let single = TestConfig::file("server.drain_seconds = 40").config();
    assert!(single.drain().is_zero(), "it refuses connections at once");
    assert_eq!(single.grace_after_drain(), Duration::from_secs(30));
}
