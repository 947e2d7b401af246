//! Jobs end to end at one node: created, generated immediately, stored in a bucket, settled, and delivered to a webhook.

use super::audit::audit_count;
use super::findings::Findings;
use super::site::Machines;
use super::{Effort, pgbench};
use crate::client;
use crate::end_to_end::{MAKERS, Maker, check_receipts};
use crate::processor;
use crate::receipts::Receipts;
use crate::server::Generator;
use anyhow::ensure;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

const ACCOUNTS: usize = 1_000;
/// The minimum warm-up.
const WARM_UP: Duration = Duration::from_secs(5);
/// Share of pgbench's rate.
const GOAL: f64 = 0.5;

pub fn run(effort: &Effort, findings: &mut Findings) -> anyhow::Result<()> {
    let machines = Machines::start()?;
    let before = pgbench::rate(&machines, ACCOUNTS, effort.time)?;
    let site = machines.site();
    let receipts = Receipts::start()?;
    let node = site.node(ACCOUNTS, Generator::Instant, Some(receipts.address))?;
    let made = Rc::new(RefCell::new(Vec::new()));
    let maker = |connection: usize| {
        let keys = &node.server.keys;
        let of_it = (connection..keys.len()).step_by(MAKERS);
        Maker::new(of_it.map(|at| keys[at].as_str()), &made, &receipts)
    };
    // Fills the pipeline first: each job takes a while, so as many as fit must be in progress.
    client::run::<1, _>(node.address(), MAKERS, effort.time.max(WARM_UP), maker)?;
    let (delivered_before, began) = (receipts.count(), Instant::now());
    let (of_node, of_database) = (processor::time_of(node.server.id())?, machines.processor()?);
    client::run::<1, _>(node.address(), MAKERS, effort.time, maker)?;
    let (lives, took) = (
        (receipts.count() - delivered_before) as f64,
        began.elapsed(),
    );
    let of_node = processor::time_of(node.server.id())? - of_node;
    let of_database = machines.processor()? - of_database;
    let made = made.take();
    let twice = check_receipts(&made, &receipts)?;
    node.end()?;
    let report = audit_count(&site, made.len())?;
    ensure!(
        report.live_jobs == 0,
        "{} jobs have not ended",
        report.live_jobs
    );
    let after = pgbench::rate(&machines, ACCOUNTS, effort.time)?;
    let rate = lives / took.as_secs_f64();
    findings.note(
        "pgbench, 1000 accounts: transactions a second before and after",
        format!("{before:.0}, {after:.0}"),
    );
    findings.note(
        "full life with a webhook, 1000 accounts: jobs a second; processor time each of the node, of PostgreSQL; told twice",
        format!(
            "{rate:.0}; {} us, {} us; {twice}",
            of_node.div_f64(lives).as_micros(),
            of_database.div_f64(lives).as_micros()
        ),
    );
    let of_pgbench = rate / ((before + after) / 2.0);
    findings.at_least("full life, times pgbench", of_pgbench, GOAL);
    Ok(())
}
