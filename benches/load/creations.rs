//! New jobs: durable before the answer, on one account and on many, beside a baseline, at saturation and under overload.

use crate::bench::{Bench, CONNECTIONS, Measurement, measure};
use crate::client::{self, Caller, Outcome, Same, Schedule};
use crate::report::Sample;
use crate::server::ChildServer;
use crate::wire::{self, Answer, Wire};
use crate::{check, disk, processor};
use anyhow::{Context as _, bail, ensure};
use std::rc::Rc;

/// Enough connections to fill every group commit.
const SATURATING: usize = 256;
/// Connections of an overload.
const OVERLOAD_CONNECTIONS: usize = 4_000;
/// The offered rate as a multiple of the capacity.
const OVERLOAD: f64 = 2.0;

struct Row {
    name: &'static str,
    accounts: usize,
    connections: usize,
    named: bool,
    /// The baseline's row of the same load.
    baseline: Option<&'static str>,
}

const ROWS: [Row; 4] = [
    Row {
        name: "durable create, 1 account",
        accounts: 1,
        connections: CONNECTIONS,
        named: false,
        baseline: Some(BASELINE_ROWS[0].name),
    },
    Row {
        name: "durable create, 1,000 accounts",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: false,
        baseline: Some(BASELINE_ROWS[1].name),
    },
    Row {
        name: "durable create, 1 account, Idempotency-Key",
        accounts: 1,
        connections: CONNECTIONS,
        named: true,
        baseline: None,
    },
    Row {
        name: "durable create, 1,000 accounts, Idempotency-Key",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: true,
        baseline: Some(BASELINE_ROWS[2].name),
    },
];

const BASELINE_ROWS: [Row; 3] = [
    Row {
        name: "FastAPI + PostgreSQL, 1 account",
        accounts: 1,
        connections: CONNECTIONS,
        named: false,
        baseline: None,
    },
    Row {
        name: "FastAPI + PostgreSQL, 1,000 accounts",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: false,
        baseline: None,
    },
    Row {
        name: "FastAPI + PostgreSQL, 1,000 accounts, Idempotency-Key",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: true,
        baseline: None,
    },
];

/// The rows of an overload.
struct Overload {
    /// Calls at fixed moments, regardless of earlier calls.
    offered: &'static str,
    /// Rejected callers retry immediately.
    retried_at_once: &'static str,
}

/// At saturation, and under overload.
const SATURATED_ROWS: [(Row, Overload); 2] = [
    (
        Row {
            name: "durable create, 1 account, 256 connections",
            accounts: 1,
            connections: SATURATING,
            named: false,
            baseline: None,
        },
        Overload {
            offered: "overload: on one processor, twice its capacity offered, 1 account",
            retried_at_once: "overload: on one processor, 4,000 callers who try again at once, 1 account",
        },
    ),
    (
        Row {
            name: "durable create, 1,000 accounts, 256 connections",
            accounts: 1_000,
            connections: SATURATING,
            named: false,
            baseline: None,
        },
        Overload {
            offered: "overload: on one processor, twice its capacity offered, 1,000 accounts",
            retried_at_once: "overload: on one processor, 4,000 callers who try again at once, 1,000 accounts",
        },
    ),
];

/// The conventional design, measured first so that the other rows can refer to it.
pub fn baseline_rows(bench: &mut Bench) -> anyhow::Result<()> {
    for row in &BASELINE_ROWS {
        let server = ChildServer::baseline(row.accounts)?;
        let mut measured = create(bench, &server, row)?;
        let stored: usize = server
            .end()?
            .parse()
            .context("the baseline counted nothing")?;
        let [accepted] = measured.calls;
        ensure!(
            stored == accepted,
            "the baseline has {stored} jobs of {accepted}"
        );
        bench.add(row.name, measured.sample())?;
    }
    Ok(())
}

/// Creations of a few callers.
pub fn rows(bench: &mut Bench) -> anyhow::Result<()> {
    for row in &ROWS {
        measure_row(bench, row)?;
    }
    Ok(())
}

/// Creations of many callers, the speed of the disk with blocks of that size, and an overload of twice the capacity.
pub fn saturated_rows(bench: &mut Bench) -> anyhow::Result<()> {
    for (row, overload) in &SATURATED_ROWS {
        let block = measure_row(bench, row)?;
        if row.accounts == 1 {
            disk_rows(bench, block)?;
        }
        overloaded(bench, overload, row)?;
    }
    Ok(())
}

/// Measures a row and returns the bytes of one group of the journal.
fn measure_row(bench: &mut Bench, row: &Row) -> anyhow::Result<usize> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype(directory.path(), row.accounts)?;
    let mut measured = create(bench, &server, row)?;
    let [accepted] = measured.calls;
    let (written, _) = check::end(server, directory.path(), accepted)?;
    let sample = measured.sample();
    let rate = sample.rate;
    let mut sample = sample.with("for each fdatasync", accepted as f64 / written.syncs);
    if let Some(baseline) = row.baseline.and_then(|it| bench.table.last(it)) {
        sample = sample.with("times FastAPI + PostgreSQL", rate / baseline.rate);
    }
    bench.add(row.name, sample)?;
    Ok((written.bytes / written.syncs) as usize)
}

fn create(bench: &Bench, server: &ChildServer, row: &Row) -> anyhow::Result<Measurement<1>> {
    let requests = Requests::new(&server.keys, row.named);
    measure(server, row.connections, bench.time(), |warm, connection| {
        caller(requests.clone(), warm, connection, row.connections)
    })
}

/// The caller of one connection.
pub fn caller(
    requests: Requests,
    warm: bool,
    connection: usize,
    connections: usize,
) -> impl Caller<1> {
    Same {
        expected: "202",
        request: move |number| requests.of(warm, connection, connections, number),
    }
}

