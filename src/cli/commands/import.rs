//! `tintype import`: loads an export into an empty data directory or database.

use crate::backup::SECRETS_KEY;
use crate::cli::data_dir_init::{self, DataDirInit, VaultKeySource};
use crate::cli::output::print;
use crate::cli::progress;
use crate::cli::settings::Settings;
use crate::config::Config;
use anyhow::Context as _;
use clap::Args;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tintype_storage::domain::counted::counted;
use tintype_storage::export::{Reader, load};
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
    let config = arguments.settings.load_for_records()?;
    let file = &arguments.file;
    let from: Box<dyn BufRead> = match file.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => {
            let mut opened =
                File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
            // Another file must leave nothing behind.
            Reader::new(BufReader::new(&opened))
                .with_context(|| format!("cannot import {}", file.display()))?;
            opened.rewind()?;
            Box::new(BufReader::new(opened))
        }
    };
    let progress = progress::spinner("reading records");
    let init = DataDirInit::begin(&config)?;
    let loaded = load(&*init.engine, from, |_| {})?;
    progress.set_message("verifying the ledger");
    let store = Store::new(Arc::clone(&init.engine));
    let report = verify(&store, |_| {})?;
    let vault_key = actix_web::rt::System::new().block_on(VaultKeySource::of(&store))?;
    drop(store);
    progress.finish_and_clear();
    data_dir_init::check_faults(&report.faults, arguments.even_with_faults)?;
    init.finish()?;
    print(&format!(
        "{} imported and verified\n{}{}\n",
        counted(loaded.summary.records, "record"),
        data_dir_init::pending_work(&loaded),
        missing_parts(&config, vault_key)
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// What a server needs in addition to the records.
fn missing_parts(config: &Config, vault_key: VaultKeySource) -> String {
    let storage = &config.storage;
    let (data_dir, advice) = (
        storage.data_dir.display(),
        data_dir_init::CLUSTER_SECRET_ADVICE,
    );
    let bucket = storage.objects.as_ref().map(ToString::to_string);
    let bucket = bucket.unwrap_or_default();
    match (&storage.url, vault_key) {
        (None, VaultKeySource::ClusterSecret) => format!(
            "an export contains no images and no keys: set `objects` in [storage] to the bucket of the nodes; {advice}"
        ),
        (None, _) => format!(
            "an export contains no images and no key files: copy objects/, {SECRETS_KEY}, file-signing-key and admin-token from the old data directory to {data_dir}"
        ),
        (Some(_), VaultKeySource::ClusterSecret) => format!(
            "an export contains no images and no keys: the nodes read the images from {bucket}; {advice}"
        ),
        (Some(_), VaultKeySource::KeyFile) => format!(
            "an export contains no images and no keys: copy the images to {bucket}; copy {SECRETS_KEY}, which decrypts the webhook \
             secrets, from the old data directory to {data_dir}, and start the first node with that data directory"
        ),
        (Some(_), VaultKeySource::Unused) => {
            format!("an export contains no images: copy them to {bucket}")
        }
    }
}
