//! `tintype node`: nodes of a running server.

use super::common::{Common, or_dash, yes_or_no};
use super::operator::read;
use super::output::{note, print, print_json, table};
use clap::Subcommand;
use tintype_api::{Node, Nodes};

const HEADS: [&str; 10] = [
    "NODE",
    "HOST",
    "PID",
    "VERSION",
    "STATE",
    "RUNNING",
    "LAST HEARTBEAT",
    "STARTED AT",
    "CONFIGURATION",
    "RESPONDING",
];

#[derive(Subcommand)]
pub enum Command {
    /// List the server processes that share the records, as seen by the server that responds.
    List(Common),
}

pub async fn run(Command::List(common): Command) -> anyhow::Result<()> {
    let response = common.operator()?.get("/nodes").await?;
    if common.json {
        return print_json(&response);
    }
    let Nodes { data, warnings, .. } = read(response)?;
    let rows = data.into_iter().map(|it| row(it).to_vec());
    print(&table(&HEADS, rows.collect()))?;
    for warning in warnings {
        note(&format!("warning: {warning}"));
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
