//! Several nodes on one store: each with its own engine, clock and back end, over records that all of them share.
//!
//! Chance has nodes join, leave, die, and stand still for a while, in the middle of their commits too. Clients call any of them. What
//! every commit does to the queue and to the jobs is held against the rules; at the end all that was accepted must have ended, and
//! the records must add up.

mod account;
mod alone;
mod ending;
mod engine;
mod generators;
mod locked;
mod ports;
mod post;
mod shared;
mod story;

use super::number;
use std::collections::BTreeMap;

/// A short run; thousands are asked for by hand.
const SEEDS: u64 = 60;
/// What has to happen somewhere in them, for else they prove little.
const EXPECTED: [&str; 22] = [
    "abandoned",
    "accepted",
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
    "replayed at another node",
    "runs in shared places",
    "shards moved",
    "stores adopted",
];

#[test]
fn nodes_that_come_and_go_keep_every_promise() {
    super::hush();
    if let Some(seed) = number("NODES_SEED") {
        let story = story::tell(seed);
        story.lines.iter().for_each(|line| println!("{line}"));
        assert_eq!(story.faults, Vec::<String>::new());
        return;
    }
    let (first, count) = (
        number("FIRST_SEED").unwrap_or(0),
        number("SEEDS").unwrap_or(SEEDS),
    );
    let mut happened: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = Vec::new();
    for seed in first..first + count {
        let story = story::tell(seed);
        for (what, times) in story.counts {
            *happened.entry(what).or_default() += times;
        }
        if !story.faults.is_empty() {
            failed.push((seed, story.faults));
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
        "the stories lack {missing:?}"
    );
}
