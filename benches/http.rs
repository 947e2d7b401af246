//! Criterion benchmarks of whole calls: over HTTP, against a server in its own process with its records on disk.
//!
//! `cargo bench --bench http`. Criterion compares each run with the last one, and with saved baselines. The load run beside
//! this compares with a bare handler, and verifies the work of the servers.

#[allow(dead_code, reason = "shared with the load run, which uses all of it")]
#[path = "load/child_server.rs"]
mod child_server;
#[allow(dead_code, reason = "as above")]
#[path = "load/fill.rs"]
mod fill;
#[allow(dead_code, reason = "as above")]
#[path = "load/preload.rs"]
mod preload;
#[allow(dead_code, reason = "as above")]
#[path = "load/receipts.rs"]
mod receipts;
#[allow(dead_code, reason = "as above")]
#[path = "load/receiver.rs"]
mod receiver;
#[allow(dead_code, reason = "as above")]
#[path = "load/server.rs"]
mod server;
#[allow(dead_code, reason = "as above")]
#[path = "load/stdin.rs"]
mod stdin;
#[allow(dead_code, reason = "as above")]
#[path = "load/wire.rs"]
mod wire;

use anyhow::Context as _;
use criterion::{Criterion, Throughput};
use futures_util::future::try_join_all;
use receipts::Receipts;
use server::{ChildServer, Generator, create_one};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use wire::Wire;

const CONNECTIONS: usize = 64;
/// Accounts, used in turn.
const ACCOUNTS: usize = 1_000;
/// Number of jobs to read.
const JOBS: usize = 1_000;
/// Requests per batch.
const REQUESTS: usize = 1_000;
/// Timeout of the last delivery.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, words @ ..] = arguments.as_slice()
        && role == "--child"
    {
        return child_server::run(words);
    }
    let mut criterion = Criterion::default().configure_from_args();
    creations(&mut criterion)?;
    reads(&mut criterion)?;
    batches(&mut criterion)?;
    end_to_end(&mut criterion)?;
    criterion.final_summary();
    Ok(())
}

/// New jobs, each durable before its answer.
fn creations(criterion: &mut Criterion) -> anyhow::Result<()> {
    let mut group = criterion.benchmark_group("create");
    group.throughput(Throughput::Elements(1));
    for (name, accounts, is_named) in [
        ("one account", 1, false),
        ("1,000 accounts", ACCOUNTS, false),
        ("1,000 accounts, Idempotency-Key", ACCOUNTS, true),
    ] {
        let served = TestServer::with(accounts)?;
        let mut calls = Calls::open(&served.server, CONNECTIONS)?;
        let keys = &served.server.keys;
        let mut number = 0;
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                calls.time(count, "202", |_| {
                    number += 1;
                    let idempotency = is_named.then(|| format!("bench-{number}"));
                    wire::post(&keys[number % keys.len()], idempotency.as_deref()).into()
                })
            });
        });
        served.end()?;
    }
    group.finish();
    Ok(())
}

/// Reads.
fn reads(criterion: &mut Criterion) -> anyhow::Result<()> {
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Elements(1));
    let served = TestServer::with(1)?;
    let key = served.server.key().context("no key")?.to_owned();
    let create = |_| create_one(served.server.address, &key);
    let jobs = (0..JOBS).map(create).collect::<Result<Vec<_>, _>>()?;
    let lookups = jobs.iter().map(|job| format!("jobs/{job}")).collect();
    let mut calls = Calls::open(&served.server, CONNECTIONS)?;
    for (name, paths) in [
        ("lookup", lookups),
        ("balance", vec!["balance".to_owned()]),
        ("list of 20 jobs", vec!["jobs".to_owned()]),
    ] {
        let requests = paths.iter().map(|path| wire::get(&key, path).into());
        let requests: Vec<Rc<[u8]>> = requests.collect();
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                calls.time(count, "200", |at| Rc::clone(&requests[at % requests.len()]))
            });
        });
    }
    drop(calls);
    group.finish();
    served.end()
}

