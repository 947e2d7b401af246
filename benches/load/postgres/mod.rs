//! Nodes on PostgreSQL: what they do, against what the database does for a plain transaction, in one run.
//!
//! `cargo bench --bench load -- postgres` measures all parts; `-- postgres create growth` only those that are named, and with
//! `--seconds 2` sooner. It starts a private PostgreSQL, a bucket on loopback, and each node in a process of its own. It needs
//! PostgreSQL's programs, and python3-venv for the rival.

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

/// The same bucket as that of the tests.
#[path = "../../../tests/recovery/bucket.rs"]
mod bucket;

use anyhow::{Context as _, ensure};
use findings::Findings;
use std::time::Duration;

/// What can be measured alone.
const PARTS: [(&str, Part); 6] = [
    ("create", create::run),
    ("life", life::run),
    ("growth", growth::run),
    ("restart", restart::run),
    ("changes", changes::run),
    ("takeover", takeover::run),
];

type Part = fn(&Effort, &mut Findings) -> anyhow::Result<()>;

/// How long, and how often, is measured.
pub struct Effort {
    /// For one rate, once it is warm.
    pub time: Duration,
    /// Nodes that are killed.
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
                ensure!(known.contains(&name), "{name} is none of {known:?}");
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
