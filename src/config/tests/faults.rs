//! All faults are reported at once, each with location, key and expectation.

use super::super::Config;
use super::TestConfig;
use std::fs;

fn only(given: &TestConfig) -> String {
    let faults = given.faults();
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults[0].clone()
}

fn in_file(content: &str) -> String {
    only(&TestConfig::file(content))
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_likely_meaning() {
    let unknown = |content| in_file(content);
    assert_eq!(
        unknown("[server]\nworkers = 1\nlisten_ = 'x'\n"),
        "config.toml:3: server.listen_: unknown key; did you mean `listen`?"
    );
    assert_eq!(
        unknown("\n[sever]\nx = 1"),
        "config.toml:2: sever: unknown key; did you mean `server`?"
    );
    assert_eq!(
        unknown("[server]\ndata_dir = 'x'"),
        "config.toml:2: server.data_dir: unknown key here; `data_dir` belongs to [storage]"
    );
    assert_eq!(
        unknown("[idempotency]\nttl = 3"),
        "config.toml:2: idempotency.ttl: unknown key; expected one of: retention_hours"
    );
    assert_eq!(
        unknown("listen = ':80'"),
        "config.toml:1: listen: unknown key here; `listen` belongs to [server]"
    );
    assert_eq!(
        unknown("[tiers.fast]\nprice = {}"),
        "config.toml:2: tiers.fast.price: unknown key; did you mean `prices`?"
    );
    assert!(unknown("[tiers.slow]\nx = 1").contains("tiers.slow: unknown key"));
}

#[test]
fn an_unknown_key_is_found_in_environment_and_flags_too() {
    assert_eq!(
        only(&TestConfig::nothing().env("TINTYPE__SERVER__LISTN", "x")),
        "environment variable TINTYPE__SERVER__LISTN: server.listn: unknown key; did you mean `listen`?"
    );
    assert_eq!(
        only(&TestConfig::nothing().flag("server.listn", "x")),
        "command line, flag for server.listn: server.listn: unknown key; did you mean `listen`?"
    );
    assert!(
        only(&TestConfig::nothing().env("TINTYPE__SERVER", "x"))
            .ends_with("server: expected a table, found a string")
    );
    assert!(only(&TestConfig::nothing().env("TINTYPE__", "x")).contains("TINTYPE__SERVER__LISTEN"));
}

#[test]
fn a_wrong_type_names_both_types() {
    let cases = [
        (
            "server.listen = 8080",
            "server.listen: expected a string in quotes, found an integer",
        ),
        (
            "jobs.max_runs = '3'",
            "jobs.max_runs: expected an integer from 1 to 100, found a string",
        ),
        (
            "jobs.max_runs = 3.0",
            "jobs.max_runs: expected an integer from 1 to 100, found a float",
        ),
        (
            "jobs.max_runs = true",
            "jobs.max_runs: expected an integer from 1 to 100, found a boolean",
        ),
        (
            "jobs.max_runs = 2026-01-01",
            "jobs.max_runs: expected an integer from 1 to 100, found a date",
        ),
        (
            "egress.allow = '10.0.0.0/8'",
            "egress.allow: expected a list, found a string",
        ),
        (
            "egress.allow = [1]",
            "egress.allow[0]: expected a string in quotes, found an integer",
        ),
        ("jobs = 3", "jobs: expected a table, found an integer"),
        (
            "server.listen.host = 'x'",
            "server.listen: expected a string in quotes, found a table",
        ),
        (
            "first_run.balance = 100.00",
            "first_run.balance: expected a string in quotes, found a float",
        ),
    ];
    for (content, expected) in cases {
        assert_eq!(in_file(content), format!("config.toml:1: {expected}"));
    }
    let hint = only(&TestConfig::nothing().env("TINTYPE__EGRESS__ALLOW", "10.0.0.0/8"));
    assert!(hint.contains("written as in TOML"), "{hint}");
}

#[test]
fn a_value_out_of_range_is_repeated_with_the_range() {
    let cases = [
        (
            "jobs.max_runs = 0",
            "jobs.max_runs: expected an integer from 1 to 100, found 0",
        ),
        (
            "jobs.max_runs = -1",
            "jobs.max_runs: expected an integer from 1 to 100, found -1",
        ),
        (
            "server.workers = 99999999999999999999",
            "server.workers: expected an integer from 0 to 1024, found 99999999999999999999",
        ),
        (
            "log.format = 'xml'",
            "log.format: expected \"text\" or \"json\", found \"xml\"",
        ),
        (
            "server.listen = '8080'",
            "server.listen: expected host:port such as \"127.0.0.1:8080\", found \"8080\"",
        ),
        (
            "egress.allow = ['10.0.0.0/8',\n 'lan']",
            "egress.allow[1]: expected a range of addresses such as \"10.0.0.0/8\", found \"lan\"",
        ),
    ];
    for (content, expected) in cases {
        assert!(in_file(content).ends_with(expected), "{}", in_file(content));
    }
    assert!(
        in_file("egress.allow = ['10.0.0.0/8',\n 'lan']").starts_with("config.toml:2: "),
        "the entry's own line"
    );
    let huge = format!("server.workers = {}", "9".repeat(1000));
    assert!(in_file(&huge).ends_with("found an integer of too many digits"));
}

#[test]
fn all_faults_of_a_file_are_reported_at_once_in_the_order_of_its_lines() {
    let content = "\
[server]
lisen = 'x'
workers = 'many'
[jobs]
max_runs = 0
nonsense = 1
[webhooks]
retry_delays_seconds = [60, 0, 'x']
[backends.gpu]
kind = 'comfyui'
[tiers.pro]
backends = [{ name = 'gp' }]
";
    let given = TestConfig::file(content).env("TINTYPE__JOBS__MAX_LIVE", "no");
    let faults = given.faults();
    let locations: Vec<&str> = faults
        .iter()
        .map(|f| f.split(": ").next().unwrap())
        .collect();
    let file: Vec<String> = [2, 3, 5, 6, 8, 8, 9, 12]
        .iter()
        .map(|n| format!("config.toml:{n}"))
        .collect();
    let mut expected: Vec<&str> = file.iter().map(String::as_str).collect();
    expected.push("environment variable TINTYPE__JOBS__MAX_LIVE");
    assert_eq!(locations, expected, "{faults:#?}");
    assert!(faults[6].ends_with("backends.gpu.base_url: missing, but required"));
    assert!(faults[7].ends_with("the backend `gp` is not defined; did you mean `gpu`?"));
    let text = given.load().unwrap_err().to_string();
    assert!(
        faults
            .iter()
            .all(|fault| text.contains(fault.split(": ").last().unwrap()))
    );
}

#[test]
fn broken_toml_is_reported_line_by_line_beside_the_other_faults() {
    let faults = TestConfig::file(
        "[server]\nlisten = 127.0.0.1:80\nworkers = x\n[jobs]\nmax_runs = 0\nmax_runs = 1\n",
    )
    .faults();
    let locations: Vec<&str> = faults
        .iter()
        .map(|f| f.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        locations,
        [
            "config.toml:2",
            "config.toml:3",
            "config.toml:5",
            "config.toml:6"
        ],
        "{faults:#?}"
    );
    assert!(faults[3].ends_with("not TOML: duplicate key"));
}

#[test]
fn a_backend_in_broken_toml_is_not_reported_as_missing() {
    let faults = TestConfig::file(
        "[tiers.fast]\nbackends = [{ name = 'mine' }]\n[backends.mine\nkind = 'procedural'\n",
    )
    .faults();
    assert_eq!(
        faults,
        ["config.toml:3: not TOML: unclosed table, expected `]`"]
    );
}

#[test]
fn decisions_14_the_operators_webhook_needs_its_url_and_a_secret_of_the_usual_form() {
    let url = "operator.webhook_url = 'https://ops.example/hook'";
    let secret = "operator.webhook_secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='";
    let missing = in_file(url);
    // The location is that of the URL: the empty secret is a built-in default.
    assert!(missing.contains("config.toml:1: operator.webhook_secret: missing, but required with webhook_url; expected whsec_ and 44"), "{missing}");
    let missing = in_file(secret);
    assert!(
        missing.contains("operator.webhook_url: missing, but required with webhook_secret"),
        "{missing}"
    );
    for bad in [
        "secret",
        "whsec_",
        "whsec_AAAA",
        "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
    ] {
        let wrong = in_file(&format!("{url}\noperator.webhook_secret = '{bad}'"));
        assert!(
            wrong.contains("expected whsec_ and 44 characters of base64"),
            "{wrong}"
        );
    }
    for bad in [
        "ftp://ops.example",
        "https://u:p@ops.example/",
        "https:///x",
    ] {
        let wrong = in_file(&format!("operator.webhook_url = '{bad}'\n{secret}"));
        assert!(
            wrong.contains("operator.webhook_url: expected a URL that begins with http"),
            "{wrong}"
        );
    }
    // The operator may use a private address.
    let both = TestConfig::file(format!(
        "operator.webhook_url = 'http://10.0.0.7:9/hook'\n{secret}"
    ));
    assert_eq!(
        both.config().operator.webhook_url.as_deref(),
        Some("http://10.0.0.7:9/hook")
    );
}

#[test]
fn a_command_reads_a_configuration_without_the_secret_of_the_operators_webhook() {
    let url = "operator.webhook_url = 'https://ops.example/hook'";
    let read = |secret: Option<&str>| {
        let mut file = TestConfig::file(url);
        if let Some(secret) = secret {
            file = file.env("TINTYPE__OPERATOR__WEBHOOK_SECRET", secret);
        }
        Config::load_for_command(&file.sources)
    };
    // Without the secret a command cannot send the events.
    assert_eq!(read(None).unwrap().operator.webhook_url, None);
    let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let operator = read(Some(secret)).unwrap().operator;
    assert!(operator.webhook_url.is_some() && operator.webhook_secret.is_some());
    let faulty = read(Some("whsec_AAAA")).unwrap_err().to_string();
    assert!(faulty.contains("operator.webhook_secret"), "{faulty}");
    // A URL without its secret is a mistake in the environment of the service.
    assert!(TestConfig::file(url).load().is_err());
}

#[test]
fn a_malformed_list_or_table_in_a_variable_is_reported_as_such() {
    let fault =
        |name: &str, value: &str| TestConfig::nothing().env(name, value).faults().join("\n");
    let malformed = fault("TINTYPE__TIERS__FAST__PRICES", "{ \"1K\" = \"0.05\"");
    assert!(
        malformed.contains("it is not well-formed TOML ("),
        "{malformed}"
    );
    let malformed = fault("TINTYPE__EGRESS__ALLOW", "[\"10.0.0.0/8\"");
    assert!(
        malformed.contains("it is not well-formed TOML ("),
        "{malformed}"
    );
    let plain = fault("TINTYPE__EGRESS__ALLOW", "10.0.0.0/8");
    assert!(plain.contains("written as in TOML"), "{plain}");
    let number = fault("TINTYPE__JOBS__MAX_RUNS", "abc");
    assert!(number.ends_with("found a string"), "{number}");
}

#[test]
fn a_file_of_authorities_that_the_service_cannot_use_is_a_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    let given = || TestConfig::file(format!("[egress]\nextra_ca_file = {path:?}\n"));
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (content, reason) in [
        (None, "No such file"),
        (Some(""), "it contains no certificate"),
        (Some(broken), ""),
    ] {
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let fault = only(&given());
        let key = "config.toml:2: egress.extra_ca_file: cannot use the certificate authorities in ";
        assert!(
            fault.starts_with(key) && fault.contains(reason),
            "{content:?}: {fault}"
        );
    }
    // Only the service and `tintype check-config` use the file.
    Config::load_for_command(&given().sources).unwrap();
    let authority = rcgen::generate_simple_self_signed(["ca.example".to_owned()]).unwrap();
    fs::write(&path, authority.cert.pem()).unwrap();
    assert_eq!(given().config().egress.extra_ca_file, Some(path));
}

#[test]
fn the_metrics_need_another_port_than_the_service() {
    let listening = |listen: &str, metrics: &str| {
        TestConfig::file(format!("[server]\nmetrics_listen = '{metrics}'\n"))
            .flag("server.listen", listen)
    };
    assert_eq!(
        only(&listening("127.0.0.1:8080", "127.0.0.1:8080")),
        "config.toml:2: server.metrics_listen: expected another address than `listen`, found \"127.0.0.1:8080\"; leave it empty \
         to serve the metrics there"
    );
    listening("127.0.0.1:8080", "127.0.0.1:9090").config();
    listening("127.0.0.1:8080", "127.0.0.2:8080").config();
    // The system chooses two ports.
    listening("127.0.0.1:0", "127.0.0.1:0").config();
}
