//! Recovery at the start: counts every live job in the state of its account, and queues it again.

use crate::account::AccountRegistry;
use crate::queue::{Expiry, QueuedJob};
use tintype_storage::domain::ids::{AccountId, IdSource};
use tintype_storage::domain::job::{JobState, Origin};
use tintype_storage::domain::{ids, job::Job};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{AccountState, Part, Store, StoreError};
use uuid::Uuid;

/// The live jobs of the store.
#[derive(Default)]
pub struct LiveJobs {
    /// Jobs that had begun a run before the restart. They go first.
    pub begun: Vec<QueuedJob>,
    /// Queued jobs, per account in the order of acceptance.
    pub waiting: Vec<QueuedJob>,
    /// Queued jobs to cancel: their callers waited on connections that are lost.
    pub abandoned: Vec<Job>,
}

/// Starts the actors of all accounts with live jobs, and returns these jobs.
pub fn recover(store: &Store, accounts: &AccountRegistry) -> Result<LiveJobs, StoreError> {
    let (mut begun, mut waiting, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
    let mut current: Option<(AccountId, AccountState)> = None;
    store
        .each_live_job(|job| {
            if current
                .as_ref()
                .is_none_or(|(account, _)| *account != job.account)
            {
                finish(current.take(), accounts)?;
                current = Some((job.account, state_of(store, &job)?));
            }
            if let Some((_, state)) = &mut current {
                state.count_live(&job);
            }
            accounts
                .context()
                .process
                .ids
                .raise(ids::moment_of(&job.id.0).unwrap_or(job.created_at));
            let has_begun = matches!(job.state, JobState::Processing { .. });
            let jobs = match (has_begun, &job.origin) {
                (true, _) => &mut begun,
                (false, Origin::Native | Origin::Batch(_)) => &mut waiting,
                (false, Origin::Synchronous) => {
                    abandoned.push(job);
                    return Ok(());
                }
            };
            jobs.push(QueuedJob::from(&job));
            Ok(())
        })
        .wait()?;
    finish(current, accounts)?;
    let mut expiring = Vec::new();
    store
        .each_expiry(|due, job, account| {
            expiring.push(Expiry { due, job, account });
            Ok(())
        })
        .wait()?;
    accounts.context().expiries.add_all(expiring);
    raise_ids(store, &accounts.context().process.ids)?;
    Ok(LiveJobs {
        begun,
        waiting,
        abandoned,
    })
}

/// New ids must sort after all earlier ones, even if the clock was set back while the process was down: lists of ledger entries, jobs
/// and deliveries are in the order of ids, and the webhook with the lowest id is the oldest.
fn raise_ids(store: &Store, ids: &IdSource) -> Result<(), StoreError> {
    let raise = |id: &Uuid, made_at| ids.raise(ids::moment_of(id).unwrap_or(made_at));
    store
        .each_account(|account| {
            raise(&account.id.0, account.created_at);
            if let Some(line) = store.ledger(account.id, 1, None).wait()?.items.first() {
                raise(&line.id.0, line.created_at);
            }
            let ended = store
                .jobs_of(account.id, Part::Ended, None, None, 1)
                .wait()?;
            if let Some(job) = ended.first() {
                raise(&job.id.0, job.created_at);
            }
            if let Some(webhook) = store.newest_webhook(account.id).wait()? {
                raise(&webhook.id.0, webhook.created_at);
            }
            Ok(())
        })
        .wait()?;
    if let Some(delivery) = store.deliveries(1, None).wait()?.items.first() {
        raise(&delivery.id.0, delivery.created_at);
    }
    // The audit log covers every other record that the operator has created, such as a key.
    if let Some(line) = store.audit_log(1, None).wait()?.items.first() {
        raise(&line.id.0, line.at);
    }
    Ok(())
}

fn state_of(store: &Store, job: &Job) -> Result<AccountState, StoreError> {
    let account = store
        .account(job.account)
        .wait()?
        .ok_or_else(|| StoreError::Inconsistent {
            account: job.account,
            fault: format!("job {} belongs to it, but there is no such account", job.id),
        })?;
    Ok(AccountState::without_jobs(account))
}

fn finish(
    state: Option<(AccountId, AccountState)>,
    accounts: &AccountRegistry,
) -> Result<(), StoreError> {
    state.map_or(Ok(()), |(_, state)| accounts.start_with(state))
}
