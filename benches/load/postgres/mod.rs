//! Nodes on PostgreSQL, compared in the same run with the database's rate of a plain transaction.
//!
//! `cargo bench --bench load -- postgres` measures all parts, `-- postgres create growth` only these, and `--seconds 2`
//! shortens them. The run starts a private PostgreSQL, a bucket on loopback, and each node in its own process. It needs
//! PostgreSQL's programs, and python3-venv for the baseline.

mod audit;
mod changes;
mod create;
mod findings;
mod growth;
mod life;
mod pgbench;
mod quota;
mod restart;
mod site;
mod takeover;

/// The tests use the same bucket server.
#[path = "../../../tests/recovery/bucket.rs"]
mod bucket;

use anyhow::{Context as _, ensure};
use findings::Findings;
use std::time::Duration;

/// The parts that can run alone.
const PARTS: [(&str, Part); 6] = [
    ("create", create::run),
    ("life", life::run),
    ("growth", growth::run),
    ("restart", restart::run),
    ("changes", changes::run),
    ("takeover", takeover::run),
];

type Part = fn(&Effort, &mut Findings) -> anyhow::Result<()>;

pub struct Effort {
    /// Measured time per rate, after the warm-up.
    pub time: Duration,
    /// Number of nodes to kill.
    pub kills: usize,
}

/// Runs the parts that the words name, or all of them.
pub fn run(words: &[String]) -> anyhow::Result<()> {
    let mut effort = Effort {
        time: Duration::from_secs(4),
        kills: 3,
    };
    let mut names = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut figure = || {
            let text = words.next().with_context(|| format!("{word} what?"))?;
            text.parse::<u32>().with_context(|| text.clone())
        };
        match word.as_str() {
            "--seconds" => effort.time = Duration::from_secs(figure()?.max(1).into()),
            "--kills" => effort.kills = figure()? as usize,
            name => {
                let known = PARTS.map(|(name, _)| name);
                ensure!(
                    known.contains(&name),
                    "`{name}` is not a part; parts: {known:?}"
                );
                names.push(name);
            }
        }
    }
    let mut findings = Findings::default();
    for (name, part) in PARTS {
        if names.is_empty() || names.contains(&name) {
            part(&effort, &mut findings).with_context(|| format!("postgres {name}"))?;
        }
    }
    findings.print();
    Ok(())
}
