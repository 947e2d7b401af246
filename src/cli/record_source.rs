//! Reads a point-in-time export of all records: from a stopped data directory, a running server or a database.

use super::operator::{Operator, read};
use super::operator_access::Access;
use super::output::note;
use crate::config::Config;
use crate::server::{engine, move_mark, store_lock};
use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tintype_api::Nodes;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError};
use tintype_storage::export::{Reader, Summary, write};
use tintype_storage::store::Store;
use tintype_storage::store::tables::IMAGES_FORGOTTEN;

pub struct Records {
    /// An unnamed file, positioned at its start.
    pub file: File,
    pub summary: Summary,
    /// The export contains everything that the server acknowledged before this time.
    pub taken_at: Timestamp,
    /// Images of jobs that ended before this time may have been deleted.
    pub images_kept_since: Timestamp,
    /// Whether a server ran, or may have run, during the export.
    pub running: bool,
    /// Where to read what has changed since the export. `None` if the caller has the engine, or asked a server itself.
    pub source: Option<Source>,
}

impl Records {
    /// Records the time of the stored backup in the database or the running server. A stopped data directory stays as it is.
    ///
    /// # Errors
    /// The database or the server is unreachable, or refuses.
    pub async fn record_backup(&self, config: &Config) -> anyhow::Result<()> {
        match &self.source {
            Some(Source::Server(operator)) => {
                operator.put(&format!("/backups/{}", self.taken_at)).await?;
                Ok(())
            }
            _ => Ok(engine::record_backup(config, self.taken_at).await?),
        }
    }
}

pub enum Source {
    /// A database, or a data directory on which no server runs. While the directory is open, no server can start.
    Store(OpenStore),
    Server(Operator),
}

impl Source {
    /// Was the image of a job deleted on demand? False if this cannot be read: then a missing image counts as lost.
    pub async fn is_image_deleted(&self, account: AccountId, job: JobId) -> bool {
        match self {
            Self::Store(store) => {
                let store = Store::new(Arc::clone(&store.0));
                store.is_image_deleted(account, job).await.unwrap_or(false)
            }
            Self::Server(operator) => show(operator, account, job).await["image_deleted"] == true,
        }
    }

    /// Was the content of a job erased? False if this cannot be read: then a missing text counts as lost.
    pub async fn is_erased(&self, account: AccountId, job: JobId) -> bool {
        match self {
            Self::Store(store) => {
                let found = Store::new(Arc::clone(&store.0)).job(account, job).await;
                found.is_ok_and(|it| it.is_none_or(|it| it.is_erased()))
            }
            // The prompt is `null` too if its object is lost.
            Self::Server(operator) => show(operator, account, job).await["erased"] == true,
        }
    }
}

