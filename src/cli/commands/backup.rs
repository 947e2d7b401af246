//! `tintype backup`: a consistent copy of a running or stopped server, and the list of copies in a repository.

use super::verify;
use crate::backup::{
    Contents, KEY_FILES, Manifest, Repository, SECRETS_KEY, UnreadableCopies, create, prune,
};
use crate::cli::operator_access::Access;
use crate::cli::output::{Column, exit_code, list_table, note, print, print_as, print_json};
use crate::cli::{progress, record_source};
use crate::config::Config;
use crate::server::{object_store, records_owner};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use futures_util::FutureExt as _;
use serde_json::{json, to_value};
use std::future::ready;
use std::path::Path;
use std::process::ExitCode;
use tintype_storage::domain::counted::counted;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Backup repository: a directory, or s3://bucket/prefix, gs://bucket/prefix, az://container/prefix.
    #[arg(value_name = "LOCATION", required = true)]
    place: Option<String>,
    /// Omit the images, for example because their bucket is backed up separately.
    #[arg(long = "without-pictures")]
    without_images: bool,
    /// Omit the key files of the data directory. This is the default for a bucket. Back them up separately. Nodes that share a database
    /// have no key files; store their TINTYPE_SECRET separately.
    #[arg(long)]
    without_keys: bool,
    /// Include the key files in a bucket. A reader of the bucket can then act as the server and its operator.
    #[arg(long, conflicts_with = "without_keys")]
    with_keys: bool,
    /// Read every image in the repository that the backup needs, and copy damaged ones again.
    #[arg(long, conflicts_with = "without_images")]
    repair: bool,
    /// Exit with code 0 even if images of done jobs are missing or damaged in the object store.
    #[arg(long, conflicts_with = "without_images")]
    even_with_faults: bool,
    /// Print the manifest of the backup as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: Access,
}

#[derive(Subcommand)]
enum Command {
    /// List the complete backups in a repository, oldest first.
    List(List),
    /// Remove old backups, and the images that no remaining backup needs. Do not run it while a backup is created.
    Prune(Prune),
}

/// Exits with code 1 if the backup lacks images.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Some(Command::List(list)) => return run_list(list),
        Some(Command::Prune(prune)) => return run_prune(prune),
        None => {}
    }
    let place = arguments
        .place
        .clone()
        .context("give the repository of the backup")?;
    let config = arguments.access.config()?;
    let create = async |say: &dyn Fn(String)| create_backup(&arguments, &config, &place, say).await;
    let created = progress::run("reading records", create);
    if let Err(error) = &created
        && let Some(unreadable) = error.downcast_ref::<UnreadableCopies>()
    {
        for fault in &unreadable.faults {
            note(&format!("UNREADABLE: {fault}"));
        }
    }
    let (manifest, noted) = created?;
    if let Err(error) = noted {
        note(&format!(
            "the metrics and `tintype stats` do not show this backup, because its time could not be recorded: {error:#}"
        ));
    }
    match arguments.json {
        true => print_json(&to_value(&manifest)?)?,
        false => print(&summary(&manifest, &place, config.storage.url.is_some()))?,
    }
    let images = manifest.images.unwrap_or_default();
    for fault in &images.damaged_names {
        note(&format!("DAMAGED: {fault}; the backup leaves it out"));
    }
    if let Some(more) = verify::more_damaged(images.damaged - images.damaged_names.len() as u64) {
        note(&format!("DAMAGED: {more}"));
    }
    let lost = images.missing - images.damaged;
    if lost > 0 {
        note(&format!(
            "MISSING: the object store lacks {} of done jobs, so the backup does too; list them with `tintype verify --backup {place}`",
            counted(lost, "image")
        ));
    }
    Ok(exit_code(images.missing == 0 || arguments.even_with_faults))
}

