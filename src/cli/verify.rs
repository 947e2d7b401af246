//! `tintype verify`: checks every invariant of a stopped data directory, a database or a backup, without changing it.

use super::output::{escape_control_chars, print};
use super::settings::Settings;
use super::{progress, record_source};
use crate::backup::{DamagedParts, Repository, affected_backups, restore};
use crate::config::Config;
use crate::images::Images;
use crate::server::{engine, object_store};
use anyhow::Context as _;
use clap::Args;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::process::ExitCode;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Store;
use tintype_storage::verify::{MAX_FAULTS, verify};

#[derive(Args)]
pub struct Arguments {
    /// Verify a backup in this repository instead: its checksums, and everything that a restore checks.
    #[arg(long, value_name = "PLACE", conflicts_with = "data_dir")]
    backup: Option<String>,
    /// Id of the backup [default: the latest complete backup].
    #[arg(long, value_name = "ID", requires = "backup")]
    id: Option<String>,
    #[command(flatten)]
    settings: Settings,
}

/// Exits with code 1 if there is a fault.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if let Some(place) = &arguments.backup {
        return run_on_backup(place, arguments.id.as_deref());
    }
    let config = arguments.settings.load_without_backend_keys(Vec::new())?;
    record_source::require_store(&config)?;
    let store = Store::new(engine::inspect_engine(&config)?);
    let images = object_store::inspect_images(&config)?;
    let report = check(&config, &store, images.as_ref());
    let Report { counts, faults } = actix_web::rt::System::new().block_on(report)?;
    if faults.is_empty() {
        print(&(counts + "all invariants hold\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let line = |fault: &String| format!("FAULT {}\n", escape_control_chars(fault));
    let listed: String = faults.iter().map(line).collect();
    print(&format!("{counts}{listed}{} faults\n", faults.len()))?;
    Ok(ExitCode::FAILURE)
}

pub struct Report {
    /// One line with the number of records of each kind.
    pub counts: String,
    pub faults: Vec<String>,
}

/// Checks all records of a store, and that the image of each done job exists.
///
/// # Errors
/// The store cannot be read.
pub async fn check(
    config: &Config,
    store: &Store,
    images: Option<&Images>,
) -> anyhow::Result<Report> {
    let mut results: HashMap<String, u64> = HashMap::new();
    let kept_since = kept_since(config);
    let mut favourites = HashSet::new();
    store
        .each_favourite(|job| {
            favourites.insert(job);
            Ok(())
        })
        .await?;
    let mut report = verify(store, |job| {
        if let JobState::Done {
            image, finished_at, ..
        } = &job.state
            && must_exist(job.id, *finished_at, kept_since, &favourites)
        {
            results.insert(image.key.clone(), image.bytes);
        }
    })?;
    let image_count = results.len();
    let mut missing = Vec::new();
    for (key, bytes) in results {
        let Some(images) = images else {
            missing.push(format!("{key} is missing: there is no object directory"));
            continue;
        };
        match images.head(&key).await {
            Ok(found) if found.size == bytes => {}
            Ok(found) => missing.push(format!(
                "{key} has {} bytes, but its job recorded {bytes}",
                found.size
            )),
            Err(error) => missing.push(format!("the image of a done job: {error}")),
        }
    }
    let room = MAX_FAULTS.saturating_sub(report.faults.len());
    report.faults.extend(missing.into_iter().take(room));
    let counts = format!(
        "{} accounts, {} live jobs, {} ended jobs, {} ledger entries, {} deliveries, {} audit log entries, {image_count} images\n",
        report.accounts,
        report.live_jobs,
        report.ended_jobs,
        report.entries,
        report.deliveries,
        report.audit_entries
    );
    Ok(Report {
        counts,
        faults: report.faults,
    })
}

/// Retention may have deleted the image of an old job, unless the job is a favourite.
fn must_exist(
    job: JobId,
    finished_at: Timestamp,
    kept_since: Timestamp,
    favourites: &HashSet<JobId>,
) -> bool {
    finished_at >= kept_since || favourites.contains(&job)
}

/// Retention may have deleted the images of jobs that finished before this time.
pub fn kept_since(config: &Config) -> Timestamp {
    let age = config.results.retention();
    age.map_or(Timestamp::EPOCH, |age| Timestamp::now().minus(age))
}

/// Restores the backup to a temporary directory, which makes every check of a restore. Exits with code 1 if there is a fault.
fn run_on_backup(place: &str, id: Option<&str>) -> anyhow::Result<ExitCode> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn an_old_image_must_exist_if_its_job_is_a_favourite() {
        let [favourite, other] = [1, 2].map(|id| JobId(Uuid::from_u128(id)));
        let favourites = HashSet::from([favourite]);
        let must = |job, millis| {
            let (finished, kept_since) = [millis, 100].map(Timestamp::from_millis).into();
            must_exist(job, finished, kept_since, &favourites)
        };
        assert!(must(other, 100));
        assert!(!must(other, 99));
        assert!(must(favourite, 99));
    }
}