/// The record of a job; `null` if it cannot be read.
async fn show(operator: &Operator, account: AccountId, job: JobId) -> Value {
    let path = format!("/jobs/{job}?account_id={account}");
    operator.get(&path).await.unwrap_or_default()
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
/// Spools the export to an unnamed file in `temp_dir`. A backup reports itself once it is stored: see [`Records::record_backup`].
///
/// # Errors
/// The records cannot be read, or `--server` names a server that does not run on them.
pub async fn from_data_dir(
    config: &Config,
    access: &Access,
    is_backup: bool,
    temp_dir: &Path,
    say: &dyn Fn(String),
) -> anyhow::Result<Records> {
    require_store(config)?;
    let data_dir = &config.storage.data_dir;
    // A server may use the database at the same time.
    let is_cluster = config.storage.url.is_some();
    ensure!(
        !(is_cluster && access.has_server()),
        "the records are in the database that url in [storage] names, and are read there, not from a server; omit --server"
    );
    match engine::open_engine_for_reading(config) {
        Ok(_) if access.has_server() => bail!(
            "--server is given, but no server runs on {}; omit it to read the records of this directory, or give the data directory of \
             that server with --data-dir",
            data_dir.display()
        ),
        Ok(engine) => {
            let store = OpenStore(engine);
            if let Some(text) = move_mark::find(config, &*store.0)? {
                note(&format!(
                    "warning: these records were {text}; this reads their state at that time"
                ));
            }
            let mut records = from_engine(&store.0, is_cluster, temp_dir, say)?;
            records.source = Some(Source::Store(store));
            Ok(records)
        }
        Err(EngineError::Locked(_)) => {
            let spool = Spool::new(temp_dir, say)?;
            say("requesting an export from the running server".into());
            let operator = access.operator()?;
            let records = async {
                require_holder(config, &operator).await?;
                request(&operator, !is_backup, spool).await
            };
            let records = records.await;
            let mut records = records.map_err(|error| name_exporter(error, data_dir))?;
            records.source = Some(Source::Server(operator));
            Ok(records)
        }
        Err(error) => Err(error.into()),
    }
}

/// Refuses a server that runs on another data directory. It may accept the same token.
async fn require_holder(config: &Config, operator: &Operator) -> anyhow::Result<()> {
    let holders = store_lock::holders(config);
    let Some(holder) = holders.first() else {
        return Ok(());
    };
    let nodes: Nodes = read(operator.get("/nodes?limit=100").await?)?;
    match nodes.data.iter().find(|it| it.answers) {
        Some(node) if !holders.contains(&node.pid) => bail!(
            "the server at {} is process {}, but process {holder} uses the directory",
            operator.base(),
            node.pid
        ),
        _ => Ok(()),
    }
}

/// Says what else the server could have done, unless it is not at fault.
fn name_exporter(error: anyhow::Error, data_dir: &Path) -> anyhow::Error {
    if error.is::<SpoolFault>() {
        return error;
    }
    error.context(format!(
        "{} is in use, and the server that runs on it did not export its records; give its URL with --server",
        data_dir.display()
    ))
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
    request(operator, true, Spool::new(temp_dir, say)?).await
}

/// If `is_recorded`, the server records the export as a backup.
async fn request(
    operator: &Operator,
    is_recorded: bool,
    mut spool: Spool<'_>,
) -> anyhow::Result<Records> {
    let taken_at = Timestamp::now();
    // The client describes an error of its callback as one of the connection.
    let mut fault = None;
    let add = |chunk: &[u8]| {
        spool
            .add(chunk)
            .or_else(|it| bail!(fault.insert(it).to_string()))
    };
    let path = format!("/export?recorded={is_recorded}");
    let streamed = operator.stream(&path, add).await;
    fault.map_or(Ok(()), Err)?;
    streamed?;
    spool.finish(taken_at, true)
}

/// The temporary file of an export cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the records to {}: {error}; free space there", .directory.display())]
struct SpoolFault {
    directory: PathBuf,
    error: io::Error,
}

struct Spool<'a> {
    file: File,
    directory: PathBuf,
    bytes: u64,
    say: &'a dyn Fn(String),
}

impl<'a> Spool<'a> {
    fn new(temp_dir: &Path, say: &'a dyn Fn(String)) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(temp_dir)
            .with_context(|| format!("cannot create a temporary file in {}", temp_dir.display()))?;
        Ok(Self {
            file,
            directory: temp_dir.to_owned(),
            bytes: 0,
            say,
        })
    }

    fn add(&mut self, block: &[u8]) -> Result<(), SpoolFault> {
        self.file.write_all(block).map_err(|error| SpoolFault {
            directory: self.directory.clone(),
            error,
        })?;
        self.bytes += block.len() as u64;
        (self.say)(format!("reading records: {} KiB", self.bytes >> 10));
        Ok(())
    }

    /// Checks that the export is complete.
    fn finish(mut self, taken_at: Timestamp, running: bool) -> anyhow::Result<Records> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut reader = Reader::new(BufReader::new(self.file.try_clone()?))?;
        let mut images_kept_since = Timestamp::EPOCH;
        while let Some(entry) = reader.read()? {
            if let Some(((), mark)) = IMAGES_FORGOTTEN.entry(&entry.key, &entry.value)? {
                images_kept_since = mark;
            }
        }
        let summary = reader.summary().context("the export is incomplete")?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(Records {
            file: self.file,
            summary,
            taken_at,
            images_kept_since,
            running,
            source: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::verify;
    use crate::config::{Secret, Sources};
    use anyhow::anyhow;
    use serde_json::json;
    use tintype_postgres::DatabaseUrl;
    use tintype_storage::engine::commit_and_wait;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use uuid::Uuid;

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
        let records = from_data_dir(&config, &access, true, directory.path(), &|_| {});
        let kept_since = records.await.unwrap().images_kept_since;
        assert_eq!(kept_since, recent);
        assert_eq!(verify::kept_since(&config, kept_since), recent);
    }

    #[actix_web::test]
    async fn no_server_starts_until_a_backup_has_read_the_objects_too() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::load(&Sources::default()).unwrap();
        config.storage.data_dir = directory.path().to_owned();
        engine::open_engine_exclusively(&config).unwrap().close();
        let access = Access::default();
        let records = from_data_dir(&config, &access, true, directory.path(), &|_| {});
        let records = records.await.unwrap();
        assert!(!records.running);
        let opened = engine::open_engine_exclusively(&config);
        assert!(matches!(opened, Err(EngineError::Locked(_))));
        drop(records);
        engine::open_engine_exclusively(&config).unwrap().close();
    }

