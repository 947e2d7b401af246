//! The engine of the records, a data directory's or a database: the one place that picks one.

use crate::backup;
use crate::config::Config;
use anyhow::ensure;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::fail_stop::FailStop;
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Direction, Engine, EngineError, KeyRange, commit_and_wait};
use tintype_storage::store::Mark;
use tintype_storage::store::tables::UNFINISHED;

/// Where sled's files lie below the data directory.
const STORE: &str = "store";

/// Where the engine's files lie.
pub fn store_dir(config: &Config) -> PathBuf {
    config.storage.data_dir.join(STORE)
}

/// Opens the engine of the records. `fail_stop` hears of its failure. `node` is this process among those that share a database.
pub fn open_engine(
    config: &Config,
    node: Option<NodeId>,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    refuse_incomplete(config, open(config, node, fail_stop, None)?)
}

/// Opens the engine of records that no service may use meanwhile. Fails at once when one does.
///
/// # Errors
/// It cannot be opened, or is in use.
pub fn open_engine_alone(
    config: &Config,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    let engine = open(config, None, fail_stop, Some(Duration::ZERO))?;
    refuse_incomplete(config, engine)
}

/// Opens the engine of a data directory to read it, or fails at once when another process has it. What is in a database can be
/// read while another process has it.
pub fn open_engine_at_once(
    config: &Config,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    match &config.storage.url {
        Some(url) => look_at_database(config, url),
        None => open(config, None, fail_stop, Some(Duration::ZERO)),
    }
}

/// Opens the engine of records that are to be filled in.
///
/// # Errors
/// The engine cannot be opened, or it holds records already.
pub fn open_unfinished_engine(
    config: &Config,
    fail_stop: FailStop,
) -> anyhow::Result<Arc<dyn Engine>> {
    let engine = open(config, None, fail_stop, None)?;
    let first = engine.scan(&KeyRange::prefix(b""), Direction::Rising, 1);
    ensure!(
        first.wait()?.is_empty(),
        "the database holds records already; name an empty one, or remove them with `DROP SCHEMA tintype CASCADE`"
    );
    Ok(engine)
}

/// From now on the records are not complete: no other process uses what a process that is cut off leaves of them.
///
/// # Errors
/// The engine fails.
pub fn begin_to_fill(engine: &dyn Engine) -> Result<(), EngineError> {
    commit_and_wait(engine, vec![UNFINISHED.put(&(), &Mark)])
}

/// All records are there: from now on a service may use them.
///
/// # Errors
/// The engine fails.
pub fn end_filling(engine: &dyn Engine) -> Result<(), EngineError> {
    commit_and_wait(engine, vec![UNFINISHED.delete(&())])
}

/// A part of the records would pass for a small service. A data directory has a file that says so.
fn refuse_incomplete(
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
            reason: "a move or an import into it was cut off; remove what it holds with `DROP SCHEMA tintype CASCADE`, and begin again"
                .into(),
        }),
    }
}

/// Opens an engine in a directory that is thrown away afterwards. Who uses it hears of its failures.
pub fn open_passing_engine(directory: &Path) -> Result<Arc<dyn Engine>, EngineError> {
    let options = SledOptions::new(Arc::new(|_: &EngineError| {}));
    Ok(Arc::new(SledEngine::open(directory, options)?))
}

fn refuse_unfinished(config: &Config) -> Result<(), EngineError> {
    let data_dir = &config.storage.data_dir;
    if !backup::unfinished(data_dir).exists() {
        return Ok(());
    }
    Err(EngineError::Directory {
        path: data_dir.clone(),
        reason: "a restore or an import into it was cut off; remove what is in it, and begin again"
            .into(),
    })
}

/// Opens a copy of the store of a data directory that no service runs on, or a database as it is at this moment, and changes nothing
/// in that.
pub fn look_at_engine(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    if let Some(url) = &config.storage.url {
        return look_at_database(config, url);
    }
    Ok(Arc::new(SledEngine::open_read_only(
        &store_dir(config),
        engine_options(config, FailStop::new()),
    )?))
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
    let mut options = engine_options(config, fail_stop);
    options.lock_timeout = lock_timeout.unwrap_or(options.lock_timeout);
    Ok(Arc::new(SledEngine::open(&store_dir(config), options)?))
}

fn engine_options(config: &Config, fail_stop: FailStop) -> SledOptions {
    let mut options = SledOptions::new(Arc::new(move |error: &EngineError| {
        fail_stop.trip(error.to_string())
    }));
    options.cache_bytes = config.storage.cache_bytes;
    options.commit_timeout = Duration::from_secs(config.storage.commit_timeout_seconds);
    options
}

fn look_at_database(config: &Config, url: &DatabaseUrl) -> Result<Arc<dyn Engine>, EngineError> {
    let options = database_options(config, url, FailStop::new());
    refuse_incomplete(config, Arc::new(PostgresEngine::open_read_only(options)?))
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
        outage: Duration::from_secs(config.storage.outage_seconds),
        on_failure: Arc::new(move |error: &EngineError| fail_stop.trip(error.to_string())),
    }
}

/// The statements that make the tables of a database.
pub fn database_schema() -> String {
    tintype_postgres::ddl()
}

/// Does the data directory hold records? A database says so itself when it is opened.
pub fn has_store(config: &Config) -> bool {
    config.storage.url.is_some() || store_dir(config).is_dir()
}
