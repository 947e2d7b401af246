//! `tintype verify`: recomputes every invariant of a stopped data directory, without changing it.

use super::output::print;
use super::settings::Settings;
use super::verify_backup;
use crate::config::Config;
use crate::images::Images;
use crate::server::{engine, object_store};
use clap::Args;
use std::collections::{HashMap, HashSet};
use std::process::ExitCode;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Store;
use tintype_storage::verify::{MAX_FAULTS, verify};

/// Options of `verify`.
#[derive(Args)]
pub struct Arguments {
    /// Check a backup in this place instead: checksums, then everything that a restore checks.
    #[arg(long, value_name = "PLACE", conflicts_with = "data_dir")]
    backup: Option<String>,
    /// Id of the backup [default: the newest complete one].
    #[arg(long, value_name = "ID", requires = "backup")]
    id: Option<String>,
    #[command(flatten)]
    settings: Settings,
}

/// Prints what was checked and every fault. Exit code 1 if there is a fault.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    if let Some(place) = &arguments.backup {
        return verify_backup::run(place, arguments.id.as_deref());
    }
    let config = arguments.settings.beside()?;
    let data_dir = &config.storage.data_dir;
    let has_store = engine::has_store(&config);
    anyhow::ensure!(
        has_store,
        "{} is no data directory of Tintype; name one with --data-dir",
        data_dir.display()
    );
    let store = Store::new(engine::inspect_engine(&config)?);
    let images = object_store::inspect_images(&config)?;
    let checked = check(&config, &store, images.as_ref());
    let Checked { said, faults } = actix_web::rt::System::new().block_on(checked)?;
    if faults.is_empty() {
        print(&(said + "all invariants hold\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let listed: String = faults.iter().map(|it| format!("FAULT {it}\n")).collect();
    print(&format!("{said}{listed}{} faults\n", faults.len()))?;
    Ok(ExitCode::FAILURE)
}

/// What was checked.
pub struct Checked {
    /// How much there is.
    pub said: String,
    pub faults: Vec<String>,
}

/// Checks all records of a store, and that the pictures that they name are there.
///
/// # Errors
/// The store cannot be read.
pub async fn check(
    config: &Config,
    store: &Store,
    images: Option<&Images>,
) -> anyhow::Result<Checked> {
    let mut results: HashMap<String, u64> = HashMap::new();
    let kept_since = kept_since(config.results.retention_days);
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
            && must_be_there(job.id, *finished_at, kept_since, &favourites)
        {
            results.insert(image.key.clone(), image.bytes);
        }
    })?;
    let pictures = results.len();
    let mut missing = Vec::new();
    for (key, bytes) in results {
        let Some(images) = images else {
            missing.push(format!("{key} is missing: there is no object directory"));
            continue;
        };
        match images.head(&key).await {
            Ok(found) if found.size == bytes => {}
            Ok(found) => missing.push(format!(
                "{key} has {} bytes, its job says {bytes}",
                found.size
            )),
            Err(error) => missing.push(format!("the picture of a done job: {error}")),
        }
    }
    let room = MAX_FAULTS.saturating_sub(report.faults.len());
    report.faults.extend(missing.into_iter().take(room));
    let said = format!(
        "{} accounts, {} live jobs, {} ended jobs, {} ledger entries, {} deliveries, {} lines of the audit log, {pictures} pictures\n",
        report.accounts,
        report.live_jobs,
        report.ended_jobs,
        report.entries,
        report.deliveries,
        report.audit_entries
    );
    Ok(Checked {
        said,
        faults: report.faults,
    })
}

/// Must the picture of a done job be there? Retention may have removed an old one, unless the job is a favourite.
fn must_be_there(
    job: JobId,
    finished_at: Timestamp,
    kept_since: Timestamp,
    favourites: &HashSet<JobId>,
) -> bool {
    finished_at >= kept_since || favourites.contains(&job)
}

/// Pictures of jobs that finished before this may have been removed by retention.
pub fn kept_since(retention_days: u64) -> Timestamp {
    if retention_days == 0 {
        return Timestamp::from_millis(0);
    }
    Timestamp::now().days_before(retention_days)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn an_old_picture_must_be_there_if_it_is_of_a_favourite() {
        let [favourite, other] = [1, 2].map(|id| JobId(Uuid::from_u128(id)));
        let favourites = HashSet::from([favourite]);
        let must = |job, millis| {
            let (finished, kept_since) = [millis, 100].map(Timestamp::from_millis).into();
            must_be_there(job, finished, kept_since, &favourites)
        };
        assert!(must(other, 100));
        assert!(!must(other, 99));
        assert!(must(favourite, 99));
    }
}
