//! Checks batches against their jobs and deliveries, in both directions.

use super::Report;
use crate::domain::amount::Amount;
use crate::domain::batch::{Batch, BatchProgress};
use crate::domain::delivery::{Delivery, DeliveryId};
use crate::domain::file_batch::Validation;
use crate::domain::ids::{AccountId, BatchId, moment_of};
use crate::domain::job::{Job, JobState};
use crate::domain::time::Timestamp;
use crate::engine::Wait as _;
use crate::store::tables::{
    BATCH_PROGRESS, BATCHES, DELIVERIES, DELIVERIES_FORGOTTEN, ENDED_JOBS, FILE_BATCHES,
    JOBS_FORGOTTEN, LIVE_JOBS,
};
use crate::store::{Store, StoreError};
use std::collections::HashMap;

/// The sums over a batch's jobs.
struct Sums {
    batch: Batch,
    /// The counts and the charges by the jobs.
    progress: BatchProgress,
    price: Amount,
}

pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    let mut sums: HashMap<(AccountId, BatchId), Sums> = HashMap::new();
    BATCHES.visit(store, |key, batch| {
        report.batches += 1;
        let of_batch = Sums {
            batch,
            progress: BatchProgress::of_new(0),
            price: Amount::ZERO,
        };
        sums.insert(key, of_batch);
        Ok(())
    })?;
    let forgotten = (
        JOBS_FORGOTTEN.mark(store).wait()?,
        store.ids_forgotten().wait()?,
    );
    for table in [&LIVE_JOBS, &ENDED_JOBS] {
        table.visit(store, |_, job| {
            add(&job, &mut sums, forgotten, report);
            Ok(())
        })?;
    }
    let kept_since = DELIVERIES_FORGOTTEN.mark(store).wait()?;
    for (key, of_batch) in &sums {
        let id = of_batch.batch.id;
        let Some(progress) = BATCH_PROGRESS.get(store, key).wait()? else {
            report.fault(format!("batch {id} has no progress on record"));
            continue;
        };
        verify_progress(of_batch, &progress, report);
        let owes = of_batch.batch.callback.is_some();
        if let Some(ended) = progress.ended_at.filter(|at| owes && *at >= kept_since)
            && DELIVERIES
                .get(store, &(key.0, DeliveryId(id.0)))
                .wait()?
                .is_none()
        {
            report.fault(format!(
                "batch {id} ended at {ended} and named a callback, and no delivery reports it"
            ));
        }
    }
    BATCH_PROGRESS.visit(store, |key, _| {
        if !sums.contains_key(&key) {
            report.fault(format!(
                "there is progress of batch {}, which does not exist",
                key.1
            ));
        }
        Ok(())
    })?;
    verify_file_batches(store, &sums, report)
}

/// A batch that was submitted as a file exists if the file was accepted.
fn verify_file_batches(
    store: &Store,
    sums: &HashMap<(AccountId, BatchId), Sums>,
    report: &mut Report,
) -> Result<(), StoreError> {
    FILE_BATCHES.visit(store, |key, batch| {
        let is_accepted = matches!(batch.outcome, Validation::Accepted { .. });
        if is_accepted != sums.contains_key(&key) {
            let fault = if is_accepted {
                "was accepted, but does not exist"
            } else {
                "failed, but exists"
            };
            report.fault(format!("batch {}, submitted as a file, {fault}", key.1));
        }
        Ok(())
    })
}

/// `forgotten`: batches that ended before the first time, and whose ids are of an earlier time than the second, may have been deleted,
/// and some of their jobs not. If the clock was set back, such a job may have ended later than its batch.
fn add(
    job: &Job,
    sums: &mut HashMap<(AccountId, BatchId), Sums>,
    (before, ids_before): (Timestamp, Timestamp),
    report: &mut Report,
) {
    let Some(member) = job.member() else {
        return;
    };
    let Some(of_batch) = sums.get_mut(&(job.account, member.batch)) else {
        if let Some(ended) = job.state.finished_at()
            && (ended < before || moment_of(&member.batch.0).is_some_and(|it| it < ids_before))
        {
            return;
        }
        report.fault(format!(
            "job {} is of batch {}, which account {} does not have",
            job.id, member.batch, job.account
        ));
        return;
    };
    let ids = of_batch.batch.first..=of_batch.batch.last;
    if !ids.contains(&job.id) {
        report.fault(format!(
            "job {} is not among the ids of its batch {}",
            job.id, member.batch
        ));
    }
    let count = match job.state {
        JobState::Queued => &mut of_batch.progress.queued,
        JobState::Processing { .. } => &mut of_batch.progress.processing,
        JobState::Done { .. } => &mut of_batch.progress.done,
        JobState::Failed { .. } => &mut of_batch.progress.failed,
    };
    *count = count.saturating_add(1);
    if matches!(job.state, JobState::Done { .. }) {
        super::add(report, &mut of_batch.progress.charged, job.price);
    }
    super::add(report, &mut of_batch.price, job.price);
}

/// The counts and the charges of a batch must match its jobs.
fn verify_progress(of_batch: &Sums, progress: &BatchProgress, report: &mut Report) {
    let Sums {
        batch,
        progress: expected,
        price,
    } = of_batch;
    let id = batch.id;
    let numbers = |it: &BatchProgress| [it.queued, it.processing, it.done, it.failed];
    if numbers(progress) != numbers(expected) {
        report.fault(format!(
            "batch {id} counts {:?} queued, processing, done and failed jobs, it has {:?}",
            numbers(progress),
            numbers(expected)
        ));
    }
    if progress.charged != expected.charged {
        report.fault(format!(
            "batch {id} was charged {}, the prices of its done jobs come to {}",
            progress.charged, expected.charged
        ));
    }
    if u64::from(batch.total) != expected.total() {
        report.fault(format!(
            "batch {id} was accepted with {} jobs, it has {}",
            batch.total,
            expected.total()
        ));
    }
    if batch.price != *price {
        report.fault(format!(
            "batch {id} costs {}, the prices of its jobs come to {price}",
            batch.price
        ));
    }
    let is_over = expected.queued == 0 && expected.processing == 0;
    if is_over != progress.ended_at.is_some() {
        let word = progress.status().as_str();
        report.fault(format!(
            "batch {id} is {word} with jobs {:?}",
            numbers(expected)
        ));
    }
}

/// A batch's delivery requires that the batch has ended.
pub(super) fn verify_batch_delivery(
    store: &Store,
    delivery: &Delivery,
    batch: BatchId,
    report: &mut Report,
) -> Result<(), StoreError> {
    let (id, account) = (delivery.id, delivery.account);
    if id.0 != batch.0 {
        report.fault(format!(
            "delivery {id} is of batch {batch}, whose delivery has the batch's own id"
        ));
    }
    match store.batch(account, batch).wait()? {
        None => report.fault(format!(
            "delivery {id} is of batch {batch}, which account {account} does not have"
        )),
        Some((_, progress)) if progress.ended_at.is_none() => report.fault(format!(
            "delivery {id} is of batch {batch}, which has not ended"
        )),
        Some(_) => {}
    }
    Ok(())
}
