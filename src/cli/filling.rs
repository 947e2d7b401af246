//! Filling an empty data directory: nothing else opens it until all of it is there and was checked.

use crate::backup;
use crate::config::Config;
use crate::server::engine;
use anyhow::{Context as _, bail};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tintype_actors::fail_stop::FailStop;
use tintype_storage::audit::Report;
use tintype_storage::engine::Engine;
use tintype_storage::export::Loaded;

/// What a file system puts into a fresh volume by itself.
const LOST_AND_FOUND: &str = "lost+found";
/// Faults that a refusal names.
const NAMED: usize = 10;

/// A data directory on its way.
pub struct Filling<'a> {
    config: &'a Config,
    mark: PathBuf,
}

impl<'a> Filling<'a> {
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
                "{} was begun and not finished; remove what is in it, and begin again",
                named()
            );
        }
        for entry in fs::read_dir(data_dir).with_context(named)? {
            let name = entry.with_context(named)?.file_name();
            if name != LOST_AND_FOUND {
                bail!(
                    "{} is not empty: it holds {}; name another one with --data-dir, or move what is in it away",
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

    /// Opens the store, which nobody else does by now.
    ///
    /// # Errors
    /// As for every store.
    pub fn open_store(&self) -> anyhow::Result<Arc<dyn Engine>> {
        Ok(engine::open_unfinished_engine(
            self.config,
            FailStop::new(),
        )?)
    }

    /// From here on the directory may be used.
    ///
    /// # Errors
    /// The mark cannot be removed.
    pub fn end(self) -> anyhow::Result<()> {
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

/// Refuses books that do not add up, unless they are wanted as they are.
///
/// # Errors
/// There are faults.
pub fn accept(report: &Report, even_with_faults: bool) -> anyhow::Result<()> {
    let faults = &report.faults;
    if faults.is_empty() {
        return Ok(());
    }
    if even_with_faults {
        faults.iter().for_each(|fault| println!("FAULT {fault}"));
        return Ok(());
    }
    let shown: Vec<&str> = faults.iter().take(NAMED).map(String::as_str).collect();
    bail!(
        "the books do not add up, as they did not where they come from ({} faults): {}; take an earlier backup, or these as they are with --even-with-faults",
        faults.len(),
        shown.join("; ")
    )
}

/// Says what a service will do first with these records.
pub fn tell_what_begins(loaded: &Loaded) {
    let Loaded {
        live_jobs,
        pending_deliveries,
        ..
    } = loaded;
    if *live_jobs > 0 {
        println!("jobs that had not ended: {live_jobs}; they are run when the service starts");
    }
    if *pending_deliveries > 0 {
        println!(
            "webhook deliveries that were pending: {pending_deliveries}; they are sent when the service starts, those too that were delivered since (receivers know them by their job_id)"
        );
    }
}
