//! The speed of the disk: writes of one size, each made durable before the next.

use crate::client::Latencies;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// The size of the overwritten file. A journal overwrites as well: its blocks exist before their first use.
const SPACE: u64 = 64 << 20;

/// Appends blocks to a new file in this directory for `time`. Returns the latency of each durable write.
pub fn append(directory: &Path, block: usize, time: Duration) -> anyhow::Result<Latencies> {
    let mut file = File::create(directory.join("appended"))?;
    let bytes = vec![0x5a; block];
    each(time, |_| {
        file.write_all(&bytes)?;
        file.sync_data()
    })
}

/// Like [`append`], but overwrites allocated space, so that a sync writes only data.
pub fn write_over(directory: &Path, block: usize, time: Duration) -> anyhow::Result<Latencies> {
    let mut file = File::create(directory.join("written-over"))?;
    file.write_all(&vec![0; SPACE as usize])?;
    file.sync_all()?;
    let bytes = vec![0x5a; block];
    each(time, |number| {
        let at = number * block as u64 % (SPACE - block as u64);
        file.write_all_at(&bytes, at)?;
        file.sync_data()
    })
}

/// A way to write.
pub type Write = fn(&Path, usize, Duration) -> anyhow::Result<Latencies>;

fn each(
    time: Duration,
    mut write: impl FnMut(u64) -> std::io::Result<()>,
) -> anyhow::Result<Latencies> {
    let (until, mut latencies) = (Instant::now() + time, Latencies::default());
    for number in 0.. {
        let began = Instant::now();
        if began >= until {
            break;
        }
        write(number)?;
        latencies.add(began.elapsed());
    }
    Ok(latencies)
}
