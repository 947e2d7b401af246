//! Growth of the service: memory, disk, startup time, lookup and creation latency, over the number of finished jobs, of queued
//! jobs,
//! of accounts and of pending deliveries. One table, and a plot of each.
//!
//! `SCALE=0.01` measures a hundredth of each size.

use crate::plot::{Plot, Series};
use crate::preload::Preload;
use crate::sizes::{self, KnownJob, Point};
use crate::waiting;
use std::path::{Path, PathBuf};

/// The largest sizes; each sweep reaches them in factors of ten.
const FINISHED: usize = 10_000_000;
const QUEUED: usize = 1_000_000;
const ACCOUNTS: usize = 100_000;
const DELIVERIES: usize = 100_000;
const LISTENERS: usize = 10_000;
/// Number of accounts in sweeps of other things, and of receivers of deliveries.
const FEW: usize = 100;
/// Number of jobs to look up in sweeps of other things.
const SOME_JOBS: usize = 1_000;
const PLOTS: &str = "docs/plots";

/// The sizes of one kind, with their results.
struct Sweep {
    name: &'static str,
    points: Vec<Point>,
}

impl Sweep {
    fn add(&mut self, point: Point) {
        let Self { name, points } = self;
        let size = point.size;
        println!(
            "| {name} | {size} | {:.0} | {:.0} | {:.2} | {:.0} | {:.0} |",
            point.disk, point.resident, point.ready, point.lookup, point.create
        );
        points.push(point);
    }
}

/// The fraction of the full sizes to measure.
fn scale() -> anyhow::Result<f64> {
    Ok(match std::env::var("SCALE") {
        Ok(text) => text.parse()?,
        Err(_) => 1.0,
    })
}

/// `steps` sizes up to the largest one.
fn sizes_to(largest: usize, steps: u32, scale: f64) -> Vec<usize> {
    let largest = (largest as f64 * scale) as usize;
    let size = |step| (largest / 10_usize.pow(step)).max(1);
    (0..steps).rev().map(size).collect()
}

/// Prints a line for each size, and writes the plots.
pub fn run() -> anyhow::Result<()> {
    let scale = scale()?;
    println!(
        "\n| What there is | how many | disk MB | resident MB | ready after s | lookup us | creation us |"
    );
    println!("|---|---|---|---|---|---|---|");
    let sweeps = [
        finished(scale)?,
        run_sweep("queued jobs", QUEUED, scale, |directory, size| {
            let preload = Preload {
                accounts: FEW,
                queued: size,
                finished: 0,
            };
            sizes::fill(directory, preload)
        })?,
        run_sweep("accounts", ACCOUNTS, scale, |directory, size| {
            let preload = Preload {
                accounts: size,
                queued: SOME_JOBS.min(size),
                finished: 0,
            };
            sizes::fill(directory, preload)
        })?,
        run_sweep(
            "pending deliveries",
            DELIVERIES,
            scale,
            |directory, size| {
                sizes::fill_deliveries(directory, size, FEW.min(size))?;
                fill_few_jobs(directory)
            },
        )?,
    ];
    let listeners = listeners(scale)?;
    plot(&sweeps, listeners)
}

fn fill_few_jobs(directory: &Path) -> anyhow::Result<Vec<KnownJob>> {
    let preload = Preload {
        accounts: FEW,
        queued: SOME_JOBS,
        finished: 0,
    };
    sizes::fill(directory, preload)
}

/// Measures each size with its own store.
fn run_sweep(
    name: &'static str,
    largest: usize,
    scale: f64,
    fill: impl Fn(&Path, usize) -> anyhow::Result<Vec<KnownJob>>,
) -> anyhow::Result<Sweep> {
    let mut sweep = Sweep {
        name,
        points: Vec::new(),
    };
    for size in sizes_to(largest, 3, scale) {
        let directory = tempfile::tempdir()?;
        let known = fill(directory.path(), size)?;
        sweep.add(sizes::measure(directory.path(), size, &known)?);
    }
    Ok(sweep)
}

/// The history, and on top of the longest one everything else at once.
fn finished(scale: f64) -> anyhow::Result<Sweep> {
    let mut sweep = Sweep {
        name: "finished jobs",
        points: Vec::new(),
    };
    let mut last = tempfile::tempdir()?;
    for size in sizes_to(FINISHED, 4, scale) {
        // Deletes the previous store first, because the larger ones are large.
        last.close()?;
        last = tempfile::tempdir()?;
        let preload = Preload {
            accounts: FEW,
            queued: 0,
            finished: size,
        };
        let known = sizes::fill(last.path(), preload)?;
        sweep.add(sizes::measure(last.path(), size, &known)?);
    }
    let share = |of: usize| (of as f64 * scale) as usize;
    sizes::fill_deliveries(last.path(), share(DELIVERIES).max(FEW), FEW)?;
    let rest = Preload {
        accounts: share(ACCOUNTS).max(1),
        queued: share(QUEUED),
        finished: 0,
    };
    let known = sizes::fill(last.path(), rest)?;
    let mut all = Sweep {
        name: "all of it at once, finished jobs",
        points: Vec::new(),
    };
    all.add(sizes::measure(last.path(), share(FINISHED), &known)?);
    Ok(sweep)
}

/// Memory of clients that listen to events, by their number.
fn listeners(scale: f64) -> anyhow::Result<Vec<(f64, f64)>> {
    println!("\n| Clients that listen to events | resident MB |");
    println!("|---|---|");
    let mut points = Vec::new();
    for clients in sizes_to(LISTENERS, 3, scale) {
        let resident = waiting::memory_of_listeners(clients)?;
        println!("| {clients} | {resident} |");
        points.push((clients as f64, resident as f64));
    }
    Ok(points)
}

fn plot(sweeps: &[Sweep], listeners: Vec<(f64, f64)>) -> anyhow::Result<()> {
    type Figure = fn(&Point) -> f64;
    let plots: [(&str, &str, &'static str, Figure); 5] = [
        ("memory", "Resident memory after a start", "MB", |it| {
            it.resident
        }),
        ("disk", "Disk, records only", "MB", |it| it.disk),
        ("ready", "Ready after a restart", "seconds", |it| it.ready),
        ("lookup", "Lookup of a job, median", "microseconds", |it| {
            it.lookup
        }),
        ("create", "Durable creation, median", "microseconds", |it| {
            it.create
        }),
    ];
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(PLOTS);
    for (file, title, up, figure) in plots {
        let line = |sweep: &Sweep| Series {
            name: sweep.name,
            points: sweep
                .points
                .iter()
                .map(|it| (it.size as f64, figure(it)))
                .collect(),
        };
        let mut series: Vec<Series> = sweeps.iter().map(line).collect();
        if file == "memory" {
            series.push(Series {
                name: "listening clients",
                points: listeners.clone(),
            });
        }
        let plot = Plot {
            title: title.into(),
            across: "how many",
            up,
            series,
        };
        plot.write(&directory.join(format!("{file}.svg")))?;
    }
    Ok(())
}
