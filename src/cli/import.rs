//! `tintype import`: loads an export into an empty data directory.

use super::data_dir_init::{self, DataDirInit};
use super::progress;
use super::settings::Settings;
use anyhow::Context as _;
use clap::Args;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;
use tintype_storage::export::load;
use tintype_storage::store::Store;
use tintype_storage::verify::verify;

#[derive(Args)]
pub struct Arguments {
    /// File with the export; - reads standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Import even if the ledger is inconsistent.
    #[arg(long)]
    even_with_faults: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.settings.load(Vec::new())?;
    let file = &arguments.file;
    let from: Box<dyn BufRead> = match file.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => {
            let opened =
                File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
            Box::new(BufReader::new(opened))
        }
    };
    let progress = progress::spinner("reading records");
    let init = DataDirInit::begin(&config)?;
    let engine = init.open_store()?;
    let loaded = load(&*engine, from, |_| {})?;
    progress.set_message("verifying the ledger");
    let report = verify(&Store::new(engine.clone()), |_| {})?;
    progress.finish_and_clear();
    data_dir_init::check_faults(&report.faults, arguments.even_with_faults)?;
    init.finish(engine)?;
    println!("{} records imported and verified", loaded.summary.records);
    data_dir_init::print_pending_work(&loaded);
    println!(
        "an export contains no images and no key files: copy objects/, secrets-key, file-signing-key and admin-token from the old data directory to {}",
        config.storage.data_dir.display()
    );
    Ok(ExitCode::SUCCESS)
}