/// Batches of a thousand jobs.
fn batches(criterion: &mut Criterion) -> anyhow::Result<()> {
    let mut group = criterion.benchmark_group("batch of 1,000 jobs");
    group.throughput(Throughput::Elements(REQUESTS as u64));
    group.sample_size(20);
    for (name, connections) in [("1 connection", 1), ("8 connections", 8)] {
        let served = TestServer::with(connections)?;
        let requests = served.server.keys.iter();
        let requests: Vec<Rc<[u8]>> = requests
            .map(|key| wire::post_batch(key, REQUESTS).into())
            .collect();
        let mut calls = Calls::open(&served.server, connections)?;
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| {
                calls.time(count, "202", |at| Rc::clone(&requests[at % requests.len()]))
            });
        });
        drop(calls);
        served.end()?;
    }
    group.finish();
    Ok(())
}

/// Jobs from their creation to the delivery of their webhook, with a generator that needs no time.
fn end_to_end(criterion: &mut Criterion) -> anyhow::Result<()> {
    let mut group = criterion.benchmark_group("full life");
    group.throughput(Throughput::Elements(1));
    group.sample_size(20);
    let directory = tempfile::tempdir()?;
    let receipts = Receipts::start()?;
    let receiver = Some(receipts.address);
    let server = ChildServer::tintype_with(directory.path(), 100, Generator::Instant, receiver)?;
    let mut calls = Calls::open(&server, CONNECTIONS)?;
    let requests: Vec<Rc<[u8]>> = server
        .keys
        .iter()
        .map(|key| wire::post(key, None).into())
        .collect();
    group.bench_function("webhook delivered", |bencher| {
        bencher.iter_custom(|count| {
            let (began, before) = (Instant::now(), receipts.count());
            calls.time(count, "202", |at| Rc::clone(&requests[at % requests.len()]));
            while receipts.count() < before + count {
                assert!(began.elapsed() < PATIENCE, "deliveries are missing");
                thread::sleep(Duration::from_micros(200));
            }
            began.elapsed()
        });
    });
    drop(calls);
    group.finish();
    server.end_tintype()?;
    Ok(())
}

/// A server on its own data directory, whose jobs never end.
struct TestServer {
    server: ChildServer,
    /// Deleted after the server has stopped.
    _directory: TempDir,
}

impl TestServer {
    fn with(accounts: usize) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        Ok(Self {
            server: ChildServer::tintype(directory.path(), accounts)?,
            _directory: directory,
        })
    }

    fn end(self) -> anyhow::Result<()> {
        self.server.end_tintype().map(drop)
    }
}

/// Connections that stay open between measurements.
struct Calls {
    runtime: Runtime,
    wires: Vec<Wire>,
}

impl Calls {
    fn open(server: &ChildServer, connections: usize) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let open = (0..connections).map(|_| Wire::open(server.address));
        let wires = runtime.block_on(try_join_all(open))?;
        Ok(Self { runtime, wires })
    }

    /// The time of this many calls over all connections. A wrong answer ends the run.
    fn time(
        &mut self,
        calls: u64,
        expected: &str,
        request: impl FnMut(usize) -> Rc<[u8]>,
    ) -> Duration {
        let request = RefCell::new(request);
        let next = Cell::new(0);
        let take = || {
            let number = next.get();
            next.set(number + 1);
            (number < calls).then_some(number as usize)
        };
        let began = Instant::now();
        let callers = self.wires.iter_mut().map(|wire| async {
            while let Some(number) = take() {
                let request = (request.borrow_mut())(number);
                wire.exchange(&request).await?.expect(expected)?;
            }
            anyhow::Ok(())
        });
        let outcome = self.runtime.block_on(try_join_all(callers));
        outcome.expect("every call is answered as it should be");
        began.elapsed()
    }
}
