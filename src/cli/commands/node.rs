//! `tintype node`: nodes of a running server.

use crate::cli::common::{Common, or_dash, yes_or_no};
use crate::cli::operator::read;
use crate::cli::output::{Column, list_table, note, print, print_json};
use clap::Subcommand;
use tintype_api::{Node, Nodes};

const COLUMNS: [Column<Node>; 10] = [
    ("NODE", |it| or_dash(it.node_id.as_deref())),
    ("HOST", |it| it.host.clone()),
    ("PID", |it| it.pid.to_string()),
    ("VERSION", |it| it.version.clone()),
    ("STATE", |it| it.state.to_string()),
    ("RUNNING", |it| it.running.to_string()),
    ("LAST HEARTBEAT", |it| {
        format!("{:.1} s ago", it.beat_age_ms as f64 / 1_000.0)
    }),
    ("STARTED AT", |it| it.started_at.to_string()),
    ("CONFIGURATION", |it| it.configuration.clone()),
    ("THIS NODE", |it| yes_or_no(it.answers).to_owned()),
];

#[derive(Subcommand)]
pub enum Command {
    /// List the server processes that share the records, as seen by the server that responds.
    List(Common),
}

pub async fn run(Command::List(common): Command) -> anyhow::Result<()> {
    let response = common.operator()?.get("/nodes?limit=100").await?;
    if common.json {
        return print_json(&response);
    }
    let Nodes { data, warnings, .. } = read(response)?;
    print(&list_table(&COLUMNS, &data))?;
    for warning in warnings {
        note(&format!("warning: {warning}"));
    }
    Ok(())
}
