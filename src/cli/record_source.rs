//! Reads a point-in-time export of all records: from a stopped data directory, a running server or a database.

use super::operator::Operator;
use super::operator_access::Access;
use crate::config::Config;
use crate::server::engine;
use anyhow::{Context as _, bail};
use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError};
use tintype_storage::export::{Reader, Summary, write};
use tintype_storage::store::tables::IMAGES_FORGOTTEN;

pub struct Records {
    /// An unnamed file, positioned at its start.
    pub file: File,
    pub summary: Summary,
    /// The export contains everything that the server acknowledged before this time.
    pub taken_at: Timestamp,
    /// Images of jobs that ended before this time may have been deleted.
    pub images_forgotten: Timestamp,
    /// Whether a server ran, or may have run, during the export.
    pub running: bool,
    /// The data directory, if no server runs on it. While it is open, no server can start.
    pub store: Option<OpenStore>,
}

/// An engine that is closed when this is dropped.
pub struct OpenStore(Arc<dyn Engine>);

impl Drop for OpenStore {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// # Errors
/// The data directory contains no store, or belongs to another user.
pub fn require_store(config: &Config) -> anyhow::Result<()> {
    let data_dir = config.storage.data_dir.display();
    match engine::has_store(config) {
        Ok(true) => Ok(()),
        Ok(false) => bail!(
            "{data_dir} is not a Tintype data directory; give one with --data-dir, or a configuration with --config"
        ),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => bail!(
            "cannot read the data directory {data_dir}: permission denied; run the command as the owner of the directory"
        ),
        Err(error) => bail!("cannot read the data directory {data_dir}: {error}"),
    }
}

/// Reads the records of the configured data directory or database. A server that runs on the data directory exports them itself.
/// Spools the export to an unnamed file in `temp_dir`.
///
/// # Errors
/// The records cannot be read.
pub async fn from_data_dir(
    config: &Config,
    access: &Access,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    require_store(config)?;
    let data_dir = &config.storage.data_dir;
    match engine::open_engine_for_reading(config) {
        Ok(engine) => {
            // A server may use the database at the same time.
            let is_shared = config.storage.url.is_some();
            let store = OpenStore(engine);
            let mut records = from_engine(&store.0, is_shared, temp_dir, say)?;
            records.store = (!is_shared).then_some(store);
            Ok(records)
        }
        Err(EngineError::Locked(_)) => {
            let spool = Spool::new(temp_dir, say)?;
            say("requesting an export from the running server".into());
            request(&access.operator()?, spool)
                .await
                .with_context(|| {
                    format!(
                        "{} is in use, and the server that runs on it did not export its records; give its URL with --server",
                        data_dir.display()
                    )
                })
        }
        Err(error) => Err(error.into()),
    }
}

/// # Errors
/// The records cannot be read, or `temp_dir` has no space for them.
pub fn from_engine(
    engine: &Arc<dyn Engine>,
    may_run: bool,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    let mut spool = Spool::new(temp_dir, say)?;
    let taken_at = Timestamp::now();
    write(Arc::clone(engine).snapshot()?, |block| spool.add(&block))?;
    spool.finish(taken_at, may_run)
}

/// # Errors
/// The server does not respond, or the response is incomplete.
pub async fn from_service(
    operator: &Operator,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    request(operator, Spool::new(temp_dir, say)?).await
}

async fn request(operator: &Operator, mut spool: Spool<'_>) -> anyhow::Result<Records> {
    let taken_at = Timestamp::now();
    operator
        .stream("/export", |chunk| Ok(spool.add(chunk)?))
        .await?;
    spool.finish(taken_at, true)
}

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
        (self.say)(format!("reading records: {} KiB", self.bytes >> 10));
        Ok(())
    }

    /// Checks that the export is complete.
    fn finish(mut self, taken_at: Timestamp, running: bool) -> anyhow::Result<Records> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut reader = Reader::new(BufReader::new(self.file.try_clone()?))?;
        let mut images_forgotten = Timestamp::EPOCH;
        while let Some(entry) = reader.read()? {
            if let Some(((), mark)) = IMAGES_FORGOTTEN.entry(&entry.key, &entry.value)? {
                images_forgotten = mark;
            }
        }
        let summary = reader.summary().context("the export is incomplete")?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(Records {
            file: self.file,
            summary,
            taken_at,
            images_forgotten,
            running,
            store: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::verify;
    use crate::config::Sources;
    use tintype_storage::engine::commit_and_wait;
    use tintype_storage::store::Store;

    #[actix_web::test]
    async fn images_that_were_deleted_under_a_shorter_retention_are_not_required() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::load(&Sources::default()).unwrap();
        config.storage.data_dir = directory.path().to_owned();
        let engine = engine::open_engine_exclusively(&config).unwrap();
        let store = Store::new(Arc::clone(&engine));
        let recent = Timestamp::now();
        for (mark, is_new) in [(recent, true), (Timestamp::EPOCH, false)] {
            let mark = IMAGES_FORGOTTEN.raise(&store, mark).await.unwrap();
            assert_eq!(mark.is_empty(), !is_new);
            commit_and_wait(&*engine, mark).unwrap();
        }
        engine.close();
        drop((store, engine));
        let access = Access::default();
        let records = from_data_dir(&config, &access, directory.path(), &|_| {});
        let forgotten = records.await.unwrap().images_forgotten;
        assert_eq!(forgotten, recent);
        assert_eq!(verify::kept_since(&config, forgotten), recent);
    }

    #[actix_web::test]
    async fn no_server_starts_until_a_backup_has_read_the_objects_too() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::load(&Sources::default()).unwrap();
        config.storage.data_dir = directory.path().to_owned();
        engine::open_engine_exclusively(&config).unwrap().close();
        let access = Access::default();
        let records = from_data_dir(&config, &access, directory.path(), &|_| {});
        let records = records.await.unwrap();
        assert!(!records.running);
        let opened = engine::open_engine_exclusively(&config);
        assert!(matches!(opened, Err(EngineError::Locked(_))));
        drop(records);
        engine::open_engine_exclusively(&config).unwrap().close();
    }
}