/// The requests of all connections, over the accounts in turn.
#[derive(Clone)]
pub struct Requests {
    keys: Rc<Vec<String>>,
    /// One per key if all requests of a key are equal.
    plain: Rc<Vec<Rc<[u8]>>>,
    named: bool,
}

impl Requests {
    /// `named` adds an idempotency key to each request.
    pub fn new(keys: &[String], named: bool) -> Self {
        let plain = keys.iter().map(|key| wire::post(key, None).into());
        Self {
            plain: Rc::new(plain.collect()),
            keys: Rc::new(keys.to_vec()),
            named,
        }
    }

    fn of(&self, warm: bool, connection: usize, connections: usize, number: usize) -> Rc<[u8]> {
        let at = (connection * 7_919 + number * connections) % self.keys.len();
        if !self.named {
            return Rc::clone(&self.plain[at]);
        }
        let name = format!("load-{warm}-{connection}-{number}");
        wire::post(&self.keys[at], Some(&name)).into()
    }
}

/// The speed of the disk with blocks of a group's size.
fn disk_rows(bench: &mut Bench, block: usize) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let time = bench.time() / 3;
    for (name, write) in [
        ("the disk: append + fdatasync", disk::append as disk::Write),
        (
            "the disk: write over + fdatasync, as the journal does",
            disk::write_over,
        ),
    ] {
        let mut latencies = write(directory.path(), block, time)?;
        let rate = latencies.count() as f64 / time.as_secs_f64();
        let sample = Sample::new(rate, &mut latencies).with("bytes each", block as f64);
        bench.table.add(name, sample);
    }
    Ok(())
}

/// Offers more than the capacity. The service must reject the excess with 503 and `Retry-After`, and handle the rest as usual.
///
/// The service has one processor to itself, here and when its capacity is measured: a load generator on the same processor
/// would take twice as much of it at twice the rate.
fn overloaded(bench: &mut Bench, overload: &Overload, row: &Row) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype_on_one_processor(directory.path(), row.accounts)?;
    let measured = create(bench, &server, row)?;
    check::end(server, directory.path(), measured.calls[0])?;
    let capacity = measured.outcome.rate(0);
    offer_twice_the_capacity(bench, overload.offered, row, capacity)?;
    retry_at_once(bench, overload.retried_at_once, row, capacity)
}

/// Callers that ignore `Retry-After`.
fn retry_at_once(
    bench: &mut Bench,
    name: &'static str,
    row: &Row,
    capacity: f64,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype_on_one_processor(directory.path(), row.accounts)?;
    let requests = Requests::new(&server.keys, false);
    let mut measured = measure(
        &server,
        OVERLOAD_CONNECTIONS,
        bench.time(),
        |_, connection| RetriesAtOnce {
            requests: requests.clone(),
            connection,
        },
    )?;
    check::end(server, directory.path(), measured.calls[0])?;
    let [accepted, refused] = [0, 1].map(|kind| measured.outcome.rate(kind));
    let mut sample = Sample::new(accepted, &mut measured.outcome.kinds[0])
        .with("of the capacity", accepted / capacity)
        .with("refused a second", refused);
    sample.processor = Some(measured.processor);
    bench.add(name, sample)
}

/// Retries a rejected call immediately.
struct RetriesAtOnce {
    requests: Requests,
    connection: usize,
}

impl Caller<2> for RetriesAtOnce {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        let request = self
            .requests
            .of(false, self.connection, OVERLOAD_CONNECTIONS, number);
        kind(&wire.exchange(&request).await?)
    }
}

/// Calls at fixed moments, at twice the capacity.
fn offer_twice_the_capacity(
    bench: &mut Bench,
    name: &'static str,
    row: &Row,
    capacity: f64,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype_on_one_processor(directory.path(), row.accounts)?;
    let requests = Requests::new(&server.keys, false);
    let schedule = Schedule {
        connections: OVERLOAD_CONNECTIONS,
        rate: capacity * OVERLOAD,
        warm_up: bench.time() / 3,
        time: bench.time(),
    };
    let request =
        move |connection, number| requests.of(false, connection, OVERLOAD_CONNECTIONS, number);
    let used = processor::time_of(server.id())?;
    let mut outcome: Outcome<2> = client::run_schedule(server.address, schedule, request, kind)?;
    let used = processor::time_of(server.id())? - used;
    let [accepted, refused] = [0, 1].map(|kind| outcome.rate(kind));
    let rejection_p99 = outcome.kinds[1].percentile(0.99);
    let all_accepted = outcome.kinds[0].count() + outcome.unmeasured[0];
    check::end(server, directory.path(), all_accepted)?;
    let answers = (outcome.calls() + outcome.unmeasured.iter().sum::<usize>()) as f64;
    let mut sample = Sample::new(accepted, &mut outcome.kinds[0])
        .with("of the capacity", accepted / capacity)
        .with("offered a second", schedule.rate)
        .with("refused a second", refused)
        .with(
            "not sent, for want of an answer",
            schedule.rate - accepted - refused,
        )
        .with("ms p99 of refusals", rejection_p99);
    sample.processor = Some(used.div_f64(answers));
    bench.add(name, sample)
}

/// Accepts 202 and a well-formed rejection, and returns which one it is.
pub fn kind(answer: &Answer<'_>) -> anyhow::Result<usize> {
    match answer.status {
        b"202" => Ok(0),
        b"503" if answer.has_header("retry-after") => Ok(1),
        _ => bail!("wrong answer: {}", String::from_utf8_lossy(answer.whole)),
    }
}
