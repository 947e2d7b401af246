//! Deliveries alone: the rate, the delay after the due time, and whether hanging receivers slow others down.

use crate::bench::Bench;
use crate::check;
use crate::report::Sample;
use crate::server::ChildServer;
use anyhow::{Context as _, ensure};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};
use tintype_storage::domain::time::Timestamp;

/// Time between the call and the first due delivery: enough to fill the store and to start the service.
const AHEAD: Duration = Duration::from_secs(25);
const PATIENCE: Duration = Duration::from_secs(180);

pub struct Scenario {
    name: &'static str,
    receivers: usize,
    /// Receivers that hang, among the receivers above.
    hanging: usize,
    /// Deliveries in total, including those to hanging receivers. A multiple of the receivers, which get equal numbers.
    count: usize,
    /// Microseconds between the due times of two deliveries.
    spacing: u64,
}

const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "webhooks alone: 60,000 due at once",
        receivers: 1_000,
        hanging: 0,
        count: 60_000,
        spacing: 0,
    },
    Scenario {
        name: "webhooks alone: 1,000 due each second",
        receivers: 1_000,
        hanging: 0,
        count: 15_000,
        spacing: 1_000,
    },
    Scenario {
        name: "webhooks alone: the same, half of the 1,000 receivers hang",
        receivers: 1_000,
        hanging: 500,
        count: 15_000,
        spacing: 1_000,
    },
    Scenario {
        name: "webhooks alone: the same, half of 2,000 receivers hang",
        receivers: 2_000,
        hanging: 1_000,
        count: 16_000,
        spacing: 1_000,
    },
];

/// A row for each scenario: the rate, and the delay of each delivery after its due time.
pub fn rows(bench: &mut Bench) -> anyhow::Result<()> {
    for scenario in &SCENARIOS {
        let sample = one(scenario)?;
        bench.table.add(scenario.name, sample);
    }
    Ok(())
}

fn one(scenario: &Scenario) -> anyhow::Result<Sample> {
    let directory = tempfile::tempdir()?;
    let receiver = ChildServer::start(&["receiver"])?;
    let first = Timestamp::now().plus(AHEAD);
    let filled = Command::new(std::env::current_exe()?)
        .args(["--child", "fill-deliveries"])
        .arg(directory.path())
        .arg(receiver.address.to_string())
        .args([scenario.receivers, scenario.hanging, scenario.count].map(|it| it.to_string()))
        .args([first.millis().to_string(), scenario.spacing.to_string()])
        .status()?;
    ensure!(filled.success(), "the directory could not be filled");
    let service = ChildServer::tintype(directory.path(), 0)?;
    ensure!(
        Timestamp::now() < first,
        "filling and starting took too long for deliveries to be due afterwards"
    );
    let expected = scenario.count - scenario.count * scenario.hanging / scenario.receivers;
    let figures = until_arrived(receiver.address, expected)?;
    service.end()?;
    receiver.end()?;
    let store = check::open(directory.path())?;
    let delivered = check::delivered(&store)?;
    store.engine().close();
    let [arrived, rate, p50, p99] = figures.map(|it| it as f64);
    let sample = Sample {
        rate,
        p50: Some(p50),
        p99: Some(p99),
        ..Sample::default()
    };
    // A delivery that arrived right before the end may not be on record, and the service would repeat it after a start.
    Ok(sample
        .with("came", arrived)
        .with("on record", delivered as f64))
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
