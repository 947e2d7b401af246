//! Opens the storage engine: sled in the data directory, or PostgreSQL. This is the one place that picks one.

use super::{data_dir_lock, move_mark, node_process, records_owner};
use crate::backup;
use crate::config::Config;
use crate::data_dir::{self, LOST_AND_FOUND};
use crate::objects::ObjectStorage;
use anyhow::ensure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};
use tintype_actors::fail_stop::FailStop;
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::sled::{LOCK_FILE, SledEngine, SledOptions};
use tintype_storage::engine::{Direction, Engine, EngineError, KeyRange, commit_and_wait};
use tintype_storage::store::tables::{ACCOUNTS, LAST_BACKUP_OR_EXPORT, UNFINISHED};
use tintype_storage::store::{All, Mark};

/// The directory of sled's files, below the data directory.
const STORE: &str = "store";

pub fn store_dir(config: &Config) -> PathBuf {
    config.storage.data_dir.join(STORE)
}

/// The file that a process which uses the store of the data directory has locked.
pub fn lock_file(config: &Config) -> PathBuf {
    store_dir(config).join(LOCK_FILE)
}

/// Opens the engine for the service. An engine failure trips `fail_stop`. `node` is the id of this process if nodes share a database.
/// `waits`: whether to wait some seconds for the process that has the data directory open.
pub fn open_engine(
    config: &Config,
    node: Option<NodeId>,
    fail_stop: FailStop,
    waits: bool,
) -> Result<Arc<dyn Engine>, EngineError> {
    move_mark::refuse_data_dir(config)?;
    refuse_unfinished_data_dir(config)?;
    refuse_lost_store(config)?;
    warn_of_unset_url(config);
    let first = open(config, node, fail_stop.clone(), Some(Duration::ZERO));
    let engine = match first {
        Err(EngineError::Locked(_)) if waits => {
            data_dir_lock::warn_of_wait(&config.storage.data_dir);
            open(config, node, fail_stop, None)?
        }
        outcome => outcome?,
    };
    let engine = refuse_incomplete_database(config, engine)?;
    move_mark::refuse(config, &*engine)?;
    refuse_unmoved_records(config, engine)
}

/// Waits until the database accepts connections, if the records are in a database. Dropping the future ends the wait.
///
/// # Errors
/// The database refuses for a reason that does not pass, or is unreachable for longer than `[storage] outage_seconds`.
pub async fn wait_for_database(config: &Config) -> Result<(), EngineError> {
    match &config.storage.url {
        Some(url) => {
            let options = database_options(config, url, FailStop::new());
            tintype_postgres::wait_until_reachable(&options).await
        }
        None => Ok(()),
    }
}

/// Opens the engine exclusively, without waiting.
///
/// # Errors
/// The engine cannot be opened, a service uses it, or its records were moved elsewhere.
pub fn open_engine_exclusively(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    move_mark::refuse_data_dir(config)?;
    let engine = open_even_if_moved(config)?;
    move_mark::refuse(config, &*engine)?;
    Ok(engine)
}

/// As [`open_engine_exclusively`], also for records that were moved elsewhere.
pub fn open_even_if_moved(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished_data_dir(config)?;
    let engine = open(config, None, FailStop::new(), Some(Duration::ZERO))?;
    refuse_incomplete_database(config, engine)
}

/// Opens the engine for reading, without waiting. Fails if another process has the data directory open. A database can be read
/// while services use it. A data directory that this process must not or cannot write to is copied, which needs space for the copy.
pub fn open_engine_for_reading(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    let directory = store_dir(config);
    let opens = config.storage.url.is_none()
        && records_owner::fault(&directory).is_none()
        && !data_dir::is_read_only(&directory);
    match opens {
        true => open_even_if_moved(config),
        false => inspect_engine(config),
    }
}

/// Opens an empty engine that an import, a restore or a move is to fill.
///
/// # Errors
/// The engine cannot be opened, or it already holds records.
pub fn open_engine_to_fill(config: &Config) -> anyhow::Result<Arc<dyn Engine>> {
    let engine = open(config, None, FailStop::new(), None)?;
    let first = engine.scan(&KeyRange::prefix(b""), Direction::Rising, 1);
    ensure!(
        first.wait()?.is_empty(),
        "the database holds records already; name an empty one, or remove them with `DROP SCHEMA tintype CASCADE`"
    );
    Ok(engine)
}

