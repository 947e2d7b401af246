//! Reads all records as of one moment: from a stopped data directory, or from the service that runs on it.

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

/// A complete export.
pub struct Records {
    /// An unnamed file, positioned at its start.
    pub file: File,
    /// Counts of the export.
    pub summary: Summary,
    /// The records include everything that was answered before this moment.
    pub taken_at: Timestamp,
    /// Whether a service ran, or may have run, meanwhile.
    pub running: bool,
}

/// Reads the records of a data directory, from the service that runs on it if there is one, or of the configured database. The export is spooled to an unnamed
/// file in `temp_dir`.
///
/// # Errors
/// The records cannot be read.
pub async fn from_data_dir(
    config: &Config,
    access: &Access,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let data_dir = &config.storage.data_dir;
    if !engine::has_store(config) {
        bail!(
            "{} is no data directory of Tintype; name one with --data-dir",
            data_dir.display()
        );
    }
    match engine::open_engine_for_reading(config, FailStop::new()) {
        Ok(engine) => {
            // A database may have a service on it.
            let is_shared = config.storage.url.is_some();
            let records = of_engine(&engine, is_shared, temp_dir, say);
            engine.close();
            records
        }
        Err(EngineError::Locked(_)) => {
            say("asking the running service".into());
            from_service(&access.operator()?, temp_dir, say)
                .await
                .with_context(|| {
                    format!(
                        "{} is in use, and the service that runs on it could not be asked; name it with --server",
                        data_dir.display()
                    )
                })
        }
        Err(error) => Err(error.into()),
    }
}

/// Reads the records of an open engine.
///
/// # Errors
/// They cannot be read, or there is no room for them in `temp_dir`.
pub fn of_engine(
    engine: &Arc<dyn Engine>,
    may_run: bool,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let mut spool = Spool::new(temp_dir, say)?;
    let taken_at = Timestamp::now();
    write(Arc::clone(engine).snapshot()?, |block| spool.add(&block))?;
    spool.whole(taken_at, may_run)
}

/// Reads the records of a running service.
///
/// # Errors
/// The service does not answer, or its answer ends early.
pub async fn from_service(
    operator: &Operator,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let mut spool = Spool::new(temp_dir, say)?;
    let taken_at = Timestamp::now();
    operator
        .stream("/export", |chunk| Ok(spool.add(chunk)?))
        .await?;
    spool.whole(taken_at, true)
}

/// Collects the export in a file.
struct Spool<'a> {
    file: File,
    bytes: u64,
    say: &'a dyn Fn(String),
}

impl<'a> Spool<'a> {
    fn new(temp_dir: &Path, say: &'a dyn Fn(String)) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(temp_dir)
            .with_context(|| format!("cannot create a temporary file in {}", temp_dir.display()))?;
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

    /// Checks the file from its first line to its last.
    fn whole(mut self, taken_at: Timestamp, running: bool) -> anyhow::Result<Records> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut reader = Reader::new(BufReader::new(self.file.try_clone()?))?;
        while reader.read()?.is_some() {}
        let summary = reader.summary().context("the export is incomplete")?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(Records {
            file: self.file,
            summary,
            taken_at,
            running,
        })
    }
}
