//! Several nodes on one store: each has its own engine, clock and backend, and all share the records.
//!
//! At random, nodes join, leave, die and stall, also during their commits, and all of them lose the database for a while. Clients call
//! any node. The simulation checks what each commit does to the queue and the jobs; at the end all accepted jobs must have ended, no node
//! without a fault may have been declared dead, and the store must be consistent.

mod account;
mod batches;
mod deliveries;
mod ending;
mod engine;
mod generators;
mod limits;
mod locks;
mod ports;
mod scenario;
mod shared;
mod single_process;

use super::number;
use std::collections::BTreeMap;

const SEEDS: u64 = 60;
/// Events that must happen within these seeds. Without them the simulation proves little.
const EXPECTED: [&str; 30] = [
    "abandoned",
    "accepted",
    "batches accepted",
    "batches canceled",
    "callers lost with their nodes",
    "calls without an answer",
    "canceled",
    "changes under a lock",
    "commits refused after a fence",
    "deliveries given up",
    "deliveries received",
    "deliveries sent again",
    "deposits",
    "expired",
    "jobs taken over",
    "locks waited for",
    "nodes died",
    "nodes died after a fence",
    "nodes joined",
    "nodes left",
    "nodes stood still",
    "outages of the database",
    "refused for the balance",
    "refused for the live jobs of a key",
    "refused for the live jobs of an account",
    "refused for the spend limit of a key",
    "replayed at another node",
    "runs in shared places",
    "shards moved",
    "stores adopted",
];

#[test]
fn nodes_that_join_and_leave_satisfy_all_invariants() {
    super::silence_expected_panics();
    if let Some(seed) = number("NODES_SEED") {
        let scenario = scenario::simulate(seed);
        scenario.lines.iter().for_each(|line| println!("{line}"));
        assert_eq!(scenario.faults, Vec::<String>::new());
        return;
    }
    let (first, count) = (
        number("FIRST_SEED").unwrap_or(0),
        number("SEEDS").unwrap_or(SEEDS),
    );
    let mut happened: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    for seed in first..first + count {
        let scenario = scenario::simulate(seed);
        for (what, times) in scenario.counts {
            *happened.entry(what).or_default() += times;
        }
        if !scenario.faults.is_empty() {
            failed.push((seed, scenario.faults));
        }
    }
    println!("{count} seeds from {first} on: {happened:?}");
    if let Some((seed, faults)) = failed.first() {
        let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
        panic!(
            "{} failing seeds: {seeds:?}\nseed {seed}:\n  {}\nReplay it with NODES_SEED={seed} cargo test -p tintype-actors --test simulation -- --nocapture nodes",
            seeds.len(),
            faults.join("\n  ")
        );
    }
    let missing: Vec<&&str> = EXPECTED
        .iter()
        .filter(|it| !happened.contains_key(**it))
        .collect();
    assert!(
        missing.is_empty() || count < SEEDS,
        "expected events did not happen: {missing:?}"
    );
}
