//! `tintype pause`: pauses and resumes a running server or some of its models.

use super::common::{Common, block_on};
use super::operator::Operator;
use super::output::table;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use std::process::ExitCode;
use tintype_api::Switches;

#[derive(Subcommand)]
pub enum Command {
    /// Show what is paused and why.
    Show(Common),
    /// Pause everything (project) or some models.
    Set(Set),
    /// Resume everything or some models.
    Clear(Clear),
}

#[derive(Args)]
pub struct Set {
    /// What to pause.
    #[arg(required = true)]
    what: Vec<Switch>,
    /// Reason shown to callers, such as "new weights until 14:00".
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub struct Clear {
    /// What to resume [default: everything].
    what: Vec<Switch>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    Project,
    Fast,
    Quality,
    Pro,
}

impl Switch {
    const ALL: [Self; 4] = [Self::Project, Self::Fast, Self::Quality, Self::Pro];

    fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Fast => "fast",
            Self::Quality => "quality",
            Self::Pro => "pro",
        }
    }
}

fn is_on(switches: &Switches, switch: Switch) -> bool {
    match switch {
        Switch::Project => switches.project,
        tier => switches.tiers.get(tier.word()).copied().unwrap_or(false),
    }
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::Show(common) => {
                let response = common.operator()?.get("/pause").await?;
                common.show(response, describe)
            }
            Command::Set(Set {
                what,
                reason,
                common,
            }) => {
                let response = set_paused(&common.operator()?, &what, true, reason).await?;
                common.show(response, describe)
            }
            Command::Clear(Clear { what, common }) => {
                let what = if what.is_empty() {
                    Switch::ALL.to_vec()
                } else {
                    what
                };
                let response = set_paused(&common.operator()?, &what, false, None).await?;
                common.show(response, describe)
            }
        }
    })
}

/// Sends only the given switches, so that concurrent changes of other switches are kept.
async fn set_paused(
    operator: &Operator,
    what: &[Switch],
    on: bool,
    reason: Option<String>,
) -> anyhow::Result<Value> {
    operator.patch("/pause", body(what, on, reason)).await
}

fn body(what: &[Switch], on: bool, reason: Option<String>) -> Value {
    let tiers = what.iter().filter(|it| **it != Switch::Project);
    let tiers: Map<String, Value> = tiers.map(|it| (it.word().to_owned(), on.into())).collect();
    let mut body = json!({"tiers": tiers});
    if what.contains(&Switch::Project) {
        body["project"] = on.into();
    }
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    body
}

fn describe(pause: Switches) -> String {
    let reasons = pause.reasons.as_ref();
    let row = |switch: Switch| {
        let state = if is_on(&pause, switch) {
            "paused"
        } else {
            "running"
        };
        let reason = reasons.and_then(|it| it.get(switch.word()).cloned().flatten());
        vec![
            switch.word().to_owned(),
            state.to_owned(),
            reason.unwrap_or_default(),
        ]
    };
    table(&["WHAT", "STATE", "REASON"], Switch::ALL.map(row).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_switches_are_sent() {
        let set = body(&[Switch::Pro], true, Some("repair".into()));
        assert_eq!(set, json!({"tiers": {"pro": true}, "reason": "repair"}));
        let clear = body(&[Switch::Fast, Switch::Project], false, None);
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
