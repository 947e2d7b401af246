//! `tintype stats`: statistics of a running server.

use super::common::{Common, block_on};
use super::output::field_lines;
use serde_json::Value;
use std::process::ExitCode;

pub fn run(common: Common) -> anyhow::Result<ExitCode> {
    block_on(async {
        let response = common.operator()?.get("/stats").await?;
        common.show(response, |response: Value| describe(&response))
    })
}

/// One line per figure, named by its path in the response, so that the figures of a newer server are shown too.
fn describe(response: &Value) -> String {
    let mut found = Vec::new();
    collect("", response, &mut found);
    let lines: Vec<(&str, Option<&str>)> = found
        .iter()
        .map(|(path, text)| (path.as_str(), Some(text.as_str())))
        .collect();
    field_lines(&lines)
}

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
    fn every_figure_has_a_line() {
        let stats = json!({
            "queued": {"fast": 3, "quality": 0, "pro": 1}, "running": 2,
            "throughput": {"window_seconds": 3600, "done": 120, "failed": 1},
            "backends": [{"name": "builtin", "health": "up", "probe_in_seconds": null, "places": 2, "running": 2}],
            "webhooks_pending": 0
        });
        insta::assert_snapshot!(describe(&stats));
    }
}
