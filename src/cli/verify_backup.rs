//! `tintype verify --backup`: restores a backup to a temporary directory, which makes every check of a restore.

use super::output::escape_control_chars;
use super::progress;
use crate::backup::{DamagedParts, Repository, affected_backups, restore};
use crate::server::engine;
use anyhow::Context as _;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// Exits with code 1 if there is a fault.
pub fn run(place: &str, id: Option<&str>) -> anyhow::Result<ExitCode> {
    let progress = progress::spinner("reading the manifest");
    let say = |message: String| progress.set_message(message);
    let temp_dir = tempfile::tempdir()?;
    let (manifest, restored, affected) = actix_web::rt::System::new().block_on(async {
        let repository = Repository::open_existing(place)?;
        let manifest = repository.manifest(id).await?;
        let engine = engine::open_temporary_engine(&temp_dir.path().join("store"))?;
        let restored = restore(
            &repository,
            &manifest,
            engine.clone(),
            temp_dir.path(),
            None,
            &say,
        )
        .await;
        engine.close();
        let restored = restored.with_context(|| {
            format!(
                "the backup {} cannot be restored; create another with `tintype backup`, and see the others with `tintype backup list`",
                manifest.id
            )
        })?;
        let keys = restored.damaged.objects.iter().map(|(key, _)| key.as_str());
        let keys: BTreeSet<&str> = keys.collect();
        let affected = match keys.is_empty() {
            true => BTreeMap::new(),
            false => affected_backups(&repository, &keys, temp_dir.path()).await?,
        };
        anyhow::Ok((manifest, restored, affected))
    })?;
    progress.finish_and_clear();
    println!(
        "backup {} of {}: {} records, {} images, {} key files",
        escape_control_chars(&manifest.id),
        escape_control_chars(&manifest.taken_at),
        restored.loaded.summary.records,
        restored.images,
        manifest.keys.iter().flatten().count()
    );
    let missing = restored.missing.iter().map(|key| {
        format!("{key} is the image of a done job, and was missing at the time of the backup")
    });
    let DamagedParts {
        objects,
        omitted,
        key_files,
    } = restored.damaged;
    let is_repairable = !objects.is_empty();
    let damaged = objects.into_iter().map(|(key, fault)| {
        let backups = affected.get(&key).map_or(String::new(), |it| it.join(", "));
        format!("{fault}; needed by the backups {backups}")
    });
    let omitted = (omitted > 0).then(|| format!("{omitted} more images are damaged or missing"));
    let faults = restored.report.faults.into_iter().chain(missing);
    let faults = faults.chain(key_files).chain(damaged).chain(omitted);
    let faults: Vec<String> = faults.collect();
    if faults.is_empty() {
        println!("the backup is complete; all invariants hold");
        return Ok(ExitCode::SUCCESS);
    }
    for fault in &faults {
        println!("FAULT {}", escape_control_chars(fault));
    }
    println!("{} faults", faults.len());
    if is_repairable {
        println!(
            "to repair the images, run `tintype backup` to this repository with --repair: it checks all images that the service \
             still has, and copies damaged ones again"
        );
    }
    Ok(ExitCode::FAILURE)
}
