//! New jobs at one node, between two runs of pgbench, and beside FastAPI.

use super::audit::audit_count;
use super::findings::Findings;
use super::site::Machines;
use super::{Effort, pgbench};
use crate::bench::{CONNECTIONS, Measurement, measure};
use crate::creations::{Requests, caller};
use crate::server::{ChildServer, Generator};
use std::time::Duration;

/// The maximum latency of a caller.
const LONGEST_MS: f64 = 50.0;

/// A goal for a number of accounts.
struct Goal {
    accounts: usize,
    of_pgbench: f64,
    of_baseline: f64,
}

const GOALS: [Goal; 2] = [
    Goal {
        accounts: 1,
        of_pgbench: 12.0,
        of_baseline: 20.0,
    },
    Goal {
        accounts: 1_000,
        of_pgbench: 1.5,
        of_baseline: 5.0,
    },
];

pub fn run(effort: &Effort, findings: &mut Findings) -> anyhow::Result<()> {
    let time = effort.time;
    let machines = Machines::start()?;
    for goal in GOALS {
        let accounts = goal.accounts;
        let over = match accounts {
            1 => "1 account".to_owned(),
            _ => format!("{accounts} accounts"),
        };
        let before = pgbench::rate(&machines, accounts, time)?;
        let (mut ours, in_database) = one_node(&machines, accounts, time)?;
        let after = pgbench::rate(&machines, accounts, time)?;
        let baseline = baseline(accounts, time)?;
        let sample = ours.sample();
        let of_pgbench = sample.rate / ((before + after) / 2.0);
        findings.note(
            format!("pgbench, {over}: transactions a second before and after"),
            format!("{before:.0}, {after:.0}"),
        );
        findings.note(
            format!("FastAPI + PostgreSQL, {over}: jobs a second"),
            format!("{baseline:.0}"),
        );
        findings.note(
            format!(
                "create, {over}: jobs a second; processor time each of the node, of PostgreSQL"
            ),
            format!(
                "{:.0}; {} us, {} us",
                sample.rate,
                ours.processor.as_micros(),
                in_database.as_micros()
            ),
        );
        findings.at_least(
            format!("create, {over}, times pgbench"),
            of_pgbench,
            goal.of_pgbench,
        );
        findings.at_least(
            format!("create, {over}, times FastAPI + PostgreSQL"),
            sample.rate / baseline,
            goal.of_baseline,
        );
        findings.at_most(
            format!("create, {over}, p99 in ms"),
            sample.p99.unwrap_or_default(),
            LONGEST_MS,
        );
    }
    Ok(())
}

/// Measures the callers of one node, and PostgreSQL's processor time per creation.
fn one_node(
    machines: &Machines,
    accounts: usize,
    time: Duration,
) -> anyhow::Result<(Measurement<1>, Duration)> {
    let site = machines.site();
    let node = site.node(accounts, Generator::Never, None)?;
    let before = machines.processor()?;
    let measured = create(&node.server, time)?;
    let used = machines.processor()? - before;
    node.end()?;
    let [accepted] = measured.calls;
    audit_count(&site, accepted)?;
    Ok((measured, used.div_f64(accepted as f64)))
}

fn baseline(accounts: usize, time: Duration) -> anyhow::Result<f64> {
    let server = ChildServer::baseline(accounts)?;
    let mut measured = create(&server, time)?;
    server.end()?;
    Ok(measured.sample().rate)
}

fn create(server: &ChildServer, time: Duration) -> anyhow::Result<Measurement<1>> {
    let requests = Requests::new(&server.keys, false);
    measure(server, CONNECTIONS, time, |warm, connection| {
        caller(requests.clone(), warm, connection, CONNECTIONS)
    })
}
