//! A run: the ceiling beside every measurement, and the table of results.

use crate::client::{self, Caller, Latencies, Outcome, Same};
use crate::processor;
use crate::report::{Sample, Table};
use crate::server::ChildServer;
use crate::wire;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tempfile::TempDir;

/// Connections of a row unless it sets its own.
pub const CONNECTIONS: usize = 64;
/// The bare handler.
const CEILING: &str = "ceiling: bare actix-web, same JSON";

#[derive(Clone, Copy)]
pub struct Pace {
    /// Measured time per row, after the warm-up.
    pub time: Duration,
    /// How often all rows are measured.
    pub rounds: usize,
}

/// The state that rows are measured with.
pub struct Bench {
    pace: Pace,
    ceiling: ChildServer,
    /// The latest rate of the bare handler.
    newest: f64,
    pub table: Table,
    /// Data directories of the servers, deleted only after the last measurement: ext4 without a journal inspects each inode
    /// that was freed in the last minutes before it reuses it, which costs an image up to a millisecond.
    directories: Vec<TempDir>,
}

impl Bench {
    /// Starts the ceiling.
    pub fn begin(pace: Pace) -> anyhow::Result<Self> {
        let mut bench = Self {
            pace,
            ceiling: ChildServer::ceiling()?,
            newest: 0.0,
            table: Table::default(),
            directories: Vec::new(),
        };
        // Only to warm it up.
        bench.measure_ceiling()?;
        Ok(bench)
    }

    pub fn time(&self) -> Duration {
        self.pace.time
    }

    /// Creates a data directory that stays until the end of the run.
    pub fn directory(&mut self) -> anyhow::Result<PathBuf> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().to_owned();
        self.directories.push(directory);
        Ok(path)
    }

    pub fn begin_round(&mut self) -> anyhow::Result<()> {
        let sample = self.measure_ceiling()?;
        self.table.add(CEILING, sample);
        Ok(())
    }

    /// Adds a row and compares its rate with that of the bare handler. The speed of the machine varies, so the bare handler is
    /// measured after each row, and the mean of before and after counts.
    pub fn add(&mut self, name: &'static str, mut sample: Sample) -> anyhow::Result<()> {
        let before = self.newest;
        self.measure_ceiling()?;
        sample.of_ceiling = Some(sample.rate / ((before + self.newest) / 2.0));
        self.table.add(name, sample);
        Ok(())
    }

    fn measure_ceiling(&mut self) -> anyhow::Result<Sample> {
        let request: Rc<[u8]> = wire::post("none", None).into();
        let caller = |_| Same {
            expected: "202",
            request: {
                let request = Rc::clone(&request);
                move |_| Rc::clone(&request)
            },
        };
        let used = processor::time_of(self.ceiling.id())?;
        let time = self.pace.time / 3;
        let mut outcome: Outcome<1> = client::run(self.ceiling.address, CONNECTIONS, time, caller)?;
        let used = processor::time_of(self.ceiling.id())? - used;
        self.newest = outcome.rate(0);
        let mut sample = Sample::new(self.newest, &mut outcome.kinds[0]);
        sample.processor = Some(used.div_f64(outcome.calls() as f64));
        Ok(sample)
    }

    /// Stops the ceiling and prints the table.
    pub fn finish(self) -> anyhow::Result<()> {
        self.ceiling.end()?;
        self.table.print();
        Ok(())
    }
}

/// The observations of a server's callers.
pub struct Measurement<const KINDS: usize> {
    /// After the warm-up.
    pub outcome: Outcome<KINDS>,
    /// Calls of each kind, including the warm-up.
    pub calls: [usize; KINDS],
    /// The server's processor time per call.
    pub processor: Duration,
}

impl<const KINDS: usize> Measurement<KINDS> {
    /// The row of all calls together.
    pub fn sample(&mut self) -> Sample {
        let mut all = Latencies::default();
        self.outcome.kinds.iter().for_each(|it| all.extend(it));
        let rate = all.count() as f64 / self.outcome.took.as_secs_f64();
        Sample {
            processor: Some(self.processor),
            ..Sample::new(rate, &mut all)
        }
    }
}

/// Warms a server up, then measures its callers. `caller(is_warm, connection)` creates the caller of a connection.
pub fn measure<const KINDS: usize, C: Caller<KINDS>>(
    server: &ChildServer,
    connections: usize,
    time: Duration,
    caller: impl Fn(bool, usize) -> C,
) -> anyhow::Result<Measurement<KINDS>> {
    let warm = client::run(server.address, connections, time / 3, |at| caller(true, at))?;
    let before = processor::time_of(server.id())?;
    let outcome = client::run(server.address, connections, time, |at| caller(false, at))?;
    let used = processor::time_of(server.id())? - before;
    let count = |kind: usize| warm.kinds[kind].count() + outcome.kinds[kind].count();
    Ok(Measurement {
        calls: std::array::from_fn(count),
        processor: used.div_f64((outcome.calls() as f64).max(1.0)),
        outcome,
    })
}
