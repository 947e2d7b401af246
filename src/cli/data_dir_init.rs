//! Initialises an empty data directory from a backup or an export. Until everything is in place and verified, a mark keeps every
//! other command from opening it.

use crate::backup;
use crate::config::Config;
use crate::server::engine;
use anyhow::{Context as _, bail};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tintype_actors::fail_stop::FailStop;
use tintype_storage::engine::Engine;
use tintype_storage::export::Loaded;

/// Present on a fresh ext4 volume; does not count as content.
const LOST_AND_FOUND: &str = "lost+found";
/// Faults listed in an error.
const NAMED: usize = 10;

/// A data directory that is being initialised.
pub struct DataDirInit<'a> {
    config: &'a Config,
    mark: PathBuf,
}

impl<'a> DataDirInit<'a> {
    /// Marks an empty directory as unfinished; makes it where it is missing.
    ///
    /// # Errors
    /// It holds something, or cannot be written.
    pub fn begin(config: &'a Config) -> anyhow::Result<Self> {
        let data_dir = &config.storage.data_dir;
        let named = || format!("the data directory {}", data_dir.display());
        fs::create_dir_all(data_dir).with_context(named)?;
        let mark = backup::unfinished(data_dir);
        if mark.exists() {
            bail!(
                "{} holds a restore or import that was not finished; empty it and start again",
                named()
            );
        }
        for entry in fs::read_dir(data_dir).with_context(named)? {
            let name = entry.with_context(named)?.file_name();
            if name != LOST_AND_FOUND {
                bail!(
                    "{} is not empty: it holds {}; choose another directory with --data-dir, or empty this one",
                    named(),
                    name.display()
                );
            }
        }
        File::create(&mark)
            .and_then(|file| file.sync_all())
            .and_then(|()| sync(data_dir))
            .with_context(named)?;
        Ok(Self { config, mark })
    }

    /// Opens the store.
    ///
    /// # Errors
    /// The engine cannot open it, or a database holds records already.
    pub fn open_store(&self) -> anyhow::Result<Arc<dyn Engine>> {
        let engine = engine::open_engine_to_fill(self.config, FailStop::new())?;
        engine::mark_incomplete(&*engine)?;
        Ok(engine)
    }

    /// Removes the marks: from now on the directory may be used.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn end(self, engine: Arc<dyn Engine>) -> anyhow::Result<()> {
        engine::mark_complete(&*engine)?;
        engine.close();
        drop(engine);
        let data_dir = &self.config.storage.data_dir;
        sync(data_dir)
            .and_then(|()| fs::remove_file(&self.mark))
            .and_then(|()| sync(data_dir))
            .with_context(|| format!("the data directory {}", data_dir.display()))
    }
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Refuses records with faults unless `even_with_faults` is set.
///
/// # Errors
/// There are faults.
pub fn accept(faults: &[String], even_with_faults: bool) -> anyhow::Result<()> {
    if faults.is_empty() {
        return Ok(());
    }
    if even_with_faults {
        faults.iter().for_each(|fault| println!("FAULT {fault}"));
        return Ok(());
    }
    let shown: Vec<&str> = faults.iter().take(NAMED).map(String::as_str).collect();
    bail!(
        "the ledger is inconsistent, as it was in the source ({} faults): {}; use an earlier backup, or accept it with --even-with-faults",
        faults.len(),
        shown.join("; ")
    )
}

/// Prints what the service will do first with these records.
pub fn print_pending_work(loaded: &Loaded) {
    let Loaded {
        live_jobs,
        pending_deliveries,
        ..
    } = loaded;
    if *live_jobs > 0 {
        println!("unfinished jobs: {live_jobs}; they run when the service starts");
    }
    if *pending_deliveries > 0 {
        println!(
            "pending webhook deliveries: {pending_deliveries}; they are sent when the service starts, even if they were delivered since (receivers recognise them by their job_id)"
        );
    }
}
