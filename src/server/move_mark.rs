//! The mark of records that `tintype move` has moved elsewhere, so that no service uses both copies by accident: it would run the queued
//! jobs, charge them and send the pending webhooks a second time. In a data directory the mark is a file, in a database a record.
//!
//! The move writes the mark once the destination is complete. After a crash before that, the source can still be used.

use crate::config::Config;
use crate::private_file;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError, commit_and_wait};
use tintype_storage::store::tables::MOVED;

/// In the data directory.
const FILE: &str = "moved";

/// Marks the records of this configuration, which `engine` has locked.
///
/// # Errors
/// The data directory cannot be written, or the engine fails.
pub fn set(config: &Config, engine: &dyn Engine, destination: &str) -> Result<(), EngineError> {
    let text = format!("moved to {destination} at {}", Timestamp::now());
    match config.storage.url {
        Some(_) => commit_and_wait(engine, vec![MOVED.put(&(), &text)]),
        None => private_file::create_once(&config.storage.data_dir, FILE, text.as_bytes())
            .map(drop)
            .map_err(|error| directory_error(config, format!("cannot write {FILE}: {error}"))),
    }
}

/// Removes the mark and returns its text. `None`: there is no mark.
///
/// # Errors
/// The data directory cannot be written, or the engine fails.
pub fn remove(config: &Config, engine: &dyn Engine) -> Result<Option<String>, EngineError> {
    let found = find(config, engine)?;
    if found.is_some() {
        match config.storage.url {
            Some(_) => commit_and_wait(engine, vec![MOVED.delete(&())])?,
            None => remove_file(&config.storage.data_dir).map_err(|error| {
                directory_error(config, format!("cannot remove {FILE}: {error}"))
            })?,
        }
    }
    Ok(found)
}

/// Refuses records that were moved. The caller has locked them, so that no move ends meanwhile.
///
/// # Errors
/// The records have the mark, or it cannot be read.
pub fn refuse(config: &Config, engine: &dyn Engine) -> Result<(), EngineError> {
    refuse_if_marked(config, find(config, engine)?)
}

/// As [`refuse`], for a data directory that is not locked yet: opening a large one for each start that a supervisor repeats would take
/// long. Does nothing for a database.
///
/// # Errors
/// As [`refuse`].
pub fn refuse_data_dir(config: &Config) -> Result<(), EngineError> {
    if config.storage.url.is_some() {
        return Ok(());
    }
    refuse_if_marked(config, read_file(config)?)
}

/// Where and when the records were moved, as a part of a sentence. `None`: there is no mark.
///
/// # Errors
/// The mark cannot be read.
pub fn find(config: &Config, engine: &dyn Engine) -> Result<Option<String>, EngineError> {
    if config.storage.url.is_none() {
        return read_file(config);
    }
    let found = engine.get(&MOVED.key(&())).wait()?;
    let text = found.map(|it| MOVED.decode(&it)).transpose();
    text.map_err(|error| EngineError::Failed(error.to_string()))
}

/// Has the data directory a mark, even if the configuration names a database?
pub fn is_in_data_dir(config: &Config) -> bool {
    config.storage.data_dir.join(FILE).exists()
}

fn refuse_if_marked(config: &Config, found: Option<String>) -> Result<(), EngineError> {
    let Some(text) = found else { return Ok(()) };
    let reason = format!(
        "its records were {text}; start the service there. A service that started here would charge and run jobs a second time. If the \
         other copy is given up and no service uses it, run `tintype move --reopen` to use the records here again"
    );
    Err(match &config.storage.url {
        Some(url) => EngineError::Database {
            url: url.to_string(),
            reason,
        },
        None => directory_error(config, reason),
    })
}

fn read_file(config: &Config) -> Result<Option<String>, EngineError> {
    match fs::read_to_string(config.storage.data_dir.join(FILE)) {
        Ok(text) => Ok(Some(text.trim_end().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(directory_error(
            config,
            format!("cannot read {FILE}: {error}"),
        )),
    }
}

fn remove_file(data_dir: &Path) -> io::Result<()> {
    fs::remove_file(data_dir.join(FILE))?;
    File::open(data_dir)?.sync_all()
}

fn directory_error(config: &Config, reason: String) -> EngineError {
    let path = config.storage.data_dir.clone();
    EngineError::Directory { path, reason }
}
