//! Initializes an empty data directory, and the configured database, from a backup, an export or a database. A marker file keeps
//! every other command from opening the directory until its contents are complete and verified.

use super::output::{fault_lines, print};
use crate::backup;
use crate::config::Config;
use crate::data_dir::{self, LOST_AND_FOUND};
use crate::server::{engine, records_owner};
use anyhow::{Context as _, anyhow, bail};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::engine::Engine;
use tintype_storage::export::LoadOutcome;
use tintype_storage::store::tables::VAULT_KEY;
use tintype_storage::store::{Store, StoreError};

/// Faults listed in an error.
const MAX_LISTED: usize = 10;

pub struct DataDirInit<'a> {
    config: &'a Config,
    /// `None` for a database alone.
    marker: Option<PathBuf>,
    /// The empty store.
    pub engine: Arc<dyn Engine>,
}

impl<'a> DataDirInit<'a> {
    /// Creates the directory if it is missing, opens the store, and marks both as unfinished. A refusal changes nothing.
    ///
    /// # Errors
    /// The directory is not empty or cannot be written, or the database contains records or is in use.
    pub fn begin(config: &'a Config) -> anyhow::Result<Self> {
        let data_dir = &config.storage.data_dir;
        let marker = backup::unfinished_marker(data_dir);
        require_empty(data_dir, &marker)?;
        let open = || engine::open_engine_to_fill(config);
        // A database is opened first, because it may refuse. The store of a directory is inside it, so the marker comes first.
        let database = config.storage.url.is_some().then(open).transpose()?;
        data_dir::create(data_dir)
            .and_then(|()| File::create(&marker)?.sync_all())
            .and_then(|()| sync(data_dir))
            .map_err(|error| anyhow!(data_dir::fault(data_dir, &error)))?;
        let engine = match database {
            Some(engine) => engine,
            None => open()?,
        };
        engine::mark_incomplete(&*engine)?;
        Ok(Self {
            config,
            marker: Some(marker),
            engine,
        })
    }

    /// As [`begin`](Self::begin), but with a database it uses no directory, and the caller marks the database as unfinished.
    pub fn begin_move(config: &'a Config) -> anyhow::Result<Self> {
        if config.storage.url.is_none() {
            return Self::begin(config);
        }
        Ok(Self {
            config,
            marker: None,
            engine: engine::open_engine_to_fill(config)?,
        })
    }

    /// Removes the marks, so that a server may use the store.
    ///
    /// # Errors
    /// The marker cannot be removed.
    pub fn finish(self) -> anyhow::Result<()> {
        engine::mark_complete(&*self.engine)?;
        self.engine.close();
        drop(self.engine);
        let Some(marker) = &self.marker else {
            return Ok(());
        };
        let data_dir = &self.config.storage.data_dir;
        sync(data_dir)
            .and_then(|()| fs::remove_file(marker))
            .and_then(|()| sync(data_dir))
            .with_context(|| format!("the data directory {}", data_dir.display()))
    }
}

/// # Errors
/// The directory exists and contains something, or cannot be read.
fn require_empty(data_dir: &Path, marker: &Path) -> anyhow::Result<()> {
    let named = || format!("the data directory {}", data_dir.display());
    if marker.exists() {
        bail!(
            "{} contains an unfinished restore, import or move; empty it and start again",
            named()
        );
    }
    if let Some(fault) = records_owner::fault(data_dir) {
        bail!("{}: {fault}", named());
    }
    let entries = match fs::read_dir(data_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(|error| anyhow!(data_dir::fault(data_dir, &error)))?,
    };
    for entry in entries {
        let name = entry.with_context(named)?.file_name();
        if name != LOST_AND_FOUND {
            bail!(
                "{} is not empty: it contains {}; move its content away, or choose another directory with --data-dir",
                named(),
                name.display()
            );
        }
    }
    Ok(())
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// # Errors
/// There are faults, and `even_with_faults` is not set.
pub fn check_faults(faults: &[String], even_with_faults: bool) -> anyhow::Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    if even_with_faults {
        return print(&fault_lines(faults));
    }
    let shown: Vec<&str> = faults.iter().take(MAX_LISTED).map(String::as_str).collect();
    bail!(
        "the ledger is inconsistent, as it was in the source ({}): {}; use an earlier backup, or accept the faults with --even-with-faults",
        counted(faults.len(), "fault"),
        shown.join("; ")
    )
}

/// What the server will do when it starts with these records.
pub fn pending_work(loaded: &LoadOutcome) -> String {
    let LoadOutcome {
        live_jobs,
        pending_deliveries,
        ..
    } = loaded;
    let mut text = String::new();
    if *live_jobs > 0 {
        text += &format!("unfinished jobs: {live_jobs}; the server runs them when it starts\n");
    }
    if *pending_deliveries > 0 {
        text += &format!(
            "pending webhook deliveries: {pending_deliveries}; the server sends them when it starts, even if they were delivered in the \
             meantime (receivers can deduplicate them by job_id)\n"
        );
    }
    text
}

/// For records whose [`VaultKeySource`] is the cluster secret.
pub const CLUSTER_SECRET_ADVICE: &str = "the webhook secrets are encrypted with the TINTYPE_SECRET of the nodes that these records come from: \
     start the server with this environment variable";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VaultKeySource {
    /// `TINTYPE_SECRET` of the nodes that wrote the records.
    ClusterSecret,
    /// The file `secrets-key` of a data directory.
    KeyFile,
    /// The records need no key yet: there are no webhooks.
    Unused,
}

impl VaultKeySource {
    pub async fn of(store: &Store) -> Result<Self, StoreError> {
        if VAULT_KEY.get(store, &()).await?.is_some() {
            return Ok(Self::ClusterSecret);
        }
        Ok(match store.any_webhook().await? {
            Some(_) => Self::KeyFile,
            None => Self::Unused,
        })
    }
}
