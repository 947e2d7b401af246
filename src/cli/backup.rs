//! `tintype backup`: a consistent copy of the service, running or not.

use super::operator_access::Access;
use super::output::print_json;
use super::{progress, record_source, verify};
use crate::backup::{Contents, KEY_FILES, Manifest, Repository, SECRETS_KEY, create};
use crate::server::object_store;
use clap::Args;
use serde_json::to_value;
use std::path::Path;
use std::process::ExitCode;

/// Options of `backup`.
#[derive(Args)]
pub struct Arguments {
    /// Where backups are kept: a directory, or s3://bucket/prefix, gs://bucket/prefix, az://container/prefix.
    #[arg(value_name = "PLACE")]
    place: String,
    /// Leave out the images, for example if their bucket has its own backup.
    #[arg(long)]
    without_pictures: bool,
    /// Leave out the key files of the data directory, as backups in a bucket do anyway. Back them up separately.
    #[arg(long)]
    without_keys: bool,
    /// Put the key files into a bucket too: who can read it can then act as the service and its operator.
    #[arg(long, conflicts_with = "without_keys")]
    with_keys: bool,
    /// Print the manifest of the backup as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: Access,
}

/// Makes a backup and prints its contents.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.access.config()?;
    let data_dir = &config.storage.data_dir;
    let progress = progress::line("reading the records");
    let say = |words: String| progress.set_message(words);
    let manifest = actix_web::rt::System::new().block_on(async {
        let repository = Repository::open(&arguments.place)?;
        let temp_dir = repository
            .directory()
            .map_or_else(std::env::temp_dir, Path::to_owned);
        let records =
            record_source::from_data_dir(&config, &arguments.access, &temp_dir, &say).await?;
        let images = match arguments.without_pictures {
            true => None,
            false => Some(object_store::open_images(&config, &config.public_url())?),
        };
        // Secrets and the key that they are encrypted under are not kept together where others may read them.
        let is_directory = repository.directory().is_some();
        let has_keys = arguments.with_keys || (is_directory && !arguments.without_keys);
        let contents = Contents {
            data_dir: has_keys.then_some(data_dir.as_path()),
            images: images.as_ref(),
            kept_since: verify::kept_since(config.results.retention_days),
            records: &records.file,
            taken_at: records.taken_at,
            running: records.running,
            say: &say,
        };
        create(&contents, &repository).await
    })?;
    progress.finish_and_clear();
    if arguments.json {
        print_json(&to_value(&manifest)?)?;
    } else {
        print_summary(&manifest, &arguments.place);
    }
    Ok(ExitCode::SUCCESS)
}

fn print_summary(manifest: &Manifest, place: &str) {
    println!(
        "backup {} is complete in {place}: {} records as of {}",
        manifest.id, manifest.record_count, manifest.taken_at
    );
    match &manifest.pictures {
        Some(it) => {
            println!(
                "pictures: {} ({} bytes), of which {} were copied now",
                it.count, it.bytes, it.copied
            );
            if it.expired > 0 {
                println!(
                    "left out: {} pictures that retention has removed",
                    it.expired
                );
            }
            if it.missing > 0 {
                println!(
                    "MISSING: {} pictures are named by a record but are not in the object store; stop the service and run `tintype verify` to list them",
                    it.missing
                );
            }
        }
        None => println!("left out: the pictures"),
    }
    match &manifest.keys {
        Some(keys) => println!(
            "key files: {}; anyone who can read this backup can act as the service and its operator",
            keys.iter()
                .map(|it| it.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ),
        None => println!(
            "left out: the key files; copy {} from the data directory to another place: after a restore, webhooks cannot be signed \
             without {SECRETS_KEY}",
            KEY_FILES.join(", ")
        ),
    }
}
