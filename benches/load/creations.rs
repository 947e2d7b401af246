//! New jobs: durable before they are answered, on one account and on many, beside a rival, at saturation and past it.

use crate::bench::{Bench, CONNECTIONS, Measured, measure};
use crate::client::{self, Caller, Outcome, Same, Schedule};
use crate::report::Sample;
use crate::server::ChildServer;
use crate::wire::{self, Answer, Wire};
use crate::{check, disk, processor};
use anyhow::{Context as _, bail, ensure};
use std::rc::Rc;

/// Enough for every group that is written to have as many creations as it can.
const SATURATING: usize = 256;
/// Connections over which an overload comes.
const CROWD: usize = 4_000;
/// What is offered, against what can be done.
const OVERLOAD: f64 = 2.0;

/// A row of creations.
struct Row {
    name: &'static str,
    accounts: usize,
    connections: usize,
    named: bool,
    /// The row that does the same otherwise.
    rival: Option<&'static str>,
}

const ROWS: [Row; 4] = [
    Row {
        name: "durable create, 1 account",
        accounts: 1,
        connections: CONNECTIONS,
        named: false,
        rival: Some(RIVALS[0].name),
    },
    Row {
        name: "durable create, 1,000 accounts",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: false,
        rival: Some(RIVALS[1].name),
    },
    Row {
        name: "durable create, 1 account, Idempotency-Key",
        accounts: 1,
        connections: CONNECTIONS,
        named: true,
        rival: None,
    },
    Row {
        name: "durable create, 1,000 accounts, Idempotency-Key",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: true,
        rival: Some(RIVALS[2].name),
    },
];

const RIVALS: [Row; 3] = [
    Row {
        name: "FastAPI + PostgreSQL, 1 account",
        accounts: 1,
        connections: CONNECTIONS,
        named: false,
        rival: None,
    },
    Row {
        name: "FastAPI + PostgreSQL, 1,000 accounts",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: false,
        rival: None,
    },
    Row {
        name: "FastAPI + PostgreSQL, 1,000 accounts, Idempotency-Key",
        accounts: 1_000,
        connections: CONNECTIONS,
        named: true,
        rival: None,
    },
];

/// The rows of more than can be done.
struct Overload {
    /// Calls come at fixed moments, whatever becomes of those before.
    offered: &'static str,
    /// Callers who are refused repeat themselves at once.
    hammered: &'static str,
}

/// At saturation, and past it.
const CROWDED: [(Row, Overload); 2] = [
    (
        Row {
            name: "durable create, 1 account, 256 connections",
            accounts: 1,
            connections: SATURATING,
            named: false,
            rival: None,
        },
        Overload {
            offered: "overload: on one processor, twice its capacity offered, 1 account",
            hammered: "overload: on one processor, 4,000 callers who try again at once, 1 account",
        },
    ),
    (
        Row {
            name: "durable create, 1,000 accounts, 256 connections",
            accounts: 1_000,
            connections: SATURATING,
            named: false,
            rival: None,
        },
        Overload {
            offered: "overload: on one processor, twice its capacity offered, 1,000 accounts",
            hammered: "overload: on one processor, 4,000 callers who try again at once, 1,000 accounts",
        },
    ),
];

/// What a team would write instead. First, so that the other rows can be compared with it.
pub fn rivals(bench: &mut Bench) -> anyhow::Result<()> {
    for row in &RIVALS {
        let server = ChildServer::rival(row.accounts)?;
        let mut measured = create(bench, &server, row)?;
        let stored: usize = server.end()?.parse().context("the rival counted nothing")?;
        let [accepted] = measured.calls;
        ensure!(
            stored == accepted,
            "the rival has {stored} jobs of {accepted}"
        );
        bench.add(row.name, measured.sample())?;
    }
    Ok(())
}

/// Creations of few callers.
pub fn rows(bench: &mut Bench) -> anyhow::Result<()> {
    for row in &ROWS {
        ours(bench, row)?;
    }
    Ok(())
}

/// Creations of many callers, what the disk does with groups of that size, and an overload of twice as many.
pub fn crowded(bench: &mut Bench) -> anyhow::Result<()> {
    for (row, overload) in &CROWDED {
        let block = ours(bench, row)?;
        if row.accounts == 1 {
            of_disk(bench, block)?;
        }
        overloaded(bench, overload, row)?;
    }
    Ok(())
}

