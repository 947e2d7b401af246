//! `tintype import`: an export into a data directory that holds nothing yet.

use super::filling::{self, Filling};
use super::progress;
use super::settings::Settings;
use anyhow::Context as _;
use clap::Args;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;
use tintype_storage::audit::audit;
use tintype_storage::export::load;
use tintype_storage::store::Store;

/// Options of `import`.
#[derive(Args)]
pub struct Arguments {
    /// The export; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Take records whose books do not add up, as they are.
    #[arg(long)]
    even_with_faults: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Takes the records in, audits them, and says what is still to be done.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.settings.load(Vec::new())?;
    let file = &arguments.file;
    let from: Box<dyn BufRead> = match file.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => {
            let opened =
                File::open(file).with_context(|| format!("the export {}", file.display()))?;
            Box::new(BufReader::new(opened))
        }
    };
    let progress = progress::line("reading the records");
    let filling = Filling::begin(&config)?;
    let engine = filling.open_store()?;
    let loaded = load(&*engine, from, |_| {})?;
    progress.set_message("auditing the books");
    let report = audit(&Store::new(engine.clone()), |_| {})?;
    engine.close();
    drop(engine);
    progress.finish_and_clear();
    filling::accept(&report, arguments.even_with_faults)?;
    filling.end()?;
    println!(
        "{} records imported; all are audited",
        loaded.summary.records
    );
    filling::tell_what_begins(&loaded);
    println!(
        "pictures and key files are no part of an export: put objects/, secrets-key, file-signing-key and admin-token of the old data directory into {}",
        config.storage.data_dir.display()
    );
    Ok(ExitCode::SUCCESS)
}
