//! `tintype verify`: every invariant of a stopped data directory, recomputed.

use super::output::print;
use super::settings::Settings;
use crate::app;
use clap::Args;
use std::collections::HashMap;
use std::process::ExitCode;
use tintype_actors::fail_stop::FailStop;
use tintype_storage::audit::{MAX_FAULTS, audit};
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::Store;

/// Options of `verify`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

/// Prints what was checked and what is wrong; exit 1 when something is.
pub fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.settings.load(Vec::new())?;
    let data_dir = &config.storage.data_dir;
    let has_store = app::has_store(&config);
    anyhow::ensure!(
        has_store,
        "{} is no data directory of Tintype",
        data_dir.display()
    );
    let engine = app::open_engine(&config, FailStop::new())?;
    let store = Store::new(engine);
    let mut results: HashMap<String, u64> = HashMap::new();
    let kept_since = kept_since(config.results.retention_days);
    let mut report = audit(&store, |job| {
        if let JobState::Done {
            image, finished_at, ..
        } = &job.state
            && *finished_at >= kept_since
        {
            results.insert(image.key.clone(), image.bytes);
        }
    })?;
    let pictures = results.len();
    let images = app::open_images(&config, &config.public_url())?;
    let missing = actix_web::rt::System::new().block_on(async {
        let mut missing = Vec::new();
        for (key, bytes) in results {
            match images.head(&key).await {
                Ok(found) if found.size == bytes => {}
                Ok(found) => missing.push(format!(
                    "{key} has {} bytes, its job says {bytes}",
                    found.size
                )),
                Err(error) => missing.push(format!("the picture of a done job: {error}")),
            }
        }
        missing
    });
    let room = MAX_FAULTS.saturating_sub(report.faults.len());
    report.faults.extend(missing.into_iter().take(room));
    let mut said = format!(
        "{} accounts, {} live jobs, {} ended jobs, {} ledger entries, {} deliveries, {} lines of the audit log, {pictures} pictures\n",
        report.accounts,
        report.live_jobs,
        report.ended_jobs,
        report.entries,
        report.deliveries,
        report.audit_entries
    );
    if report.faults.is_empty() {
        print(&(said + "all invariants hold\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    for fault in &report.faults {
        said += &format!("FAULT {fault}\n");
    }
    said += &format!("{} faults\n", report.faults.len());
    print(&said)?;
    Ok(ExitCode::FAILURE)
}

/// Pictures of jobs that finished before this may have been removed by retention.
fn kept_since(retention_days: u64) -> Timestamp {
    if retention_days == 0 {
        return Timestamp::from_millis(0);
    }
    Timestamp::now().days_before(retention_days)
}
