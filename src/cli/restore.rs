//! `tintype restore`: restores a backup into an empty data directory.

use super::data_dir_init::{self, DataDirInit};
use super::progress;
use super::settings::Settings;
use crate::backup::{Repository, SECRETS_KEY, restore, restore_keys};
use crate::server::object_store;
use clap::Args;
use std::process::ExitCode;

#[derive(Args)]
pub struct Arguments {
    /// Backup repository: a directory or the URL of a bucket, as for `tintype backup`.
    #[arg(value_name = "PLACE")]
    place: String,
    /// Id of the backup [default: the latest complete backup].
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Restore even if the ledger is inconsistent.
    #[arg(long)]
    even_with_faults: bool,
    #[command(flatten)]
    settings: Settings,
}

pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.settings.load(Vec::new())?;
    let data_dir = &config.storage.data_dir;
    let progress = progress::spinner("reading the manifest");
    let say = |message: String| progress.set_message(message);
    let (manifest, restored) = actix_web::rt::System::new().block_on(async {
        let repository = Repository::open_existing(&arguments.place)?;
        let manifest = repository.manifest(arguments.id.as_deref()).await?;
        let init = DataDirInit::begin(&config)?;
        restore_keys(data_dir, &repository, &manifest).await?;
        let images = match manifest.images {
            Some(_) => Some(object_store::open_images(&config, &config.public_url())?),
            None => None,
        };
        let engine = init.open_store()?;
        let restored = restore(
            &repository,
            &manifest,
            engine.clone(),
            data_dir,
            images.as_ref(),
            &say,
        )
        .await?;
        data_dir_init::check_faults(&restored.report.faults, arguments.even_with_faults)?;
        init.finish(engine)?;
        anyhow::Ok((manifest, restored))
    })?;
    progress.finish_and_clear();
    println!(
        "restored backup {} of {} into {}: {} records and {} images, all verified",
        manifest.id,
        manifest.taken_at,
        data_dir.display(),
        restored.loaded.summary.records,
        restored.images
    );
    if manifest.images.is_none() {
        println!(
            "the backup contains no images; the server reads them from `objects` in [storage]"
        );
    }
    for key in &restored.missing {
        println!("MISSING: {key} was already missing at the time of the backup");
    }
    let has_key = |name| manifest.keys.iter().flatten().any(|it| it.name == name);
    if manifest.keys.is_none() || !has_key(SECRETS_KEY) {
        println!(
            "the backup contains no {SECRETS_KEY}; if there are webhooks, copy it to {} before you start the server",
            data_dir.display()
        );
    }
    data_dir_init::print_pending_work(&restored.loaded);
    Ok(ExitCode::SUCCESS)
}
