//! `tintype stats`: statistics of a running server.

use super::backend;
use crate::cli::common::Common;
use crate::cli::output::{field_lines, list_table};
use serde::Deserialize;
use serde_json::{Map, Value};
use tintype_api::text::TierWord;
use tintype_api::{Stats, Throughput};
use tintype_storage::domain::tier::Tier;

pub async fn run(common: Common) -> anyhow::Result<()> {
    let response = common.operator()?.get("/stats").await?;
    common.show(response, describe)
}

/// The statistics, with the figures of a newer server.
#[derive(Deserialize)]
struct AllStats {
    #[serde(flatten)]
    known: Stats,
    #[serde(flatten)]
    others: Map<String, Value>,
}

fn describe(AllStats { known, others }: AllStats) -> String {
    let Stats {
        queued,
        running,
        live_jobs,
        throughput,
        backends,
        webhooks_pending,
        last_export_at,
    } = known;
    let queued = Tier::names().map(|model| {
        let jobs = queued.get(&TierWord::from(model)).unwrap_or(&0);
        format!("{model} {jobs}")
    });
    let queued: Vec<String> = queued.collect();
    let Throughput {
        since,
        done,
        failed,
        canceled,
        ..
    } = throughput;
    let mut found = Vec::new();
    collect("", &Value::Object(others), &mut found);
    let (running, live_jobs) = (running.to_string(), live_jobs.to_string());
    let failed = failed.saturating_sub(canceled);
    let [done, failed, canceled] =
        [done, failed, canceled].map(|jobs| format!("{jobs} since {}", &*since));
    let (queued, webhooks) = (queued.join(", "), webhooks_pending.to_string());
    let known = [
        ("queued", Some(&*queued)),
        ("running", Some(&running)),
        ("live jobs", Some(&live_jobs)),
        ("done", Some(&done)),
        ("failed", Some(&failed)),
        ("canceled", Some(&canceled)),
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
            "throughput": {"window_seconds": 3600, "since": "t0", "done": 120, "failed": 4, "canceled": 3},
            "backends": [{
                "name": "builtin", "health": "up", "faults": 0, "probe_in_seconds": null, "places": 2, "shared": false, "running": 2,
                "last_answer_at": "t1", "last_hour": {"tries": 121, "failed": 1, "p50_ms": 80, "p95_ms": 90}, "last_error": null,
            }],
            "webhooks_pending": 0, "last_export_at": null, "lately": {"retried": [{"name": "a", "runs": 3}]},
        });
        insta::assert_snapshot!(describe(serde_json::from_value(stats).unwrap()));
    }
}