/// Creates a backup. Returns its manifest, and whether its time was recorded.
async fn create_backup(
    arguments: &Arguments,
    config: &Config,
    place: &str,
    say: &dyn Fn(String),
) -> anyhow::Result<(Manifest, anyhow::Result<()>)> {
    let data_dir = &config.storage.data_dir;
    check_location(place, Some(data_dir))?;
    let repository = Repository::open(place)?;
    let temp_dir = repository.temp_dir();
    let records =
        record_source::from_data_dir(config, &arguments.access, true, &temp_dir, say).await?;
    let objects = match arguments.without_images {
        true => None,
        false => Some(object_store::open_unsigned(config)?),
    };
    // By default a bucket does not get both the encrypted secrets and their key, because others may read the bucket.
    let is_directory = repository.directory().is_some();
    let wants_keys = arguments.with_keys || (is_directory && !arguments.without_keys);
    // Nodes derive their keys from the cluster secret; a key file in their data directory is none of theirs.
    let has_keys = wants_keys && config.storage.url.is_none();
    let contents = Contents {
        data_dir: has_keys.then_some(data_dir.as_path()),
        objects: objects.as_ref(),
        kept_since: &|| verify::kept_since(config, records.images_kept_since),
        is_image_deleted: &|account, job| match &records.source {
            Some(source) => source.is_image_deleted(account, job).boxed_local(),
            None => ready(false).boxed_local(),
        },
        is_erased: &|account, job| match &records.source {
            Some(source) => source.is_erased(account, job).boxed_local(),
            None => ready(false).boxed_local(),
        },
        records: &records.file,
        taken_at: records.taken_at,
        running: records.running,
        repair: arguments.repair,
        say,
    };
    let manifest = create(&contents, &repository).await?;
    let noted = records.record_backup(config).await;
    Ok((manifest, noted))
}

/// Refuses a directory of another user, who could not read the files that this one would create there, and one inside the data
/// directory that is backed up.
fn check_location(place: &str, data_dir: Option<&Path>) -> anyhow::Result<()> {
    if place.contains("://") {
        return Ok(());
    }
    let absolute = std::path::absolute(place)?;
    if let Some(fault) = records_owner::fault(&absolute) {
        bail!("the backup location {place}: {fault}");
    }
    let mut existing = absolute.ancestors().filter_map(|it| it.canonicalize().ok());
    if let (Some(existing), Some(data_dir)) = (existing.next(), data_dir)
        && data_dir
            .canonicalize()
            .is_ok_and(|it| existing.starts_with(it))
    {
        bail!(
            "the backup location {place} is inside the data directory {}, and would be lost with it; give another directory",
            data_dir.display()
        );
    }
    Ok(())
}

fn summary(manifest: &Manifest, place: &str, is_database: bool) -> String {
    let mut text = format!(
        "backup {} completed in {place}: {} as of {}\n",
        manifest.id,
        counted(manifest.record_count, "record"),
        manifest.taken_at
    );
    match &manifest.images {
        Some(it) => {
            text += &format!(
                "images: {} ({}), {} newly copied\n",
                it.count,
                counted(it.bytes, "byte"),
                it.copied
            );
            if it.repaired > 0 {
                let images = counted(it.repaired, "damaged image");
                text += &format!("repaired: {images} in {place}\n");
            }
            if it.expired > 0 {
                let images = counted(it.expired, "image");
                text += &format!("omitted: {images} deleted by retention or by their owner\n");
            }
        }
        None => text += "omitted: images\n",
    }
    text + &key_files_text(manifest, is_database)
}

