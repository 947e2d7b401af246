//! Whether what nodes were answered to have done is in the database.

use super::site::Site;
use anyhow::ensure;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::Store;
use tintype_storage::verify::{Report, verify};

/// Connections of an audit.
const CONNECTIONS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(10);

fn open(site: &Site<'_>) -> anyhow::Result<Store> {
    let engine = PostgresEngine::look(PostgresOptions {
        url: DatabaseUrl::parse(&site.database.url())?,
        connections: CONNECTIONS,
        node: None,
        outage: PATIENCE,
        on_failure: Arc::new(|_| {}),
    })?;
    Ok(Store::new(Arc::new(engine)))
}

/// Audits the records.
///
/// # Errors
/// The books do not add up.
pub fn audit(site: &Site<'_>) -> anyhow::Result<Report> {
    let store = open(site)?;
    let report = verify(&store, |_| {})?;
    store.engine().close();
    ensure!(
        report.faults.is_empty(),
        "the records are wrong: {:?}",
        report.faults
    );
    Ok(report)
}

/// Audits the records, which must have exactly as many jobs as were answered `202`.
pub fn audit_count(site: &Site<'_>, accepted: usize) -> anyhow::Result<Report> {
    let report = audit(site)?;
    let jobs = report.live_jobs + report.ended_jobs;
    ensure!(
        jobs == accepted as u64,
        "{accepted} jobs were answered 202, and {jobs} are in the database"
    );
    Ok(report)
}

/// The ids of all jobs.
pub fn jobs(site: &Site<'_>) -> anyhow::Result<HashSet<String>> {
    let store = open(site)?;
    let mut found = HashSet::new();
    let each = |job: tintype_storage::domain::job::Job| job.id.to_string();
    store
        .each_live_job(|job| {
            found.insert(each(job));
            Ok(())
        })
        .wait()?;
    store
        .each_ended_job(|job| {
            found.insert(each(job));
            Ok(())
        })
        .wait()?;
    store.engine().close();
    Ok(found)
}
