//! Checks that everything nodes acknowledged is in the database.

use super::site::Site;
use crate::check;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::domain::job::Job;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::ENDED_JOBS;
use tintype_storage::store::{All, Store};
use tintype_storage::verify::Report;

/// Connections of the verification.
const CONNECTIONS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(10);

fn open(site: &Site<'_>) -> anyhow::Result<Store> {
    let engine = PostgresEngine::open_read_only(PostgresOptions {
        url: DatabaseUrl::parse(&site.database.url())?,
        connections: CONNECTIONS,
        node: None,
        host: "localhost".into(),
        outage: PATIENCE,
        on_failure: Arc::new(|_| {}),
    })?;
    Ok(Store::new(Arc::new(engine)))
}

/// Verifies the records.
///
/// # Errors
/// The records are inconsistent.
pub fn audit(site: &Site<'_>) -> anyhow::Result<Report> {
    check::audit(&open(site)?)
}

/// Verifies the records, which must have exactly as many jobs as the nodes answered `202`.
pub fn audit_count(site: &Site<'_>, accepted: usize) -> anyhow::Result<Report> {
    let report = audit(site)?;
    check::ensure_count(&report, accepted)?;
    Ok(report)
}

/// The ids of all jobs.
pub fn jobs(site: &Site<'_>) -> anyhow::Result<HashSet<String>> {
    let store = open(site)?;
    let mut found = HashSet::new();
    let mut note = |job: Job| {
        found.insert(job.id.to_string());
        Ok(())
    };
    store.each_live_job(&mut note).wait()?;
    ENDED_JOBS.each(&store, &All, |_, job| note(job)).wait()?;
    store.engine().close();
    Ok(found)
}
