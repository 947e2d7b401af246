//! `tintype stats`: statistics of a running server.

use super::backend;
use crate::cli::common::Common;
use crate::cli::output::{field_lines, list_table};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tintype_api::Backend;

pub async fn run(common: Common) -> anyhow::Result<()> {
    let response = common.operator()?.get("/stats").await?;
    common.show(response, describe)
}

fn describe(stats: Stats) -> String {
    let Stats {
        queued,
        running,
        live_jobs,
        throughput,
        backends,
        webhooks_pending,
        last_export_at,
        others,
    } = stats;
    let words = ["fast", "quality", "pro"];
    let queued = words.map(|model| format!("{model} {}", queued.get(model).unwrap_or(&0)));
    let Throughput {
        since,
        done,
        failed,
    } = throughput;
    let mut found = Vec::new();
    collect("", &Value::Object(others), &mut found);
    let (running, live_jobs) = (running.to_string(), live_jobs.to_string());
    let (done, failed) = (
        format!("{done} since {since}"),
        format!("{failed} since {since}"),
    );
    let (queued, webhooks) = (queued.join(", "), webhooks_pending.to_string());
    let known = [
        ("queued", Some(&*queued)),
        ("running", Some(&running)),
        ("live jobs", Some(&live_jobs)),
        ("done", Some(&done)),
        ("failed", Some(&failed)),
        ("pending deliveries", Some(&webhooks)),
        ("last export", last_export_at.as_deref()),
    ];
    let others = found.iter().map(|(path, text)| (&**path, Some(&**text)));
    let lines: Vec<_> = known.into_iter().chain(others).collect();
    format!(
        "{}\n{}",
        field_lines(&lines),
        list_table(&backend::COLUMNS, &backends)
    )
}

#[derive(Deserialize)]
struct Stats {
    queued: BTreeMap<String, u64>,
    running: u64,
    live_jobs: u64,
    throughput: Throughput,
    backends: Vec<Backend>,
    webhooks_pending: u64,
    last_export_at: Option<String>,
    /// The figures of a newer server.
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct Throughput {
    since: String,
    done: u64,
    failed: u64,
}

/// One line per figure, named by its path in the response.
fn collect(path: &str, value: &Value, found: &mut Vec<(String, String)>) {
    let below = |name: &str| match path {
        "" => name.replace('_', " "),
        path => format!("{path} {}", name.replace('_', " ")),
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name != "name" {
                    collect(&below(name), value, found);
                }
            }
        }
        Value::Array(entries) => {
            for (at, entry) in entries.iter().enumerate() {
                let position = (at + 1).to_string();
                let name = entry["name"].as_str().unwrap_or(&position);
                collect(&below(name), entry, found);
            }
        }
        Value::Null => {}
        Value::String(text) => found.push((path.to_owned(), text.clone())),
        other => found.push((path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_stats_of_a_newer_server_are_shown() {
        let stats = json!({
            "queued": {"fast": 3, "quality": 0, "pro": 1}, "running": 2, "live_jobs": 6,
            "throughput": {"window_seconds": 3600, "since": "t0", "done": 120, "failed": 1},
            "backends": [{
                "name": "builtin", "health": "up", "faults": 0, "probe_in_seconds": null, "places": 2, "shared": false, "running": 2,
                "last_answer_at": "t1", "last_hour": {"tries": 121, "failed": 1, "p50_ms": 80, "p95_ms": 90}, "last_error": null,
            }],
            "webhooks_pending": 0, "last_export_at": null, "lately": {"retried": [{"name": "a", "runs": 3}]},
        });
        insta::assert_snapshot!(describe(serde_json::from_value(stats).unwrap()));
    }
}