/// Marks the records as incomplete. If this process dies before [`mark_complete`], other processes refuse to use them.
pub fn mark_incomplete(engine: &dyn Engine) -> Result<(), EngineError> {
    commit_and_wait(engine, vec![UNFINISHED.put(&(), &Mark)])
}

/// Marks the records as complete, so that a service may use them.
pub fn mark_complete(engine: &dyn Engine) -> Result<(), EngineError> {
    commit_and_wait(engine, vec![UNFINISHED.delete(&())])
}

/// Refuses a database with only a part of its records, which would look like a small service. For a data directory
/// [`refuse_unfinished_data_dir`] does this.
fn refuse_incomplete_database(
    config: &Config,
    engine: Arc<dyn Engine>,
) -> Result<Arc<dyn Engine>, EngineError> {
    let Some(url) = &config.storage.url else {
        return Ok(engine);
    };
    match engine.get(&UNFINISHED.key(&())).wait()? {
        None => Ok(engine),
        Some(_) => Err(EngineError::Database {
            url: url.to_string(),
            reason: "a move or an import into it was interrupted; remove its records with `DROP SCHEMA tintype CASCADE` and start again"
                .into(),
        }),
    }
}

/// Opens an engine in a temporary directory. Failures reach the caller through the results of its calls.
pub fn open_temporary_engine(directory: &Path) -> Result<Arc<dyn Engine>, EngineError> {
    let options = SledOptions::new(Arc::new(|_: &EngineError| {}));
    Ok(Arc::new(SledEngine::open(directory, options)?))
}

fn refuse_unfinished_data_dir(config: &Config) -> Result<(), EngineError> {
    let data_dir = &config.storage.data_dir;
    if !backup::unfinished_marker(data_dir).exists() {
        return Ok(());
    }
    Err(EngineError::Directory {
        path: data_dir.clone(),
        reason: "a restore or an import into it was interrupted; empty it and start again".into(),
    })
}

/// Refuses a data directory that has lost its records, such as one whose volume is not mounted. Otherwise the service would start as a
/// new one. A first start creates the store first, so it can be repeated after a crash.
fn refuse_lost_store(config: &Config) -> Result<(), EngineError> {
    let path = &config.storage.data_dir;
    if config.storage.url.is_some() || !is_empty(&store_dir(config)) {
        return Ok(());
    }
    let left = match (
        path.join(backup::SECRETS_KEY),
        ObjectStorage::local_directory(path),
    ) {
        (key, _) if key.exists() => backup::SECRETS_KEY,
        (_, objects) if !is_empty(&objects) => "images in objects",
        _ => return Ok(()),
    };
    Err(EngineError::Directory {
        path: path.clone(),
        reason: format!(
            "it contains {left}, but no records in {STORE}, so these are lost or not mounted; mount or copy {STORE} back, or restore a \
             backup into an empty directory; to begin anew, move the content of the directory away"
        ),
    })
}

/// Refuses a database without records if the data directory has some, because the service would start as a new one.
fn refuse_unmoved_records(
    config: &Config,
    engine: Arc<dyn Engine>,
) -> Result<Arc<dyn Engine>, EngineError> {
    let store = store_dir(config);
    let Some(url) = config.storage.url.as_ref().filter(|_| !is_empty(&store)) else {
        return Ok(engine);
    };
    let accounts = engine.scan(&ACCOUNTS.range(&All), Direction::Rising, 1);
    if !accounts.wait()?.is_empty() {
        return Ok(engine);
    }
    Err(EngineError::Database {
        url: url.to_string(),
        reason: format!(
            "it holds no records, but {} does; unset `url` and move them with `tintype move --to`, or to begin anew, move that directory \
             away or give another --data-dir",
            store.display()
        ),
    })
}

/// Warns if a node's data directory is used without its database.
fn warn_of_unset_url(config: &Config) {
    let data_dir = &config.storage.data_dir;
    if config.storage.url.is_none()
        && is_empty(&store_dir(config))
        && data_dir.join(data_dir_lock::FILE_NAME).exists()
    {
        tracing::warn!(
            data_dir = %data_dir.display(),
            "this data directory belongs to a node with its records in a database; the service starts as a new one, because `[storage] url` \
             is not set"
        );
    }
}

