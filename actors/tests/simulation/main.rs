//! Deterministic simulation: the real actors, store and domain over an in-memory engine. A seed determines every random choice.
//!
//! A scenario has several lives of the process, which end in crashes at chosen commits, in storage failures or in orderly stops.
//! Clients, backends, receivers, the operator and the clock act at random. An independent model (`model/`), which knows the rules in
//! plain integers and calls no function of the domain, checks each commit. At the end no more failures are injected, and all pending
//! work must finish.
//!
//! `SEEDS=100000` sets the number of seeds, `FIRST_SEED` the first one; `SEED=17` replays one seed and prints its trace.

mod clients;
mod disk;
mod generators;
mod keys;
mod life;
mod model;
mod nodes;
mod operator;
mod receivers;
mod rng;
mod scenario;
mod world;

use scenario::{Scenario, simulate};
use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = 300;
/// Seeds that are simulated twice, to check that a seed is deterministic.
const REPEATED_SEEDS: u64 = 6;
/// The test stops after this many failing seeds.
const MAX_FAILURES: usize = 20;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
    )
}

/// Hides the panics that the scenarios inject.
fn silence_expected_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let payload = panic.payload();
        let message = payload.downcast_ref::<String>().map(String::as_str);
        if message != Some(world::EXPECTED_PANIC) {
            usual(panic);
        }
    }));
}

fn failure_report(seed: u64, scenario: &Scenario) -> String {
    let faults = scenario.faults.join("\n  ");
    let last: Vec<&str> = scenario
        .lines
        .iter()
        .rev()
        .take(40)
        .map(String::as_str)
        .collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    format!(
        "seed {seed}:\n  {faults}\nafter\n  {}\nReplay it with SEED={seed} cargo test -p tintype-actors --test simulation -- --nocapture",
        last.join("\n  ")
    )
}

#[test]
fn hostile_046_047_095_every_simulated_scenario_satisfies_all_invariants() {
    silence_expected_panics();
    if let Some(seed) = number("SEED") {
        let scenario = simulate(seed);
        scenario.lines.iter().for_each(|line| println!("{line}"));
        assert!(
            scenario.faults.is_empty(),
            "{}",
            failure_report(seed, &scenario)
        );
        return;
    }
    let (first, count) = (
        number("FIRST_SEED").unwrap_or(0),
        number("SEEDS").unwrap_or(SEEDS),
    );
    let next = AtomicU64::new(first);
    let failed = Mutex::new(Vec::new());
    let totals = Mutex::new(scenario::EventCounts::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || failed.lock().expect("seeds").len() >= MAX_FAILURES
                    {
                        return;
                    }
                    let scenario = simulate(seed);
                    totals.lock().expect("counts").add(&scenario.counts);
                    if !scenario.faults.is_empty() {
                        failed
                            .lock()
                            .expect("seeds")
                            .push((seed, failure_report(seed, &scenario)));
                    }
                }
            });
        }
    });
    let totals = totals.into_inner().expect("counts");
    println!("{count} seeds from {first} on: {totals}");
    let mut failed = failed.into_inner().expect("seeds");
    failed.sort();
    let seeds: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
    if let Some((_, failure_report)) = failed.first() {
        panic!("{} failing seeds: {seeds:?}\n{failure_report}", seeds.len());
    }
    assert!(
        totals.is_varied() || count < SEEDS,
        "expected events did not happen: {totals}"
    );
}

#[test]
fn a_seed_gives_the_same_trace_each_time() {
    silence_expected_panics();
    for seed in 0..REPEATED_SEEDS {
        let (mut first, mut second) = (simulate(seed), simulate(seed));
        // Events at the same instant have no order.
        first.lines.sort();
        second.lines.sort();
        let differs = first.lines.iter().zip(&second.lines).find(|(a, b)| a != b);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.lines.len(), second.lines.len(), "seed {seed}");
    }
}
