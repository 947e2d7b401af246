//! Batches of a thousand prompts, each durable before its answer, and the latency of single creations meanwhile.

use crate::bench::{Bench, measure};
use crate::check;
use crate::client::Caller;
use crate::report::Sample;
use crate::server::ChildServer;
use crate::wire::{self, Wire};
use std::rc::Rc;

/// Requests per batch.
const REQUESTS: usize = 1_000;

struct Row {
    name: &'static str,
    connections: usize,
}

const ROWS: [Row; 2] = [
    Row {
        name: "jobs by batches of 1,000, 1 connection",
        connections: 1,
    },
    Row {
        name: "jobs by batches of 1,000, 8 connections",
        connections: 8,
    },
];

/// Eight accounts submit batches, one connection each, while the ninth creates single jobs.
const ACCOUNTS: usize = 9;
const SINGLE: &str = "single creations beside 8 connections with batches";

/// Batches from a few callers and from more, then single creations beside them.
pub fn rows(bench: &mut Bench) -> anyhow::Result<()> {
    for row in &ROWS {
        let directory = bench.directory()?;
        let server = ChildServer::tintype(&directory, ACCOUNTS)?;
        let mut measured = measure(&server, row.connections, bench.time(), |_, connection| {
            BatchCaller::of(&server.keys, connection)
        })?;
        let [batches] = measured.calls;
        let (written, _) = check::end(server, &directory, batches * REQUESTS)?;
        let sample = measured.sample();
        let jobs = REQUESTS as f64;
        let sample = Sample {
            rate: sample.rate * jobs,
            processor: sample.processor.map(|it| it.div_f64(jobs)),
            ..sample
        };
        let each = (batches * REQUESTS) as f64 / written.syncs;
        bench.add(row.name, sample.with("for each fdatasync", each))?;
    }
    beside_singles(bench)
}

fn beside_singles(bench: &mut Bench) -> anyhow::Result<()> {
    let directory = bench.directory()?;
    let server = ChildServer::tintype(&directory, ACCOUNTS)?;
    let callers = ACCOUNTS;
    let mut measured = measure(&server, callers, bench.time(), |_, connection| {
        let key = &server.keys[connection % server.keys.len()];
        match connection + 1 == callers {
            true => BatchOrSingle::Single(wire::post(key, None).into()),
            false => BatchOrSingle::Batch(BatchCaller::of(&server.keys, connection)),
        }
    })?;
    let [batches, singles] = measured.calls;
    check::end(server, &directory, batches * REQUESTS + singles)?;
    let rate = measured.outcome.rate(1);
    let of_batches = measured.outcome.rate(0) * REQUESTS as f64;
    let sample = Sample::new(rate, &mut measured.outcome.kinds[1]);
    bench.add(SINGLE, sample.with("jobs by batches a second", of_batches))
}

/// BatchCaller batches one after the other.
struct BatchCaller(Rc<[u8]>);

impl BatchCaller {
    fn of(keys: &[String], connection: usize) -> Self {
        let key = &keys[connection % keys.len()];
        Self(wire::post_batch(key, REQUESTS).into())
    }
}

impl Caller<1> for BatchCaller {
    async fn call(&mut self, wire: &mut Wire, _: usize) -> anyhow::Result<usize> {
        wire.exchange(&self.0).await?.expect("202")?;
        Ok(0)
    }
}

/// A caller that submits batches, or one that creates single jobs.
enum BatchOrSingle {
    Batch(BatchCaller),
    Single(Rc<[u8]>),
}

impl Caller<2> for BatchOrSingle {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        match self {
            Self::Batch(submits) => submits.call(wire, number).await,
            Self::Single(request) => {
                wire.exchange(request).await?.expect("202")?;
                Ok(1)
            }
        }
    }
}
