//! All records as of one moment: from a stopped data directory, or from the running service that has it.

use super::operator::Operator;
use super::operator_access::Access;
use crate::config::Config;
use crate::server::engine;
use anyhow::{Context as _, bail};
use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use tintype_actors::fail_stop::FailStop;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError};
use tintype_storage::export::{Reader, Summary, write};

/// An export that was read and found whole.
pub struct Records {
    /// A file without a name, at its beginning.
    pub file: File,
    /// What it holds.
    pub summary: Summary,
    /// No earlier than this, and after everything that had been answered by then.
    pub taken_at: Timestamp,
    /// Is there a service running?
    pub running: bool,
}

/// Reads the records of a data directory, whoever has it. `passing` is a directory for a file without a name.
///
/// # Errors
/// They cannot be read as of one moment.
pub async fn of_data_dir(
    config: &Config,
    access: &Access,
    passing: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let data_dir = &config.storage.data_dir;
    if !engine::has_store(config) {
        bail!("{} is no data directory of Tintype", data_dir.display());
    }
    match engine::open_engine_at_once(config, FailStop::new()) {
        Ok(engine) => {
            let records = of_engine(&engine, passing, say);
            engine.close();
            records
        }
        Err(EngineError::Locked(_)) => {
            say("asking the running service".into());
            of_service(&access.operator()?, passing, say)
                .await
                .with_context(|| {
                    format!(
                        "{} is in use, so the service that runs on it was asked",
                        data_dir.display()
                    )
                })
        }
        Err(error) => Err(error.into()),
    }
}

fn of_engine(
    engine: &Arc<dyn Engine>,
    passing: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let mut spool = Spool::new(passing, say)?;
    let taken_at = Timestamp::now();
    write(Arc::clone(engine).cut()?, |block| spool.add(&block))?;
    spool.whole(taken_at, false)
}

/// Reads the records of a running service.
///
/// # Errors
/// It does not answer, or not to the end.
pub async fn of_service(
    operator: &Operator,
    passing: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let mut spool = Spool::new(passing, say)?;
    let taken_at = Timestamp::now();
    operator
        .stream("/export", |chunk| Ok(spool.add(chunk)?))
        .await?;
    spool.whole(taken_at, true)
}

/// A file that fills.
struct Spool<'a> {
    file: File,
    bytes: u64,
    say: &'a dyn Fn(String),
}

impl<'a> Spool<'a> {
    fn new(passing: &Path, say: &'a dyn Fn(String)) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(passing)
            .with_context(|| format!("a passing file in {}", passing.display()))?;
        Ok(Self {
            file,
            bytes: 0,
            say,
        })
    }

    fn add(&mut self, block: &[u8]) -> io::Result<()> {
        self.file.write_all(block)?;
        self.bytes += block.len() as u64;
        (self.say)(format!("reading the records, {} KiB", self.bytes >> 10));
        Ok(())
    }

    /// Reads what was written from its beginning, to its last line.
    fn whole(mut self, taken_at: Timestamp, running: bool) -> anyhow::Result<Records> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut reader = Reader::new(BufReader::new(self.file.try_clone()?))?;
        while reader.read()?.is_some() {}
        let summary = reader.summary().context("the records have no end")?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(Records {
            file: self.file,
            summary,
            taken_at,
            running,
        })
    }
}
