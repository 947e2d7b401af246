//! Deliveries alone: how many a second, how long after their moment they start, and whether receivers that hang hold up others.

use crate::plan::Peer;
use anyhow::{Context as _, ensure};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tintype_storage::domain::delivery::DeliveryState;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::store::Store;

/// Between the call and the moment when the first delivery is due: for filling the store and starting the service.
const AHEAD: Duration = Duration::from_secs(25);
const PATIENCE: Duration = Duration::from_secs(180);

/// One run.
pub struct Scenario {
    name: &'static str,
    receivers: usize,
    /// Of these.
    hanging: usize,
    /// Deliveries in all, those to hanging receivers included: as many to each, so a multiple of the receivers.
    count: usize,
    /// Between the moments of two deliveries, in microseconds.
    spacing: u64,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "all due at once",
        receivers: 1_000,
        hanging: 0,
        count: 60_000,
        spacing: 0,
    },
    Scenario {
        name: "1,000 a second",
        receivers: 1_000,
        hanging: 0,
        count: 15_000,
        spacing: 1_000,
    },
    Scenario {
        name: "1,000 a second, half of the receivers hang",
        receivers: 1_000,
        hanging: 500,
        count: 15_000,
        spacing: 1_000,
    },
    Scenario {
        name: "1,000 a second to 2,000 receivers, half of which hang",
        receivers: 2_000,
        hanging: 1_000,
        count: 16_000,
        spacing: 1_000,
    },
];

/// Prints one line for each scenario.
pub fn run() -> anyhow::Result<()> {
    println!(
        "\n| Deliveries, to 1,000 receivers | arrived | per second | start delay p50 ms | p99 ms | recorded as delivered |"
    );
    println!("|---|---|---|---|---|---|");
    SCENARIOS.iter().try_for_each(one)
}

fn one(scenario: &Scenario) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let receiver = Peer::start(&["receiver"])?;
    let first = Timestamp::now().plus(AHEAD);
    let filled = Command::new(std::env::current_exe()?)
        .args(["--peer", "fill-deliveries"])
        .arg(directory.path())
        .arg(receiver.address.to_string())
        .args([scenario.receivers, scenario.hanging, scenario.count].map(|it| it.to_string()))
        .args([first.millis().to_string(), scenario.spacing.to_string()])
        .status()?;
    ensure!(filled.success(), "the directory could not be filled");
    let service = Peer::tintype(directory.path(), 0)?;
    ensure!(
        Timestamp::now() < first,
        "filling and starting took too long for deliveries to be due afterwards"
    );
    let expected = scenario.count - scenario.count * scenario.hanging / scenario.receivers;
    let figures = until_arrived(receiver.address, expected)?;
    service.end()?;
    receiver.end()?;
    let [arrived, rate, p50, p99] = figures;
    println!(
        "| {} | {arrived} | {rate} | {p50} | {p99} | {} |",
        scenario.name,
        delivered(directory.path())?
    );
    Ok(())
}

fn until_arrived(receiver: SocketAddr, expected: usize) -> anyhow::Result<[u64; 4]> {
    let began = Instant::now();
    loop {
        let figures = report(receiver)?;
        if figures[0] >= expected as u64 {
            return Ok(figures);
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "only {} of {expected} deliveries came",
            figures[0]
        );
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn report(receiver: SocketAddr) -> anyhow::Result<[u64; 4]> {
    let mut stream = TcpStream::connect(receiver)?;
    stream.write_all(b"GET /report HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (_, body) = text.split_once("\r\n\r\n").context("no answer")?;
    let figures: Vec<u64> = body
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    figures.try_into().ok().context("no figures")
}

/// Deliveries that the store has as delivered.
fn delivered(data_dir: &Path) -> anyhow::Result<usize> {
    let engine = SledEngine::open(&data_dir.join("store"), SledOptions::new(Arc::new(|_| {})))?;
    let store = Store::new(Arc::new(engine));
    let mut count = 0;
    store.each_delivery(|delivery| {
        count += usize::from(matches!(delivery.state, DeliveryState::Delivered { .. }));
        Ok(())
    })?;
    store.engine().close();
    Ok(count)
}
