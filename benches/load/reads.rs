//! Reads, alone and between creations.

use crate::bench::{Bench, CONNECTIONS, measure};
use crate::check;
use crate::client::{Caller, Latencies, Same};
use crate::report::Sample;
use crate::server::{ChildServer, create_one};
use crate::wire::{self, Wire};
use anyhow::Context as _;
use std::rc::Rc;

/// Number of jobs to read.
const JOBS: usize = 1_000;

/// Lookups, balances and lists.
pub fn rows(bench: &mut Bench) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype(directory.path(), 1)?;
    let key = server.key().context("no key")?.to_owned();
    let create = |_| create_one(server.address, &key);
    let jobs = (0..JOBS).map(create).collect::<Result<Vec<_>, _>>()?;
    let lookups = jobs.iter().map(|job| format!("jobs/{job}")).collect();
    for (name, paths) in [
        ("lookup", lookups),
        ("balance", vec!["balance".to_owned()]),
        ("list of 20 jobs", vec!["jobs".to_owned()]),
    ] {
        let requests = paths.iter().map(|path| wire::get(&key, path).into());
        let requests: Rc<Vec<Rc<[u8]>>> = Rc::new(requests.collect());
        let caller = |_: bool, connection: usize| Same {
            expected: "200",
            request: {
                let requests = Rc::clone(&requests);
                move |number| Rc::clone(&requests[(connection * 31 + number) % requests.len()])
            },
        };
        let mut measured = measure::<1, _>(&server, CONNECTIONS, bench.time(), caller)?;
        bench.add(name, measured.sample())?;
    }
    check::end(server, directory.path(), JOBS)?;
    Ok(())
}

/// The kinds of calls in a mixed load.
const MIXED: [&str; 4] = [
    "mixed load: its creations",
    "mixed load: its lookups",
    "mixed load: its balances",
    "mixed load: its lists",
];
const CREATION: usize = 0;
const LOOKUP: usize = 1;
const BALANCE: usize = 2;
const LIST: usize = 3;
/// Calls of one cycle of a connection: 4 creations, 20 lookups, 4 balances, 1 list.
const STEPS: usize = 29;
const ACCOUNTS: usize = 100;

/// A mixed load on many accounts.
pub fn mixed(bench: &mut Bench) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype(directory.path(), ACCOUNTS)?;
    let caller = |_: bool, connection: usize| MixedCaller {
        key: server.keys[connection % ACCOUNTS].clone(),
        jobs: Vec::new(),
    };
    let mut measured = measure::<4, _>(&server, CONNECTIONS, bench.time(), caller)?;
    bench.add("mixed load", measured.sample())?;
    let took = measured.outcome.took.as_secs_f64();
    for (name, kind) in MIXED.into_iter().zip(&mut measured.outcome.kinds) {
        bench.table.add(name, of_kind(kind, took));
    }
    check::end(server, directory.path(), measured.calls[CREATION])?;
    Ok(())
}

fn of_kind(latencies: &mut Latencies, took: f64) -> Sample {
    Sample::new(latencies.count() as f64 / took, latencies)
}

/// A customer that creates jobs, looks some of them up, and sometimes reads the balance and the list.
struct MixedCaller {
    key: String,
    /// The jobs of this connection.
    jobs: Vec<String>,
}

impl Caller<4> for MixedCaller {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        let step = number % STEPS;
        if step == STEPS - 1 {
            let request = wire::get(&self.key, "jobs");
            wire.exchange(&request).await?.expect("200")?;
            return Ok(LIST);
        }
        match step % 7 {
            0 => {
                let request = wire::post(&self.key, None);
                let answer = wire.exchange(&request).await?;
                answer.expect("202")?;
                self.jobs.push(answer.job_id()?.to_owned());
                Ok(CREATION)
            }
            6 => {
                let request = wire::get(&self.key, "balance");
                wire.exchange(&request).await?.expect("200")?;
                Ok(BALANCE)
            }
            _ => {
                // Old ones and new ones.
                let job = &self.jobs[number * 7_919 % self.jobs.len()];
                let request = wire::get(&self.key, &format!("jobs/{job}"));
                wire.exchange(&request).await?.expect("200")?;
                Ok(LOOKUP)
            }
        }
    }
}
