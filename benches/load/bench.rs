//! A run: the ceiling beside everything that is measured, and the table that it all goes into.

use crate::client::{self, Caller, Latencies, Outcome, Same};
use crate::processor;
use crate::report::{Sample, Table};
use crate::server::ChildServer;
use crate::wire;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;
use tempfile::TempDir;

/// Connections of a row that does not ask for more.
pub const CONNECTIONS: usize = 64;
/// The bare handler.
const CEILING: &str = "ceiling: bare actix-web, same JSON";

/// How long and how often is measured.
#[derive(Clone, Copy)]
pub struct Pace {
    /// For one row, once it is warm.
    pub time: Duration,
    /// Times that all rows are measured.
    pub rounds: usize,
}

/// What rows are measured with.
pub struct Bench {
    pace: Pace,
    ceiling: ChildServer,
    /// What the bare handler has just done a second.
    newest: f64,
    /// What has been found.
    pub table: Table,
    /// What the servers have left. It goes when everything has been measured: ext4 without a journal looks at each inode that
    /// was freed in the last minutes before it gives one to a new file, which costs a picture up to a millisecond.
    left: Vec<TempDir>,
}

impl Bench {
    /// Starts the ceiling.
    pub fn begin(pace: Pace) -> anyhow::Result<Self> {
        let mut bench = Self {
            pace,
            ceiling: ChildServer::ceiling()?,
            newest: 0.0,
            table: Table::default(),
            left: Vec::new(),
        };
        // Only to warm it up.
        bench.measure_ceiling()?;
        Ok(bench)
    }

    /// How long a row is measured.
    pub fn time(&self) -> Duration {
        self.pace.time
    }

    /// A directory for a server, which stays until the end of the run.
    pub fn directory(&mut self) -> anyhow::Result<PathBuf> {
        let directory = tempfile::tempdir()?;
        let path = directory.path().to_owned();
        self.left.push(directory);
        Ok(path)
    }

    /// A round begins.
    pub fn begin_round(&mut self) -> anyhow::Result<()> {
        let sample = self.measure_ceiling()?;
        self.table.add(CEILING, sample);
        Ok(())
    }

    /// Adds a row whose rate is compared with that of the bare handler. The machine may be faster at one moment than at
    /// another, so that is measured after each row, and the mean of before and after counts.
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

    /// Ends the ceiling and prints the table.
    pub fn finish(self) -> anyhow::Result<()> {
        self.ceiling.end()?;
        self.table.print();
        Ok(())
    }
}

/// What callers of a server have seen.
pub struct Measured<const KINDS: usize> {
    /// Once it was warm.
    pub outcome: Outcome<KINDS>,
    /// Calls of each kind, those while it grew warm included.
    pub calls: [usize; KINDS],
    /// Processor time of the server for one call.
    pub processor: Duration,
}

impl<const KINDS: usize> Measured<KINDS> {
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

/// Warms a server up, and then measures what its callers see. `caller` makes the one of a connection, for the warm-up or after
/// it.
pub fn measure<const KINDS: usize, C: Caller<KINDS>>(
    server: &ChildServer,
    connections: usize,
    time: Duration,
    caller: impl Fn(bool, usize) -> C,
) -> anyhow::Result<Measured<KINDS>> {
    let warm = client::run(server.address, connections, time / 3, |at| caller(true, at))?;
    let before = processor::time_of(server.id())?;
    let outcome = client::run(server.address, connections, time, |at| caller(false, at))?;
    let used = processor::time_of(server.id())? - before;
    let count = |kind: usize| warm.kinds[kind].count() + outcome.kinds[kind].count();
    Ok(Measured {
        calls: std::array::from_fn(count),
        processor: used.div_f64((outcome.calls() as f64).max(1.0)),
        outcome,
    })
}
