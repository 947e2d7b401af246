//! Growth of the creation rate with the number of nodes. Each node gets a quarter of a processor, so that neither the machine
//! nor the database is the bottleneck.

use super::Effort;
use super::audit::audit_count;
use super::findings::Findings;
use super::quota::Quota;
use super::site::{Machines, Node};
use crate::bench::CONNECTIONS;
use crate::client::{self, Outcome};
use crate::creations::{Requests, caller};
use crate::server::Generator;
use anyhow::anyhow;
use std::thread;
use std::time::{Duration, Instant};

const SHARE: f64 = 0.25;
const COUNTS: [usize; 3] = [1, 2, 4];
const MANY: usize = 1_000;
/// Goal: share of the rate of as many single nodes.
const LINEAR: f64 = 0.9;
/// Goal: share of one node's rate, for one account at four nodes.
const HOT: f64 = 0.7;
/// Goal: share of the busiest node's rate, for the least busy node.
const LEAST: f64 = 0.8;

/// The combined result of some nodes.
struct Totals {
    rate: f64,
    /// The rate of the least busy node relative to the busiest.
    least: f64,
    /// PostgreSQL's share of the machine's processors.
    database: f64,
}

pub fn run(effort: &Effort, findings: &mut Findings) -> anyhow::Result<()> {
    let machines = Machines::start()?;
    let mut single = 0.0;
    for count in COUNTS {
        let done = measure(&machines, count, MANY, effort.time)?;
        findings.note(
            format!("create, {MANY} accounts, nodes of a quarter processor: {count}"),
            format!(
                "{:.0} jobs a second; PostgreSQL has {:.0} % of the machine",
                done.rate,
                done.database * 100.0
            ),
        );
        if count == 1 {
            single = done.rate;
        } else {
            let of_linear = done.rate / (single * count as f64);
            findings.at_least(format!("{count} nodes, of linear"), of_linear, LINEAR);
        }
    }
    let one = measure(&machines, 1, 1, effort.time)?;
    let four = measure(&machines, 4, 1, effort.time)?;
    findings.note(
        "create, 1 account, 1 node and 4: jobs a second",
        format!("{:.0}, {:.0}", one.rate, four.rate),
    );
    findings.at_least(
        "4 nodes at 1 account, of one node's rate",
        four.rate / one.rate,
        HOT,
    );
    findings.at_least("the least of the 4 against the most", four.least, LEAST);
    Ok(())
}

fn measure(
    machines: &Machines,
    count: usize,
    accounts: usize,
    time: Duration,
) -> anyhow::Result<Totals> {
    let site = machines.site();
    let mut nodes = Vec::new();
    for number in 0..count {
        // The first node creates the accounts.
        let accounts = if number == 0 { accounts } else { 0 };
        nodes.push(site.node(accounts, Generator::Never, None)?);
    }
    let mut quotas = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let quota = Quota::new(&number.to_string(), SHARE)?;
        quota.add(node.server.id())?;
        quotas.push(quota);
    }
    let keys = nodes[0].server.keys.clone();
    let warm = load(&nodes, &keys, time / 2)?;
    let (before, began) = (machines.processor()?, Instant::now());
    let done = load(&nodes, &keys, time)?;
    let used = machines.processor()? - before;
    let available = began.elapsed().as_secs_f64() * thread::available_parallelism()?.get() as f64;
    nodes.into_iter().try_for_each(Node::end)?;
    drop(quotas);
    let accepted = warm.iter().chain(&done).map(Outcome::calls).sum();
    audit_count(&site, accepted)?;
    let rates: Vec<f64> = done.iter().map(|it| it.rate(0)).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    Ok(Totals {
        rate: rates.iter().sum(),
        least: least / most,
        database: used.as_secs_f64() / available,
    })
}

/// Runs callers at all nodes concurrently, over the same accounts.
fn load(nodes: &[Node], keys: &[String], time: Duration) -> anyhow::Result<Vec<Outcome<1>>> {
    let total = nodes.len() * CONNECTIONS;
    thread::scope(|scope| {
        let loads: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(number, node)| {
                scope.spawn(move || {
                    let requests = Requests::new(keys, false);
                    client::run(node.address(), CONNECTIONS, time, |connection| {
                        let connection = number * CONNECTIONS + connection;
                        caller(requests.clone(), false, connection, total)
                    })
                })
            })
            .collect();
        let ended = loads.into_iter().map(|it| it.join());
        ended
            .map(|it| it.map_err(|_| anyhow!("a client panicked"))?)
            .collect()
    })
}
