//! What a million queued jobs cost: disk, memory, and the time until the service is ready again.

use crate::plan::Peer;
use anyhow::Context as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const JOBS: usize = 1_000_000;
const ACCOUNTS: usize = 100;
/// Memory is read when it has not grown for this long: by then every job has its actor.
const SETTLED: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);

/// Prints one line for each of the sizes.
pub fn run() -> anyhow::Result<()> {
    println!("\n| Queued jobs | disk MB | ready after s | resident MB |");
    println!("|---|---|---|---|");
    for jobs in [JOBS / 10, JOBS] {
        let directory = tempfile::tempdir()?;
        let filled = Command::new(std::env::current_exe()?)
            .arg("--peer")
            .arg("fill")
            .arg(directory.path())
            .args([ACCOUNTS.to_string(), jobs.to_string()])
            .status()?;
        anyhow::ensure!(filled.success(), "the directory could not be filled");
        let disk = size_of(&directory.path().join("store"))? / 1_000_000;
        let began = Instant::now();
        let peer = Peer::tintype(directory.path(), 0)?;
        let ready = began.elapsed();
        let resident = settled_memory(peer.id())?;
        peer.end()?;
        println!(
            "| {jobs} | {disk} | {:.1} | {resident} |",
            ready.as_secs_f64()
        );
    }
    Ok(())
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

/// Resident memory in MB, once it has stopped growing.
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
