//! The precedence of the layers: defaults, file, environment, command line.

use super::super::DEFAULT_TOML;
use super::super::{Config, LogFormat};
use super::{TestConfig, defaults};

type Read = fn(&Config) -> String;

/// For each section, a key with a value per layer, and how to read the effective value.
const KEYS: [(&str, [&str; 3], Read); 21] = [
    ("server.listen", ["'a:1'", "'b:2'", "'c:3'"], |c| {
        format!("'{}'", c.server.listen)
    }),
    ("storage.data_dir", ["'a'", "'b'", "'c'"], |c| {
        format!("'{}'", c.storage.data_dir.display())
    }),
    (
        "admin.token",
        [
            "'a-token-0123456789-0123456789-0123'",
            "'b-token-0123456789-0123456789-0123'",
            "'c-token-0123456789-0123456789-0123'",
        ],
        |c| format!("'{}'", c.admin.token.as_ref().unwrap().expose()),
    ),
    ("operator.disk_low_bytes", ["1", "2", "0"], |c| {
        c.operator.disk_low_bytes.to_string()
    }),
    (
        "egress.allow",
        ["['10.0.0.0/8']", "['127.0.0.0/8']", "['::1/128']"],
        |c| format!("['{}']", c.egress.allow[0]),
    ),
    (
        "webhooks.retry_delays_seconds",
        ["[1]", "[2, 3]", "[]"],
        |c| format!("{:?}", c.webhooks.retry_delays_seconds),
    ),
    ("inputs.timeout_seconds", ["1", "2", "3"], |c| {
        c.inputs.timeout_seconds.to_string()
    }),
    ("results.retention_days", ["1", "2", "0"], |c| {
        c.results.retention_days.to_string()
    }),
    ("jobs.retention_days", ["31", "32", "0"], |c| {
        c.jobs.retention_days.to_string()
    }),
    ("jobs.max_runs", ["1", "2", "4"], |c| {
        c.jobs.max_runs.to_string()
    }),
    ("batches.max_requests", ["1", "2", "3"], |c| {
        c.batches.max_requests.to_string()
    }),
    ("batches.price_factor", ["'0.5'", "'0.25'", "'1'"], |c| {
        format!("'{}'", c.batches.price_factor)
    }),
    ("compat.timeout_seconds", ["1", "2", "3"], |c| {
        c.compat.timeout_seconds.to_string()
    }),
    ("idempotency.retention_hours", ["1", "2", "3"], |c| {
        c.idempotency.retention_hours.to_string()
    }),
    ("limits.burst", ["1", "2", "3"], |c| {
        c.limits.burst.to_string()
    }),
    ("billing.currency", ["'EUR'", "'CHF'", "'X'"], |c| {
        format!("'{}'", c.billing.currency)
    }),
    ("cluster.dead_after_seconds", ["2", "5", "60"], |c| {
        c.cluster.dead_after_seconds.to_string()
    }),
    ("audit.retention_days", ["1", "2", "0"], |c| {
        c.audit.retention_days.to_string()
    }),
    ("first_run.balance", ["'1'", "'2.00'", "'3'"], |c| {
        format!("'{}'", c.first_run.balance)
    }),
    ("log.filter", ["'warn'", "'debug'", "'off'"], |c| {
        format!("'{}'", c.log.filter)
    }),
    ("otlp.service_name", ["'a'", "'b'", "'c'"], |c| {
        format!("'{}'", c.otlp.service_name)
    }),
];

fn variable(key: &str) -> String {
    format!("TINTYPE__{}", key.to_uppercase().replace('.', "__"))
}

