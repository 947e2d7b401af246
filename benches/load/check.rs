//! Checks that everything a server acknowledged is on disk: the run reports no figure of lost work.

use crate::server::{ChildServer, WriteTotals};
use anyhow::ensure;
use std::path::Path;
use std::sync::Arc;
use tintype_storage::domain::delivery::DeliveryState;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::store::tables::DELIVERIES;
use tintype_storage::store::{All, Store};
use tintype_storage::verify::{Report, verify};

/// Opens the store of a data directory whose server has stopped.
pub fn open(data_dir: &Path) -> anyhow::Result<Store> {
    let engine = SledEngine::open(&data_dir.join("store"), SledOptions::new(Arc::new(|_| {})))?;
    Ok(Store::new(Arc::new(engine)))
}

/// The number of deliveries recorded as delivered.
pub fn delivered(store: &Store) -> anyhow::Result<usize> {
    let mut count = 0;
    DELIVERIES
        .each(store, &All, |_, delivery| {
            count += usize::from(matches!(delivery.state, DeliveryState::Delivered { .. }));
            Ok(())
        })
        .wait()?;
    Ok(count)
}

/// Stops a Tintype and verifies its records. The store must have exactly as many jobs as the server answered `202`.
///
/// # Errors
/// The records are inconsistent, or the number of jobs differs.
pub fn end(
    server: ChildServer,
    data_dir: &Path,
    accepted: usize,
) -> anyhow::Result<(WriteTotals, Report)> {
    let written = server.end_tintype()?;
    let report = audit(&open(data_dir)?)?;
    ensure_count(&report, accepted)?;
    Ok((written, report))
}

/// Verifies the records of a store and closes it.
///
/// # Errors
/// The records are inconsistent.
pub fn audit(store: &Store) -> anyhow::Result<Report> {
    let report = verify(store, |_| {})?;
    store.engine().close();
    ensure!(
        report.faults.is_empty(),
        "the records are wrong: {:?}",
        report.faults
    );
    Ok(report)
}

/// The store must have exactly as many jobs as the server answered `202`.
pub fn ensure_count(report: &Report, accepted: usize) -> anyhow::Result<()> {
    let jobs = report.live_jobs + report.ended_jobs;
    ensure!(
        jobs == accepted as u64,
        "{accepted} jobs were answered 202, and {jobs} are on record"
    );
    Ok(())
}
