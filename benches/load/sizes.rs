//! One size of a store: disk and memory, startup time, and latencies.

use crate::preload::Preload;
use crate::probe;
use crate::server::ChildServer;
use anyhow::{Context as _, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tintype_storage::domain::time::Timestamp;

/// Memory is read once it has not grown for this long.
const SETTLED: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);
/// Pending deliveries become due after this time, and so never during a measurement.
const AHEAD: Duration = Duration::from_secs(30 * 86_400);
/// An address without a listener; the run never delivers to it.
const NOWHERE: &str = "127.0.0.1:9";
const BODY: &str = r#"{"prompt":"a red fox in the snow at dawn, woodcut","aspect_ratio":"16:9"}"#;

/// A job to look up, with its key.
pub struct KnownJob {
    key: String,
    job: String,
}

/// The measurements of one size.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The number of the measured items.
    pub size: usize,
    /// Megabytes of the data directory.
    pub disk: f64,
    /// Seconds from the start of the process until it serves.
    pub ready: f64,
    /// Resident megabytes after they have stopped growing.
    pub resident: f64,
    /// Median microseconds of a lookup, over jobs of all ages.
    pub lookup: f64,
    /// Median microseconds of a durable creation.
    pub create: f64,
}

/// Adds a preload to a data directory.
pub fn fill(data_dir: &Path, preload: Preload) -> anyhow::Result<Vec<KnownJob>> {
    let counts = [preload.accounts, preload.queued, preload.finished];
    let filled = child("preload", data_dir)?
        .args(counts.map(|it| it.to_string()))
        .output()?;
    let stderr = String::from_utf8_lossy(&filled.stderr);
    ensure!(
        filled.status.success(),
        "the directory stays empty: {stderr}"
    );
    let printed = String::from_utf8(filled.stdout)?;
    let known = |line: &str| {
        let (key, job) = line.split_once(' ')?;
        Some(KnownJob {
            key: key.to_owned(),
            job: job.to_owned(),
        })
    };
    Ok(printed.lines().filter_map(known).collect())
}

/// Adds pending deliveries to this many receivers.
pub fn fill_deliveries(data_dir: &Path, count: usize, receivers: usize) -> anyhow::Result<()> {
    let first = Timestamp::now().plus(AHEAD);
    let filled = child("fill-deliveries", data_dir)?
        .arg(NOWHERE)
        .args([receivers, 0, count].map(|it| it.to_string()))
        .args([first.millis().to_string(), "1000".into()])
        .status()?;
    ensure!(filled.success(), "the directory could not be filled");
    Ok(())
}

fn child(role: &str, data_dir: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--child", role]).arg(data_dir);
    Ok(command)
}

/// Starts the service on a data directory and measures it.
pub fn measure(data_dir: &Path, size: usize, known: &[KnownJob]) -> anyhow::Result<Point> {
    let disk = size_of(&data_dir.join("store"))? as f64 / 1e6;
    let began = Instant::now();
    let server = ChildServer::tintype(data_dir, 0)?;
    let ready = began.elapsed().as_secs_f64();
    let resident = settled_memory(server.id())? as f64;
    let lookup = probe::median(server.address, "200", |number| {
        let KnownJob { key, job } = &known[number % known.len()];
        format!(
            "GET /api/v1/jobs/{job} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n"
        )
    })?;
    let create = probe::median(server.address, "202", |number| {
        let key = &known[number % known.len()].key;
        format!(
            "POST /api/v1/text-generations HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
            BODY.len()
        )
    })?;
    server.end()?;
    Ok(Point {
        size,
        disk,
        ready,
        resident,
        lookup,
        create,
    })
}

fn size_of(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() {
            size_of(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(bytes)
}

/// Resident memory in MB after it has stopped growing.
pub fn settled_memory(process: u32) -> anyhow::Result<u64> {
    let began = Instant::now();
    let (mut most, mut since) = (0, Instant::now());
    while began.elapsed() < PATIENCE && since.elapsed() < SETTLED {
        let now = resident(process)?;
        if now > most {
            (most, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(most)
}

fn resident(process: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .context("no VmRSS")?;
    let kilobytes: u64 = line
        .split_whitespace()
        .nth(1)
        .context("no figure")?
        .parse()?;
    Ok(kilobytes / 1_000)
}