#[test]
fn each_layer_overrides_the_one_before() {
    for (key, [file, env, flag], read) in KEYS {
        let value: toml::Value =
            toml::from_str::<toml::Table>(&format!("v = {flag}")).unwrap()["v"].clone();
        let given = TestConfig::file(format!("{key} = {file}"));
        assert_eq!(read(&given.config()), file, "{key} from the file");
        let given = given.env(&variable(key), env);
        assert_eq!(read(&given.config()), env, "{key} from the environment");
        let given = given.flag(key, value.clone());
        assert_eq!(read(&given.config()), flag, "{key} from the command line");
        let given = TestConfig::nothing().flag(key, value);
        assert_eq!(
            read(&given.config()),
            flag,
            "{key} from the command line alone"
        );
    }
}

#[test]
fn rust_log_overrides_the_file_but_not_the_specific_variable() {
    let given = TestConfig::file("[log]\nfilter = 'error'\n");
    assert_eq!(given.config().log.filter, "error");
    let given = given.env("RUST_LOG", "");
    assert_eq!(
        given.config().log.filter,
        "error",
        "an empty variable counts as unset"
    );
    let given = given.env("RUST_LOG", "warn,tintype=debug");
    assert_eq!(given.config().log.filter, "warn,tintype=debug");
    let given = given.env("TINTYPE__LOG__FILTER", "off");
    assert_eq!(given.config().log.filter, "off");
}

#[test]
fn the_table_above_covers_every_section() {
    let built_in: toml::Table = toml::from_str(DEFAULT_TOML).unwrap();
    for section in built_in
        .keys()
        .filter(|name| !["backends", "tiers"].contains(&name.as_str()))
    {
        let prefix = format!("{section}.");
        assert!(
            KEYS.iter().any(|(key, ..)| key.starts_with(&prefix)),
            "{section}"
        );
    }
}

#[test]
fn keys_missing_from_a_file_have_their_defaults() {
    let c = TestConfig::file("[server]\nworkers = 3\n").config();
    let mut expected = defaults();
    expected.server.workers = 3;
    assert_eq!(c, expected);
}

#[test]
fn strings_in_the_environment_need_no_quotes() {
    let c = TestConfig::nothing()
        .env("TINTYPE__SERVER__LISTEN", "127.0.0.1:9")
        .env("TINTYPE__STORAGE__DATA_DIR", "12")
        .env("TINTYPE__BILLING__CURRENCY", "true")
        .env("TINTYPE__FIRST_RUN__BALANCE", "0.50")
        .env("TINTYPE__LOG__FORMAT", "\"json\"")
        .env("TINTYPE__JOBS__MAX_LIVE", "2_000")
        .env("TINTYPE__TIERS__FAST__PRICES__1K", "0.05")
        .config();
    assert_eq!(c.server.listen.to_string(), "127.0.0.1:9");
    assert_eq!(c.storage.data_dir.to_str(), Some("12"));
    assert_eq!(c.billing.currency, "true");
    assert_eq!(c.first_run.balance.to_string(), "0.50");
    assert_eq!(c.log.format, LogFormat::Json);
    assert_eq!(c.jobs.max_live, 2000);
    assert_eq!(c.tiers.fast.prices["1K"].to_string(), "0.05");
}

#[test]
fn one_variable_can_set_a_whole_section() {
    let c = TestConfig::nothing()
        .env("TINTYPE__JOBS__MAX_RUNS", "7")
        .env("TINTYPE__JOBS", "{ max_runs = 5, max_live = 9 }")
        .config();
    assert_eq!(
        (c.jobs.max_runs, c.jobs.max_live),
        (7, 9),
        "the more specific name wins"
    );
    assert_eq!(c.jobs.max_prompt_chars, 32_768);
}

#[test]
fn the_long_name_of_the_token_overrides_the_short_one() {
    let short =
        TestConfig::nothing().env("TINTYPE_ADMIN_TOKEN", "token-of-the-short-name-0123456789");
    assert_eq!(
        short.config().admin.token.unwrap().expose(),
        "token-of-the-short-name-0123456789"
    );
    let both = short.env("TINTYPE__ADMIN__TOKEN", "token-of-the-long-name-0123456789");
    assert_eq!(
        both.config().admin.token.unwrap().expose(),
        "token-of-the-long-name-0123456789"
    );
}

