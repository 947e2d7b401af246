//! The engine of a data directory: the one place that picks one.

use crate::backup;
use crate::config::Config;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::fail_stop::FailStop;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine, EngineError};

/// Where sled's files lie below the data directory.
const STORE: &str = "store";

/// Where the engine's files lie.
pub fn store_dir(config: &Config) -> PathBuf {
    config.storage.data_dir.join(STORE)
}

/// Opens the engine of a data directory. `fail_stop` hears of its failure.
pub fn open_engine(config: &Config, fail_stop: FailStop) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    open(config, fail_stop, None)
}

/// Opens the engine of a data directory, or fails at once when another process has it.
pub fn open_engine_at_once(
    config: &Config,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    open(config, fail_stop, Some(Duration::ZERO))
}

/// Opens the engine of a data directory that is being filled.
pub fn open_unfinished_engine(
    config: &Config,
    fail_stop: FailStop,
) -> Result<Arc<dyn Engine>, EngineError> {
    open(config, fail_stop, None)
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

/// Opens a copy of the store of a data directory that no service runs on, and changes nothing in that.
pub fn look_at_engine(config: &Config) -> Result<Arc<dyn Engine>, EngineError> {
    refuse_unfinished(config)?;
    Ok(Arc::new(SledEngine::look(
        &store_dir(config),
        engine_options(config, FailStop::new()),
    )?))
}

fn open(
    config: &Config,
    fail_stop: FailStop,
    lock_timeout: Option<Duration>,
) -> Result<Arc<dyn Engine>, EngineError> {
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

/// Does the data directory hold records?
pub fn has_store(config: &Config) -> bool {
    store_dir(config).is_dir()
}