    #[actix_web::test]
    async fn a_server_that_does_not_run_on_the_records_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::load(&Sources::default()).unwrap();
        config.storage.data_dir = directory.path().to_owned();
        let engine = engine::open_engine_exclusively(&config).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let access = Access::with_server(&url);
        let refusal = async |config: &Config| {
            let records = from_data_dir(config, &access, false, directory.path(), &|_| {});
            format!("{:#}", records.await.err().unwrap())
        };
        // The directory is locked, by this process.
        let own = std::process::id();
        for (pid, expected) in [(own + 1, "process"), (own, "500")] {
            let nodes = json!({"shared": false, "warnings": [], "data": [{
                "node_id": null, "answers": true, "state": "up", "version": "1", "host": "a", "pid": pid,
                "started_at": "t", "running": 0, "beat_age_ms": 0, "configuration": "",
            }]});
            let serve = async {
                answer(&listener, "200 OK", &nodes.to_string()).await;
                if pid == own {
                    answer(&listener, "500 Internal Server Error", "").await;
                }
            };
            let (refused, ()) = tokio::join!(refusal(&config), serve);
            assert!(refused.contains(expected), "{refused}");
            let other = format!("process {}, but process {own} uses the directory", own + 1);
            assert_eq!(refused.contains(&other), pid != own, "{refused}");
        }
        engine.close();
        drop(engine);
        let refused = refusal(&config).await;
        assert!(refused.contains("no server runs on"), "{refused}");
        config.storage.url = Some(DatabaseUrl::parse("postgres://127.0.0.1:1/x").unwrap());
        let refused = refusal(&config).await;
        assert!(refused.contains("omit --server"), "{refused}");
    }

    /// Accepts a connection and responds to its request. Returns the request.
    async fn answer(listener: &TcpListener, status: &str, body: &str) -> String {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 1024];
        let read = stream.read(&mut request).await.unwrap();
        let length = body.len();
        let head =
            format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    }

    #[tokio::test]
    async fn a_running_server_is_asked_whether_a_job_was_erased_or_its_image_deleted() {
        let (account, job) = (AccountId(Uuid::from_u128(1)), JobId(Uuid::from_u128(2)));
        for (body, is_deleted, is_erased) in [
            (r#"{"image_deleted":true,"prompt":"a fox"}"#, true, false),
            (
                r#"{"image_deleted":true,"prompt":null,"erased":true}"#,
                true,
                true,
            ),
            (
                r#"{"status":"failed","prompt":null,"erased":true}"#,
                false,
                true,
            ),
            // Its text is lost.
            (r#"{"status":"failed","prompt":null}"#, false, false),
            (r#"{"status":"done","prompt":null}"#, false, false),
            ("{}", false, false),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}", listener.local_addr().unwrap());
            let operator = Operator::new(&url, Secret::new("token"), "--token").unwrap();
            let source = Source::Server(operator);
            let serve = || answer(&listener, "200 OK", body);
            let (found, request) = tokio::join!(source.is_image_deleted(account, job), serve());
            assert_eq!(found, is_deleted);
            let path = format!("GET /admin/v1/jobs/{job}?account_id={account} ");
            assert!(request.starts_with(&path), "{request}");
            let (found, _) = tokio::join!(source.is_erased(account, job), serve());
            assert_eq!(found, is_erased, "{body}");
        }
    }

    #[test]
    fn a_full_disk_is_not_called_a_fault_of_the_server() {
        let data_dir = Path::new("data");
        let mut spool = Spool {
            file: File::options().write(true).open("/dev/full").unwrap(),
            directory: "/mnt/backups".into(),
            bytes: 0,
            say: &|_| {},
        };
        let full = spool.add(b"records").unwrap_err();
        let text = format!("{:#}", name_exporter(full.into(), data_dir));
        assert!(
            text.starts_with("cannot write the records to /mnt/backups: No space left"),
            "{text}"
        );
        let lost = format!("{:#}", name_exporter(anyhow!("no response"), data_dir));
        assert!(
            lost.contains("data is in use") && lost.contains("--server"),
            "{lost}"
        );
    }
}
