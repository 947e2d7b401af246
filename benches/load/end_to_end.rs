//! Jobs end to end: created, generated in no time, settled, and delivered to their callers.

use crate::bench::{Bench, measure};
use crate::check;
use crate::client::{self, Caller};
use crate::processor;
use crate::receipts::Receipts;
use crate::report::Sample;
use crate::server::{ChildServer, Generator};
use crate::wire::{self, Wire};
use anyhow::{Context as _, ensure};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ACCOUNTS: usize = 100;
/// Connections that create jobs.
pub const MAKERS: usize = 32;
/// Pending deliveries at which the client pauses: enough that no part of the service ever waits for the client.
const OPEN: u64 = 4_000;
/// Callers that wait for their jobs.
const WAITING: usize = 256;
/// Timeout of the last deliveries.
const PATIENCE: Duration = Duration::from_secs(60);

/// Jobs whose ends are delivered to webhooks.
pub fn by_webhook(bench: &mut Bench) -> anyhow::Result<()> {
    let directory = bench.directory()?;
    let receipts = Receipts::start()?;
    let receiver = Some(receipts.address);
    let server = ChildServer::tintype_with(&directory, ACCOUNTS, Generator::Instant, receiver)?;
    let made = Rc::new(RefCell::new(Vec::new()));
    let maker = |connection: usize| {
        let key = server.keys[connection % ACCOUNTS].as_str();
        Maker::new(std::iter::once(key), &made, &receipts)
    };
    client::run::<1, _>(server.address, MAKERS, bench.time() / 3, maker)?;
    let (before, received_before, began) = (
        processor::time_of(server.id())?,
        receipts.count(),
        Instant::now(),
    );
    client::run::<1, _>(server.address, MAKERS, bench.time(), maker)?;
    let (received, took) = (receipts.count() - received_before, began.elapsed());
    let used = processor::time_of(server.id())? - before;
    let made = made.take();
    let twice = check_receipts(&made, &receipts)?;
    let (_, report) = check::end(server, &directory, made.len())?;
    ensure!(
        report.live_jobs == 0,
        "{} jobs have not ended",
        report.live_jobs
    );
    let store = check::open(&directory)?;
    let delivered = check::delivered(&store)?;
    store.engine().close();
    ensure!(
        delivered == made.len() && report.deliveries == made.len() as u64,
        "{} jobs, {} deliveries, {delivered} of them delivered",
        made.len(),
        report.deliveries
    );
    let sample = Sample {
        rate: received as f64 / took.as_secs_f64(),
        processor: Some(used.div_f64(received as f64)),
        ..Sample::default()
    };
    let sample = sample.with("delivered more than once", twice as f64);
    bench.add("full life of a job, webhook delivered", sample)
}

/// Waits until every job has a delivery, and returns the number of jobs with more than one.
pub fn check_receipts(made: &[String], receipts: &Receipts) -> anyhow::Result<usize> {
    let began = Instant::now();
    while receipts.jobs() < made.len() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let received = receipts.take();
    let distinct: HashSet<&String> = made.iter().collect();
    ensure!(distinct.len() == made.len(), "two jobs have the same id");
    let missing = made
        .iter()
        .filter(|job| !received.contains_key(*job))
        .count();
    ensure!(
        missing == 0,
        "{missing} of {} jobs have no delivery",
        made.len()
    );
    ensure!(
        received.len() == made.len(),
        "deliveries name jobs that were not created"
    );
    Ok(received.values().filter(|times| **times > 1).count())
}

/// Creates jobs while the number of pending deliveries allows it.
pub struct Maker {
    /// One per account, in turn.
    requests: Vec<Vec<u8>>,
    /// The jobs of all connections.
    made: Rc<RefCell<Vec<String>>>,
    receipts: Arc<Receipts>,
}

impl Maker {
    /// Creates jobs for the accounts with these keys.
    pub fn new<'a>(
        keys: impl Iterator<Item = &'a str>,
        made: &Rc<RefCell<Vec<String>>>,
        receipts: &Arc<Receipts>,
    ) -> Self {
        Self {
            requests: keys.map(|key| wire::post(key, None)).collect(),
            made: Rc::clone(made),
            receipts: Arc::clone(receipts),
        }
    }
}

impl Caller<1> for Maker {
    async fn call(&mut self, wire: &mut Wire, number: usize) -> anyhow::Result<usize> {
        while self.made.borrow().len() as u64 >= self.receipts.count() + OPEN {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let request = &self.requests[number % self.requests.len()];
        let answer = wire.exchange(request).await?;
        answer.expect("202")?;
        self.made.borrow_mut().push(answer.job_id()?.to_owned());
        Ok(0)
    }
}

/// Callers that wait for their jobs by lookup or by events. A row measures from the creation to the end.
pub fn by_waiting(bench: &mut Bench) -> anyhow::Result<()> {
    for (name, manner) in [
        ("create, then lookup with ?wait=60", Manner::Wait),
        ("create, then listen to events", Manner::Listen),
    ] {
        let directory = bench.directory()?;
        let server = ChildServer::tintype_with(&directory, ACCOUNTS, Generator::Instant, None)?;
        let caller = |_: bool, connection: usize| Waiting {
            key: server.keys[connection % ACCOUNTS].clone(),
            manner,
        };
        let mut measured = measure::<1, _>(&server, WAITING, bench.time(), caller)?;
        let (_, report) = check::end(server, &directory, measured.calls[0])?;
        ensure!(
            report.live_jobs == 0,
            "{} jobs have not ended",
            report.live_jobs
        );
        bench.add(name, measured.sample())?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Manner {
    Wait,
    Listen,
}

/// Creates a job and waits for its end.
struct Waiting {
    key: String,
    manner: Manner,
}

impl Caller<1> for Waiting {
    async fn call(&mut self, wire: &mut Wire, _: usize) -> anyhow::Result<usize> {
        let answer = wire.exchange(&wire::post(&self.key, None)).await?;
        answer.expect("202")?;
        let path = format!("jobs/{}", answer.job_id()?);
        let answer = match self.manner {
            Manner::Wait => {
                let request = wire::get(&self.key, &format!("{path}?wait=60"));
                wire.exchange(&request).await?
            }
            Manner::Listen => {
                let request = wire::get(&self.key, &format!("{path}/events"));
                wire.follow(&request).await?
            }
        };
        answer.expect("200")?;
        let text = std::str::from_utf8(answer.whole)?;
        text.contains(r#""status":"done""#)
            .then_some(0)
            .with_context(|| format!("the job is not done: {text}"))
    }
}
