//! `tintype verify --backup`: restores a backup to a temporary directory, which makes every check of a restore.

use super::progress;
use crate::backup::{Repository, restore};
use crate::server::engine;
use std::process::ExitCode;

/// Exits with code 1 if there is a fault.
pub fn run(place: &str, id: Option<&str>) -> anyhow::Result<ExitCode> {
    let progress = progress::spinner("reading the manifest");
    let say = |message: String| progress.set_message(message);
    let temp_dir = tempfile::tempdir()?;
    let (manifest, restored) = actix_web::rt::System::new().block_on(async {
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
        anyhow::Ok((manifest, restored?))
    })?;
    progress.finish_and_clear();
    println!(
        "backup {} of {}: {} records, {} images, {} key files",
        manifest.id,
        manifest.taken_at,
        restored.loaded.summary.records,
        restored.pictures,
        manifest.keys.iter().flatten().count()
    );
    let missing = restored.missing.iter().map(|key| {
        format!("{key} is the image of a done job, and was missing at the time of the backup")
    });
    let faults: Vec<String> = restored.report.faults.into_iter().chain(missing).collect();
    if faults.is_empty() {
        println!("the backup is complete; all invariants hold");
        return Ok(ExitCode::SUCCESS);
    }
    faults.iter().for_each(|fault| println!("FAULT {fault}"));
    println!("{} faults", faults.len());
    Ok(ExitCode::FAILURE)
}