/// Is the directory missing or empty? A new volume has a directory lost+found.
fn is_empty(directory: &Path) -> bool {
    let is_content =
        |it: io::Result<fs::DirEntry>| it.is_ok_and(|it| it.file_name() != LOST_AND_FOUND);
    match fs::read_dir(directory) {
        Ok(mut entries) => !entries.any(is_content),
        Err(error) => is_absent(&error),
    }
}

/// Opens the records for inspection, without waiting, and changes nothing: a scratch copy of a data directory that no service uses, or
/// a snapshot of a database.
pub fn inspect_engine(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished_data_dir(config)?;
    if let Some(url) = &config.storage.url {
        return inspect_database(config, url);
    }
    let mut options = engine_options(config, FailStop::new());
    options.lock_timeout = Duration::ZERO;
    let opened = SledEngine::open_read_only(&store_dir(config), options);
    Ok(Arc::new(opened.map_err(|it| in_data_dir(it, config))?))
}

/// Names the data directory, which the operator knows, instead of the store in it.
fn in_data_dir(error: EngineError, config: &Config) -> EngineError {
    match error {
        EngineError::Locked(_) => EngineError::Locked(config.storage.data_dir.clone()),
        other => other,
    }
}

fn open(
    config: &Config,
    node: Option<NodeId>,
    fail_stop: FailStop,
    lock_timeout: Option<Duration>,
) -> Result<Arc<dyn Engine>, EngineError> {
    if let Some(url) = &config.storage.url {
        let options = PostgresOptions {
            node,
            ..database_options(config, url, fail_stop)
        };
        return Ok(Arc::new(PostgresEngine::open(options)?));
    }
    if let Some(reason) = records_owner::fault(&store_dir(config)) {
        let path = config.storage.data_dir.clone();
        return Err(EngineError::Directory { path, reason });
    }
    let mut options = engine_options(config, fail_stop);
    options.lock_timeout = lock_timeout.unwrap_or(options.lock_timeout);
    let opened = SledEngine::open(&store_dir(config), options);
    Ok(Arc::new(opened.map_err(|it| in_data_dir(it, config))?))
}

fn engine_options(config: &Config, fail_stop: FailStop) -> SledOptions {
    let mut options = SledOptions::new(Arc::new(move |error: &EngineError| {
        fail_stop.trip(error.to_string())
    }));
    options.cache_bytes = config.storage.cache_bytes;
    options.commit_timeout = config.storage.commit_timeout();
    options
}

fn inspect_database(config: &Config, url: &DatabaseUrl) -> Result<Arc<dyn Engine>, EngineError> {
    let options = database_options(config, url, FailStop::new());
    refuse_incomplete_database(config, Arc::new(PostgresEngine::open_read_only(options)?))
}

fn database_options(config: &Config, url: &DatabaseUrl, fail_stop: FailStop) -> PostgresOptions {
    let url = match std::env::var("PGPASSWORD") {
        Ok(password) => url.clone().with_default_password(&password),
        Err(_) => url.clone(),
    };
    PostgresOptions {
        url,
        connections: config.storage.connections,
        node: None,
        host: node_process::host(),
        outage: Duration::from_secs(config.storage.outage_seconds),
        on_failure: Arc::new(move |error: &EngineError| fail_stop.trip(error.to_string())),
    }
}

/// Records the time of a backup of a database, as a service does when a backup is reported. Nodes may use the database meanwhile.
///
/// # Errors
/// The database is unreachable, or its role may not write.
pub async fn record_backup(config: &Config, at: Timestamp) -> Result<(), EngineError> {
    let Some(url) = &config.storage.url else {
        return Ok(());
    };
    let options = database_options(config, url, FailStop::new());
    let (key, value) = LAST_BACKUP_OR_EXPORT.put(&(), &at);
    tintype_postgres::write_record(&options, &key, &value.unwrap_or_default()).await
}

/// The SQL that creates the tables of a database.
pub fn database_schema() -> String {
    tintype_postgres::ddl()
}

/// Does the data directory hold a store? A database reports missing records when it is opened.
pub fn has_store(config: &Config) -> io::Result<bool> {
    if config.storage.url.is_some() {
        return Ok(true);
    }
    match fs::metadata(store_dir(config)) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
