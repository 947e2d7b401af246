//! `tintype restore`: a backup into an empty data directory.

use super::filling::{self, Filling};
use super::progress;
use super::settings::Settings;
use crate::backup::{Depot, SECRETS_KEY, restore_keys, unpack};
use crate::server::object_store;
use clap::Args;
use std::process::ExitCode;

/// Options of `restore`.
#[derive(Args)]
pub struct Arguments {
    /// Where backups are kept.
    #[arg(value_name = "PLACE")]
    place: String,
    /// The backup [default: the newest one that is complete].
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Take records whose books do not add up, as they are.
    #[arg(long)]
    even_with_faults: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Puts everything in its place, and says so only when all of it was checked.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.settings.load(Vec::new())?;
    let data_dir = &config.storage.data_dir;
    let progress = progress::line("reading the manifest");
    let say = |words: String| progress.set_message(words);
    let (manifest, unpacked) = actix_web::rt::System::new().block_on(async {
        let depot = Depot::open_existing(&arguments.place)?;
        let manifest = depot.manifest(arguments.id.as_deref()).await?;
        let filling = Filling::begin(&config)?;
        restore_keys(data_dir, &depot, &manifest).await?;
        let images = match manifest.pictures {
            Some(_) => Some(object_store::open_images(&config, &config.public_url())?),
            None => None,
        };
        let engine = filling.open_store()?;
        let unpacked = unpack(
            &depot,
            &manifest,
            engine.clone(),
            data_dir,
            images.as_ref(),
            &say,
        )
        .await;
        engine.close();
        let unpacked = unpacked?;
        filling::accept(&unpacked.report, arguments.even_with_faults)?;
        filling.end()?;
        anyhow::Ok((manifest, unpacked))
    })?;
    progress.finish_and_clear();
    println!(
        "restored the backup {} of {} into {}: {} records, {} pictures; all of it is checked",
        manifest.id,
        manifest.taken_at,
        data_dir.display(),
        unpacked.loaded.summary.records,
        unpacked.pictures
    );
    if manifest.pictures.is_none() {
        println!(
            "the pictures are not part of this backup; the service looks for them where storage.objects says"
        );
    }
    for key in &unpacked.missing {
        println!("MISSING: {key} was not there when the backup was made");
    }
    let has_key = |name| manifest.keys.iter().flatten().any(|it| it.name == name);
    if manifest.keys.is_none() || !has_key(SECRETS_KEY) {
        println!(
            "{SECRETS_KEY} is not part of this backup; where there are webhooks, put it into {} before the service starts",
            data_dir.display()
        );
    }
    filling::tell_what_begins(&unpacked.loaded);
    Ok(ExitCode::SUCCESS)
}