/// Measures a row; returns the bytes of one group of the journal.
fn ours(bench: &mut Bench, row: &Row) -> anyhow::Result<usize> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype(directory.path(), row.accounts)?;
    let mut measured = create(bench, &server, row)?;
    let [accepted] = measured.calls;
    let (written, _) = check::end(server, directory.path(), accepted)?;
    let sample = measured.sample();
    let rate = sample.rate;
    let mut sample = sample.with("for each fdatasync", accepted as f64 / written.syncs);
    if let Some(rival) = row.rival.and_then(|it| bench.table.last(it)) {
        sample = sample.with("times FastAPI + PostgreSQL", rate / rival.rate);
    }
    bench.add(row.name, sample)?;
    Ok((written.bytes / written.syncs) as usize)
}

fn create(bench: &Bench, server: &ChildServer, row: &Row) -> anyhow::Result<Measured<1>> {
    let requests = Requests::new(&server.keys, row.named);
    measure(server, row.connections, bench.time(), |warm, connection| {
        caller(requests.clone(), warm, connection, row.connections)
    })
}

/// A caller on one of so many connections.
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

/// The requests of all connections: accounts take turns.
#[derive(Clone)]
pub struct Requests {
    keys: Rc<Vec<String>>,
    /// One for each key, where they are all the same.
    plain: Rc<Vec<Rc<[u8]>>>,
    named: bool,
}

impl Requests {
    /// For these keys; `named`: with an idempotency key each.
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

/// What the disk can do with blocks of the size of a group.
fn of_disk(bench: &mut Bench, block: usize) -> anyhow::Result<()> {
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

/// Offers more than can be done. What is too much must be refused with 503 and a time to wait, the rest goes on.
///
/// The service has one processor for itself, here and where it is found out what it can do: a generator that took its own time from
/// it would take twice as much at twice the rate.
fn overloaded(bench: &mut Bench, overload: &Overload, row: &Row) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype_on_one_processor(directory.path(), row.accounts)?;
    let measured = create(bench, &server, row)?;
    check::end(server, directory.path(), measured.calls[0])?;
    let capacity = measured.outcome.rate(0);
    offered(bench, overload.offered, row, capacity)?;
    hammered(bench, overload.hammered, row, capacity)
}

/// Callers who do not wait as `Retry-After` says.
fn hammered(bench: &mut Bench, name: &'static str, row: &Row, capacity: f64) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype_on_one_processor(directory.path(), row.accounts)?;
    let requests = Requests::new(&server.keys, false);
    let mut measured = measure(&server, CROWD, bench.time(), |_, connection| Impatient {
        requests: requests.clone(),
        connection,
    })?;
    check::end(server, directory.path(), measured.calls[0])?;
    let [taken, refused] = [0, 1].map(|kind| measured.outcome.rate(kind));
    let mut sample = Sample::new(taken, &mut measured.outcome.kinds[0])
        .with("of the capacity", taken / capacity)
        .with("refused a second", refused);
    sample.processor = Some(measured.processor);
    bench.add(name, sample)
}

/// Repeats what is refused at once.
struct Impatient {
    requests: Requests,
    connection: usize,
}

impl Caller<2> for Impatient {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        let request = self.requests.of(false, self.connection, CROWD, number);
        kind(&wire.exchange(&request).await?)
    }
}

/// Calls at fixed moments, twice as many as can be done.
fn offered(bench: &mut Bench, name: &'static str, row: &Row, capacity: f64) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let server = ChildServer::tintype_on_one_processor(directory.path(), row.accounts)?;
    let requests = Requests::new(&server.keys, false);
    let schedule = Schedule {
        connections: CROWD,
        rate: capacity * OVERLOAD,
        time: bench.time(),
    };
    let request = move |connection, number| requests.of(false, connection, CROWD, number);
    let used = processor::time_of(server.id())?;
    let mut outcome: Outcome<2> = client::offer(server.address, schedule, request, kind)?;
    let used = processor::time_of(server.id())? - used;
    let [taken, refused] = [0, 1].map(|kind| outcome.rate(kind));
    let late = outcome.kinds[1].percentile(0.99);
    check::end(server, directory.path(), outcome.kinds[0].count())?;
    let answers = outcome.calls() as f64;
    let mut sample = Sample::new(taken, &mut outcome.kinds[0])
        .with("of the capacity", taken / capacity)
        .with("offered a second", schedule.rate)
        .with("refused a second", refused)
        .with(
            "not sent, for want of an answer",
            schedule.rate - taken - refused,
        )
        .with("ms p99 of refusals", late);
    sample.processor = Some(used.div_f64(answers));
    bench.add(name, sample)
}

/// Accepted, or refused as it should be.
pub fn kind(answer: &Answer<'_>) -> anyhow::Result<usize> {
    match answer.status {
        b"202" => Ok(0),
        b"503" if answer.has_header("retry-after") => Ok(1),
        _ => bail!("wrong answer: {}", String::from_utf8_lossy(answer.whole)),
    }
}