#[test]
fn an_empty_short_name_keeps_the_token_of_the_file() {
    let given = TestConfig::file("[admin]\ntoken = \"token-of-the-file-0123456789-0123\"\n")
        .env("TINTYPE_ADMIN_TOKEN", "");
    assert_eq!(
        given.config().admin.token.unwrap().expose(),
        "token-of-the-file-0123456789-0123"
    );
}

#[test]
fn the_token_of_the_environment_follows_the_rules_of_the_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    let [plain, other] = ["a".repeat(40), "b".repeat(40)];
    std::fs::write(&file, format!("{other}\n")).unwrap();
    let (quoted, file) = (format!("'{plain}'"), file.to_str().unwrap());
    let short = "TINTYPE_ADMIN_TOKEN";
    for (env, expected) in [
        (&[][..], None),
        (&[(short, "")], None),
        (&[(short, &plain)], Some(&plain)),
        (&[(short, &quoted)], Some(&plain)),
        (
            &[(short, &plain), ("TINTYPE_ADMIN_TOKEN_FILE", file)],
            Some(&other),
        ),
        (
            &[(short, &plain), ("TINTYPE__ADMIN__TOKEN", &other)],
            Some(&other),
        ),
        (&[(short, &plain), ("TINTYPE__ADMIN__TOKEN", "")], None),
        // A fault elsewhere in the environment does not matter.
        (
            &[(short, &plain), ("TINTYPE__JOBS__MAX_RUNS", "0")],
            Some(&plain),
        ),
    ] {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let token = Config::admin_token_in(env.collect()).unwrap();
        assert_eq!(
            token.as_ref().map(|it| it.expose()),
            expected.map(|it| &**it)
        );
    }
    let wrong = vec![(short.to_owned(), "s3cret".to_owned())];
    let error = Config::admin_token_in(wrong).unwrap_err().to_string();
    assert!(
        error.contains(short) && !error.contains("s3cret"),
        "{error}"
    );
}

#[test]
fn a_short_admin_token_is_rejected_with_the_expected_format_and_not_quoted() {
    let short = TestConfig::nothing().env("TINTYPE_ADMIN_TOKEN", "31-characters-are-one-too-few-x");
    let faults = short.faults().join(" ");
    assert!(
        faults.contains("32 to 512 visible ASCII characters"),
        "{faults}"
    );
    assert!(!faults.contains("one-too-few"), "{faults}");
}

#[test]
fn other_variables_are_ignored() {
    let c = TestConfig::nothing()
        .env("TINTYPE_KEY", "tt_x")
        .env("PATH", "/bin")
        .env("XTINTYPE__SERVER__LISTEN", "x")
        .config();
    assert_eq!(c, defaults());
}

#[test]
fn an_invalid_value_that_is_overridden_is_not_a_fault() {
    let given = TestConfig::file("[jobs]\nmax_runs = 0\n");
    assert_eq!(given.faults().len(), 1);
    assert_eq!(
        given
            .env("TINTYPE__JOBS__MAX_RUNS", "2")
            .config()
            .jobs
            .max_runs,
        2
    );
}

#[test]
fn the_last_flag_of_a_key_wins() {
    let c = TestConfig::nothing()
        .flag("jobs.max_runs", 1)
        .flag("jobs.max_runs", 2)
        .config();
    assert_eq!(c.jobs.max_runs, 2);
}

#[test]
fn a_short_cluster_secret_has_one_fault() {
    let short = TestConfig::file(
        "[storage]\nurl = \"postgres://me@127.0.0.1/records\"\nobjects = \"s3://pictures/here\"\n",
    )
    .env("TINTYPE_SECRET", "too-short");
    let faults = short.faults();
    assert_eq!(faults.len(), 1, "{faults:?}");
    for words in ["TINTYPE_SECRET", "32 to 512", "found 9 characters"] {
        assert!(faults[0].contains(words), "{faults:?}");
    }
}