fn key_files_text(manifest: &Manifest, is_database: bool) -> String {
    match &manifest.keys {
        Some(keys) if keys.is_empty() => {
            "key files: none; the data directory contains none\n".to_owned()
        }
        Some(keys) => format!(
            "key files: {}; a reader of this backup can act as the server and its operator\n",
            keys.iter()
                .map(|it| it.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ),
        None if is_database => "key files: none; the nodes derive their keys from TINTYPE_SECRET, which this backup does not contain. Store \
             it in another place: without it, the webhook secrets in this backup cannot be decrypted\n"
            .to_owned(),
        None => format!(
            "omitted: key files; back up {} from the data directory separately: after a restore, the server cannot sign webhooks \
             without {SECRETS_KEY}\n",
            KEY_FILES.join(", ")
        ),
    }
}

const COLUMNS: [Column<Manifest>; 7] = [
    ("BACKUP", |it| it.id.clone()),
    ("TAKEN AT", |it| it.taken_at.clone()),
    ("RECORDS", |it| it.record_count.to_string()),
    ("IMAGES", |it| {
        or_omitted(it.images.as_ref().map(|it| it.count))
    }),
    ("BYTES", |it| {
        let images = it.images.as_ref().map_or(0, |it| it.bytes);
        (it.records.digest.bytes + images).to_string()
    }),
    ("COPIED", |it| {
        or_omitted(it.images.as_ref().map(|it| it.copied))
    }),
    ("KEY FILES", |it| {
        or_omitted(it.keys.as_ref().map(|it| it.len() as u64))
    }),
];

#[derive(Args)]
struct List {
    /// Backup repository: a directory or the URL of a bucket, as for `tintype backup`.
    #[arg(value_name = "LOCATION")]
    place: String,
    /// Print the manifests as JSON.
    #[arg(long)]
    json: bool,
}

/// Exits with code 1 if a manifest cannot be read.
fn run_list(arguments: &List) -> anyhow::Result<ExitCode> {
    let (manifests, faults) = actix_web::rt::System::new().block_on(async {
        let repository = Repository::open_existing(&arguments.place)?;
        let (mut manifests, mut faults) = (Vec::new(), Vec::new());
        for id in repository.ids().await? {
            match repository.manifest(Some(&id)).await {
                Ok(manifest) => manifests.push(manifest),
                Err(error) => faults.push(format!("{error:#}")),
            }
        }
        anyhow::Ok((manifests, faults))
    })?;
    print_as(arguments.json, &json!({"data": manifests}), || {
        list_table(&COLUMNS, &manifests)
    })?;
    for fault in &faults {
        note(&format!("FAULT {fault}"));
    }
    Ok(exit_code(faults.is_empty()))
}

#[derive(Args)]
struct Prune {
    /// Backup repository: a directory or the URL of a bucket, as for `tintype backup`.
    #[arg(value_name = "LOCATION")]
    place: String,
    /// Number of newest backups to keep.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    keep: u32,
    /// Remove nothing; show what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Print the ids of the removed and of the kept backups as JSON.
    #[arg(long)]
    json: bool,
}

fn run_prune(arguments: &Prune) -> anyhow::Result<ExitCode> {
    let keep = usize::try_from(arguments.keep)?;
    let pruned = progress::run("reading the manifests", async |say| {
        check_location(&arguments.place, None)?;
        let repository = Repository::open_existing(&arguments.place)?;
        prune(&repository, keep, arguments.dry_run, say).await
    })?;
    print_as(arguments.json, &pruned, || {
        let verb = match arguments.dry_run {
            true => "would remove",
            false => "removed",
        };
        let kept = match pruned.kept.len() {
            1 => "1 backup remains".to_owned(),
            kept => format!("{kept} backups remain"),
        };
        let interrupted = pruned.interrupted.iter();
        let interrupted: Vec<_> = interrupted.map(|id| format!("interrupted {id}")).collect();
        let ids = pruned.removed.iter().chain(&interrupted);
        let ids: String = ids.map(|id| format!("{verb} {id}\n")).collect();
        let interrupted = match interrupted.len() {
            0 => String::new(),
            count => format!(", and {}", counted(count, "interrupted backup")),
        };
        format!(
            "{ids}{verb} {} and {} ({}){interrupted}; {kept}\n",
            counted(pruned.removed.len(), "backup"),
            counted(pruned.images, "image"),
            counted(pruned.bytes, "byte")
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

fn or_omitted(count: Option<u64>) -> String {
    count.map_or_else(|| "omitted".to_owned(), |it| it.to_string())
}
