//! `tintype node ...`: shows the nodes of a running service.

use super::common::{Common, block_on, or_dash, yes_or_no};
use super::operator::read;
use super::output::{print, print_json, table};
use clap::Subcommand;
use std::io::{self, Write as _};
use std::process::ExitCode;
use tintype_api::{Node, Nodes};

const HEADS: [&str; 10] = [
    "NODE",
    "HOST",
    "PID",
    "VERSION",
    "STATE",
    "RUNS",
    "LAST BEAT",
    "STARTED AT",
    "CONFIGURATION",
    "ANSWERS",
];

/// What to do with nodes.
#[derive(Subcommand)]
pub enum Command {
    /// List the processes that serve the same records, as the one that is asked sees them.
    List(Common),
}

pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    block_on(async {
        match command {
            Command::List(common) => list(&common).await,
        }
    })
}

async fn list(common: &Common) -> anyhow::Result<()> {
    let answer = common.operator()?.get("/nodes").await?;
    if common.json {
        return print_json(&answer);
    }
    let Nodes { data, warnings, .. } = read(answer)?;
    let rows = data.into_iter().map(|it| row(it).to_vec());
    print(&table(&HEADS, rows.collect()))?;
    for warning in warnings {
        // A closed standard error is no reason to fail.
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
    Ok(())
}

fn row(it: Node) -> [String; 10] {
    [
        or_dash(it.node_id),
        it.host,
        it.pid.to_string(),
        it.version,
        it.state.into(),
        it.running.to_string(),
        format!("{:.1} s ago", it.beat_age_ms as f64 / 1_000.0),
        it.started_at.into(),
        it.configuration,
        yes_or_no(it.answers).into(),
    ]
}
