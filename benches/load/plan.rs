//! The parts of a run and their order.

use crate::bench::{Bench, Pace};
use crate::{batches, bodies, creations, deliveries, end_to_end, reads, scale, waiting};
use anyhow::{Context as _, ensure};
use std::time::Duration;

/// Rows measured in every round.
const ROUNDS: [(&str, Rows); 7] = [
    ("baseline", creations::baseline_rows),
    ("create", creations::rows),
    ("overload", creations::saturated_rows),
    ("batch", batches::rows),
    ("read", reads::rows),
    ("mixed", reads::mixed),
    ("life", end_to_end_rows),
];
/// Rows that measure delays and not rates: measured once.
const ONCE: [(&str, Rows); 1] = [("deliveries", deliveries::rows)];
/// Parts with their own tables, mostly of memory.
const APART: [(&str, Tables); 3] = [
    ("scale", scale::run),
    ("bodies", bodies::run),
    ("waiting", waiting::run),
];

type Rows = fn(&mut Bench) -> anyhow::Result<()>;
type Tables = fn() -> anyhow::Result<()>;

fn end_to_end_rows(bench: &mut Bench) -> anyhow::Result<()> {
    end_to_end::by_webhook(bench)?;
    end_to_end::by_waiting(bench)
}

/// Runs the parts that the arguments name, or everything.
pub fn run(arguments: &[String]) -> anyhow::Result<()> {
    let Arguments { pace, names } = Arguments::read(arguments)?;
    let wants = |name: &str| names.is_empty() || names.iter().any(|it| it == name);
    if ROUNDS.iter().chain(&ONCE).any(|(name, _)| wants(name)) {
        let mut bench = Bench::begin(pace)?;
        for _ in 0..pace.rounds {
            bench.begin_round()?;
            for (_, rows) in ROUNDS.iter().filter(|(name, _)| wants(name)) {
                rows(&mut bench)?;
            }
        }
        for (_, rows) in ONCE.iter().filter(|(name, _)| wants(name)) {
            rows(&mut bench)?;
        }
        bench.finish()?;
    }
    for (_, run) in APART.iter().filter(|(name, _)| wants(name)) {
        run()?;
    }
    Ok(())
}

/// The parsed arguments.
struct Arguments {
    pace: Pace,
    /// Empty: everything.
    names: Vec<String>,
}

impl Arguments {
    fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut parsed = Self {
            pace: Pace {
                time: Duration::from_secs(6),
                rounds: 3,
            },
            names: Vec::new(),
        };
        let known: Vec<&str> = ROUNDS.iter().chain(&ONCE).map(|(name, _)| *name).collect();
        let known: Vec<&str> = known
            .into_iter()
            .chain(APART.iter().map(|(name, _)| *name))
            .collect();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut figure = || {
                let text = words.next().with_context(|| format!("{word} what?"))?;
                text.parse::<u32>().with_context(|| text.clone())
            };
            match word.as_str() {
                "--seconds" => parsed.pace.time = Duration::from_secs(figure()?.max(1).into()),
                "--rounds" => parsed.pace.rounds = figure()?.max(1) as usize,
                name => {
                    ensure!(
                        known.contains(&name),
                        "`{name}` is not a part; parts: {known:?}"
                    );
                    parsed.names.push(name.to_owned());
                }
            }
        }
        Ok(parsed)
    }
}
