//! `tintype pause`: pauses and resumes a running server or some of its models, and shows all pauses.

use crate::cli::common::Common;
use crate::cli::output::table;
use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use tintype_api::Switches;

#[derive(Subcommand)]
pub enum Command {
    /// Show which models and backends are paused, and why.
    Show(Common),
    /// Pause everything (project) or some models.
    Set(Set),
    /// Resume everything or some models.
    Clear(Clear),
}

#[derive(Args)]
pub struct Set {
    /// What to pause.
    #[arg(required = true, value_parser = SWITCHES)]
    what: Vec<String>,
    /// Reason shown to callers, such as "new weights until 14:00".
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Clear {
    /// What to resume [default: the project and each model]. `tintype backend resume` resumes backends.
    #[arg(value_parser = SWITCHES)]
    what: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Everything, and each model.
const SWITCHES: [&str; 4] = [PROJECT, "fast", "quality", "pro"];
const PROJECT: &str = "project";

pub async fn run(command: Command) -> anyhow::Result<()> {
    // Sends only the given switches, so that concurrent changes of other switches are kept.
    let (common, change) = match command {
        Command::Show(common) => (common, None),
        Command::Set(Set {
            what,
            reason,
            common,
        }) => (common, Some(body(&what, true, reason))),
        Command::Clear(Clear { what, common }) if what.is_empty() => {
            let everything = SWITCHES.map(str::to_owned);
            (common, Some(body(&everything, false, None)))
        }
        Command::Clear(Clear { what, common }) => (common, Some(body(&what, false, None))),
    };
    let operator = common.operator()?;
    let response = match change {
        Some(change) => operator.patch("/pause", change).await?,
        None => operator.get("/pause").await?,
    };
    common.show(response, describe)
}

fn body(what: &[String], on: bool, reason: Option<String>) -> Value {
    let mut tiers = Map::new();
    let mut body = Map::new();
    for switch in what {
        match switch.as_str() {
            PROJECT => body.insert(switch.clone(), on.into()),
            _ => tiers.insert(switch.clone(), on.into()),
        };
    }
    body.insert("tiers".to_owned(), tiers.into());
    body.extend(reason.map(|it| ("reason".to_owned(), it.into())));
    body.into()
}

fn describe(pause: Switches) -> String {
    let row = |switch: &str| {
        let is_on = match switch {
            PROJECT => pause.project,
            tier => pause.tiers.get(tier).copied().unwrap_or(false),
        };
        let reasons = pause.reasons.as_ref();
        let reason = reasons.and_then(|it| it.get(switch).cloned().flatten());
        vec![
            switch.to_owned(),
            if is_on { "paused" } else { "running" }.to_owned(),
            reason.unwrap_or_default(),
        ]
    };
    let mut rows = SWITCHES.map(row).to_vec();
    let backend = |name: &String| {
        let reason = pause.backend_reasons.get(name).cloned().flatten();
        vec![
            format!("backend {name}"),
            "paused".to_owned(),
            reason.unwrap_or_default(),
        ]
    };
    rows.extend(pause.backends.iter().map(backend));
    table(&["WHAT", "STATE", "REASON"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_named_switches_are_sent() {
        let set = body(&["pro".to_owned()], true, Some("repair".into()));
        assert_eq!(set, json!({"tiers": {"pro": true}, "reason": "repair"}));
        let clear = body(&["fast", PROJECT].map(str::to_owned), false, None);
        assert_eq!(clear, json!({"project": false, "tiers": {"fast": false}}));
    }

    #[test]
    fn a_paused_model_is_shown_with_its_reason() {
        let pause = json!({
            "project": false, "tiers": {"fast": true, "quality": false, "pro": true},
            "reasons": {"project": null, "fast": "new weights", "quality": null, "pro": null}
        });
        insta::assert_snapshot!(describe(serde_json::from_value(pause).unwrap()));
    }
}
