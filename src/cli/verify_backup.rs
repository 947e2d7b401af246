//! `tintype verify --backup`: reads a backup and makes every check that a restore makes.

use super::progress;
use crate::backup::{Repository, restore};
use crate::server::engine;
use std::process::ExitCode;

/// Prints what was checked and every fault. Exit code 1 if there is a fault.
pub fn run(place: &str, id: Option<&str>) -> anyhow::Result<ExitCode> {
    let progress = progress::line("reading the manifest");
    let say = |words: String| progress.set_message(words);
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
        "backup {} of {}: {} records, {} pictures, {} key files",
        manifest.id,
        manifest.taken_at,
        restored.loaded.summary.records,
        restored.pictures,
        manifest.keys.iter().flatten().count()
    );
    let missing = restored
        .missing
        .iter()
        .map(|key| format!("{key} is named by a job and was missing when the backup was made"));
    let faults: Vec<String> = restored.report.faults.into_iter().chain(missing).collect();
    if faults.is_empty() {
        println!("the backup is complete; all invariants hold");
        return Ok(ExitCode::SUCCESS);
    }
    faults.iter().for_each(|fault| println!("FAULT {fault}"));
    println!("{} faults", faults.len());
    Ok(ExitCode::FAILURE)
}
