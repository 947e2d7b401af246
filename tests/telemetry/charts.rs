//! The dashboard and the alerts under `deploy/` use only existing metrics and possible label values.

use crate::support::{Options, Server};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("deploy")
        .join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The metrics in a text of queries.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let ours = words.filter(|word| word.starts_with("tintype_") || word.starts_with("process_"));
    ours.map(str::to_owned).collect()
}

/// The label matchers in a text of queries: metric, label and value; `=~` gives one entry per alternative.
fn asked(text: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('{') {
        let (before, selector) = (&text[..at], &text[at + 1..]);
        let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let name = before.rsplit(|it| !is_part(it)).next().unwrap_or_default();
        if !name.starts_with("tintype_") {
            continue;
        }
        let selector = selector.split('}').next().unwrap_or_default();
        for matcher in selector.split("\",").map(|it| it.trim_end_matches('"')) {
            let (label, value) = matcher
                .split_once('"')
                .unwrap_or_else(|| panic!("{matcher}"));
            let label = label.trim_end_matches(['=', '!', '~']).trim();
            let is_known_elsewhere = ["job", "instance"].contains(&label);
            // A group counts as one value.
            let parts = if value.contains('(') { 1 } else { usize::MAX };
            let values = value.splitn(parts, '|').filter(|_| !is_known_elsewhere);
            found.extend(values.map(|it| (name.to_owned(), label.to_owned(), it.to_owned())));
        }
    }
    found
}

/// Checks each label value. Routes and statuses appear with the first call, so the value must be possible; all other values must be
/// exported from the start.
#[track_caller]
fn assert_possible(asked: &[(String, String, String)], least: usize) {
    let server = Server::start();
    let figures = server.figures();
    let document = server.get("/api/v1/openapi.json").expect(200).json();
    let paths = document["paths"].as_object().unwrap();
    let is_possible = |(name, label, value): &&(String, String, String)| match label.as_str() {
        "status" => matches!(value.parse(), Ok(400..=599_u16)),
        "route" => {
            let stem = value.split(['.', '(']).next().unwrap_or_default();
            paths.keys().any(|path| path.starts_with(stem))
        }
        _ => figures.has(name, label, value),
    };
    let impossible: Vec<_> = asked.iter().filter(|it| !is_possible(it)).collect();
    assert!(impossible.is_empty(), "{impossible:?}");
    assert!(asked.len() >= least, "{asked:?}");
}

/// The families that the service exports.
fn exported() -> BTreeSet<String> {
    let server = Server::start();
    server.figures().families.into_keys().collect()
}

#[track_caller]
fn assert_known(named: &BTreeSet<String>, least: usize) {
    let exported = exported();
    let is_known = |name: &String| {
        let family = ["_bucket", "_sum", "_count"].iter();
        let mut family = family.filter_map(|ending| name.strip_suffix(ending));
        exported.contains(name) || family.any(|family| exported.contains(family))
    };
    let unknown: Vec<_> = named.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(named.len() >= least, "{named:?}");
}

#[test]
fn alerts_name_existing_metrics() {
    // The names of groups and alerts begin like a metric only in lower case.
    let rules = file("prometheus/alerts.yml");
    assert_known(&named(&rules), 15);
}

#[test]
fn alerts_use_possible_label_values() {
    let rules = file("prometheus/alerts.yml");
    assert_possible(&asked(&rules), 20);
}

#[test]
fn each_alert_has_a_test_in_which_it_fires() {
    let (rules, tests) = (
        file("prometheus/alerts.yml"),
        file("prometheus/alerts_test.yml"),
    );
    let names = rules
        .lines()
        .filter_map(|it| it.trim().strip_prefix("- alert: "));
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let line = format!("alertname: {name}\n");
        let mut tested = tests.split(&line).skip(1);
        let fires = tested.any(|rest| {
            rest.split("alertname:")
                .next()
                .unwrap()
                .contains("exp_labels")
        });
        assert!(fires, "{name}");
    }
}

/// Otherwise a test of a quantile would say nothing about the quantile of the exported buckets.
#[test]
fn the_tests_of_the_alerts_use_exported_buckets() {
    let server = Server::with(Options::new().on_disk());
    let figures = server.figures();
    let tests = file("prometheus/alerts_test.yml");
    let mut buckets = 0;
    for (name, label, value) in asked(&tests).iter().filter(|it| it.1 == "le") {
        assert!(figures.has(name, label, value), "{name} has no {value}");
        buckets += 1;
    }
    assert!(buckets > 4, "{buckets}");
}

