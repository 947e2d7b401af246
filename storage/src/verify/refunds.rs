//! Checks the refunds of the ledger against the charges of their jobs and against the recorded sums.

use super::{Report, add, records};
use crate::domain::amount::Amount;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::job::JobStatus;
use crate::engine::Wait as _;
use crate::store::tables::{ACCOUNT_REFUNDS, ENDED_JOBS, JOB_REFUNDS};
use crate::store::{Store, StoreError};
use std::collections::BTreeMap;

/// `of_jobs`: the refunds of each job, by the ledger.
pub(super) fn verify(
    store: &Store,
    of_jobs: &BTreeMap<(AccountId, JobId), Amount>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let mut of_accounts = BTreeMap::<AccountId, Amount>::new();
    for (&(account, job), &refunded) in of_jobs {
        add(report, of_accounts.entry(account).or_default(), refunded);
        verify_job(store, (account, job), refunded, report)?;
    }
    JOB_REFUNDS.visit(store, |key, recorded| {
        let (_, job) = key;
        let refunded = of_jobs.get(&key).copied().unwrap_or_default();
        if recorded != refunded {
            report.fault(differ(&format!("job {job}"), recorded, refunded));
        }
        if ENDED_JOBS.get(store, &key).wait()?.is_none() {
            report.fault(format!(
                "there is a sum of the refunds of job {job}, which does not exist or has not ended"
            ));
        }
        Ok(())
    })?;
    ACCOUNT_REFUNDS.visit(store, |account, recorded| {
        let refunded = of_accounts.remove(&account).unwrap_or_default();
        if recorded != refunded {
            report.fault(differ(&format!("account {account}"), recorded, refunded));
        }
        Ok(())
    })?;
    for (account, refunded) in of_accounts {
        report.fault(differ(
            &format!("account {account}"),
            Amount::ZERO,
            refunded,
        ));
    }
    Ok(())
}

fn differ(whose: &str, recorded: Amount, refunded: Amount) -> String {
    format!("{whose}: refunds are {recorded} by its record, {refunded} by the ledger")
}

/// Checks the refunds of one job against its charge, unless retention has deleted the job.
fn verify_job(
    store: &Store,
    (account, id): (AccountId, JobId),
    refunded: Amount,
    report: &mut Report,
) -> Result<(), StoreError> {
    let Some(job) = ENDED_JOBS.get(store, &(account, id)).wait()? else {
        if !records::may_be_forgotten(store, id.0)? {
            report.fault(format!(
                "account {account}: a refund is of job {id}, which does not exist or has not ended"
            ));
        }
        return Ok(());
    };
    let charge = match job.state.status() {
        JobStatus::Done => job.price,
        JobStatus::Queued | JobStatus::Processing | JobStatus::Failed => Amount::ZERO,
    };
    if refunded > charge {
        report.fault(format!(
            "job {id}: its refunds are {refunded}, more than its charge of {charge}"
        ));
    }
    if JOB_REFUNDS.get(store, &(account, id)).wait()?.is_none() {
        report.fault(differ(&format!("job {id}"), Amount::ZERO, refunded));
    }
    Ok(())
}