/// A query is compared without blanks, comment signs and the variables of the dashboard.
#[test]
fn each_tested_query_is_that_of_a_panel_or_of_the_autoscaler() {
    let plain = |text: &str| {
        let text = text.replace("{job=~\"$job\",instance=~\"$instance\"}", "");
        text.replace(|it: char| it.is_whitespace() || it == '#', "")
    };
    let dashboard: Value = serde_json::from_str(&file("grafana/dashboard.json")).unwrap();
    let mut used: Vec<String> = queries(&dashboard).iter().map(|it| plain(it)).collect();
    used.push(plain(&file("kubernetes/autoscaler.yaml")));
    let tests = file("prometheus/alerts_test.yml");
    let tested = tests
        .lines()
        .filter_map(|it| it.trim().strip_prefix("- expr: "));
    let tested: Vec<&str> = tested.filter(|it| !it.starts_with('*')).collect();
    assert_eq!(tested.len(), 2, "{tested:?}");
    for query in tested {
        let query = plain(query.trim_start_matches("&wait "));
        assert!(used.iter().any(|it| it.contains(&query)), "{query}");
    }
}

#[test]
fn every_panel_names_existing_metrics() {
    let dashboard: Value = serde_json::from_str(&file("grafana/dashboard.json")).unwrap();
    let queries = queries(&dashboard);
    assert_known(&named(&queries.join("\n")), 40);
    assert_possible(&asked(&queries.join("\n")), 10);
}

/// The beginnings of the metrics that describe all nodes. Each node exports the same value.
const OF_ALL_NODES: [&str; 9] = [
    "tintype_accounts",
    "tintype_all_backends_paused{",
    "tintype_backend_paused{",
    "tintype_jobs{",
    "tintype_jobs_live{",
    "tintype_jobs_oldest_queued_age_seconds{",
    "tintype_last_backup_timestamp_seconds{",
    "tintype_ledger_",
    "tintype_paused{",
];

#[test]
fn panels_do_not_add_up_what_each_node_reports_of_all_nodes() {
    let dashboard: Value = serde_json::from_str(&file("grafana/dashboard.json")).unwrap();
    for query in queries(&dashboard) {
        for metric in OF_ALL_NODES {
            for (at, _) in query.match_indices(metric) {
                assert!(is_maximum(&query[..at]), "{query}");
            }
        }
    }
}

/// Does a query whose metric follows `before` take the maximum over the nodes first?
fn is_maximum(before: &str) -> bool {
    let before = before.trim_end_matches("rate(").trim_end_matches('(');
    let before = match before.trim_end().strip_suffix(')') {
        Some(grouped) => grouped.rsplit_once(" by (").map_or("", |it| it.0),
        None => before,
    };
    before.ends_with("max")
}

/// The queries of all panels and variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let panels = dashboard["panels"].as_array().unwrap();
    for target in panels
        .iter()
        .filter_map(|it| it["targets"].as_array())
        .flatten()
    {
        found.push(target["expr"].as_str().unwrap().to_owned());
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        found.extend(variable["query"]["query"].as_str().map(str::to_owned));
    }
    found
}

#[test]
fn panels_do_not_overlap_and_have_their_required_properties() {
    let dashboard: Value = serde_json::from_str(&file("grafana/dashboard.json")).unwrap();
    assert_eq!(dashboard["id"], Value::Null, "an id belongs to one Grafana");
    let (mut taken, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(at("x") + at("w") <= 24, "{title} is too wide");
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(taken.insert((x, y)), "{title} lies on another");
            }
        }
        if panel["type"] == "row" {
            continue;
        }
        assert!(
            panel["description"]
                .as_str()
                .is_some_and(|it| !it.is_empty()),
            "{title}"
        );
        assert!(
            panel["fieldConfig"]["defaults"]["unit"].is_string(),
            "{title}"
        );
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        let targets = panel["targets"].as_array().unwrap();
        let mut letters = BTreeSet::new();
        for target in targets {
            assert!(letters.insert(target["refId"].as_str().unwrap()), "{title}");
            let query = target["expr"].as_str().unwrap();
            assert!(
                query.contains("instance=~\"$instance\""),
                "{title}: {query}"
            );
        }
    }
}

/// A reader searches the page for the name in an alert.
#[test]
fn every_metric_is_in_the_documentation_by_its_full_name() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/monitoring.md");
    let named = named(&fs::read_to_string(page).unwrap());
    let ours = exported()
        .into_iter()
        .filter(|it| it.starts_with("tintype_"));
    let missing: Vec<_> = ours.filter(|it| !named.contains(it)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A metric without a panel is superfluous or was forgotten.
#[test]
fn every_metric_is_shown_on_the_dashboard() {
    let dashboard: Value = serde_json::from_str(&file("grafana/dashboard.json")).unwrap();
    let text = queries(&dashboard).join("\n");
    let named = named(&text);
    let is_shown = |family: &String| {
        let lines = ["", "_bucket", "_sum", "_count"];
        lines
            .iter()
            .any(|ending| named.contains(&format!("{family}{ending}")))
    };
    let mut hidden: Vec<_> = exported().into_iter().filter(|it| !is_shown(it)).collect();
    // Used only for a limit line, or only for custom queries.
    hidden.retain(|it| it != "process_virtual_memory_bytes");
    assert!(hidden.is_empty(), "{hidden:?}");
}
