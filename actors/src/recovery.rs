//! What a start finds: every job that is not terminal, counted into its account's book and put back in its place.

use crate::accounts::Accounts;
use crate::queues::QueuedJob;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::job::{JobState, Origin};
use tintype_storage::domain::{ids, job::Job};
use tintype_storage::store::{AccountBook, Store, StoreError};

/// The live jobs of the store.
pub struct Recovered {
    /// To be made, and before the others: those that had begun before the restart.
    pub begun: Vec<QueuedJob>,
    /// To be made: the others, each account's in order of acceptance.
    pub waiting: Vec<QueuedJob>,
    /// To be canceled: their callers waited on a connection, which is gone, and nothing has begun.
    pub abandoned: Vec<Job>,
}

/// Starts the actors of all accounts that have live jobs and returns those jobs.
pub fn recover(store: &Store, accounts: &Accounts) -> Result<Recovered, StoreError> {
    let (mut begun, mut waiting, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
    let mut current: Option<(AccountId, AccountBook)> = None;
    store.each_live_job(|job| {
        if current
            .as_ref()
            .is_none_or(|(account, _)| *account != job.account)
        {
            finish(current.take(), accounts)?;
            current = Some((job.account, book_of(store, &job)?));
        }
        if let Some((_, book)) = &mut current {
            book.count_live(&job);
        }
        accounts
            .context()
            .ids
            .raise(ids::moment_of(&job.id.0).unwrap_or(job.created_at));
        let has_begun = matches!(job.state, JobState::Processing { .. });
        let line = match (has_begun, job.origin) {
            (true, _) => &mut begun,
            (false, Origin::Native) => &mut waiting,
            (false, Origin::Synchronous) => {
                abandoned.push(job);
                return Ok(());
            }
        };
        line.push(QueuedJob::from(&job));
        Ok(())
    })?;
    finish(current, accounts)?;
    // A ledger's lines are in the order of their ids, so new ones must sort after the last of each, even if the clock was
    // set back while the process was away.
    store.each_account(|account| {
        if let Some(line) = store.ledger(account.id, 1, None)?.items.first() {
            let moment = ids::moment_of(&line.id.0).unwrap_or(line.created_at);
            accounts.context().ids.raise(moment);
        }
        // And an account's webhooks in the order of theirs: the first one receives what names no other.
        if let Some(webhook) = store.newest_webhook(account.id)? {
            let moment = ids::moment_of(&webhook.id.0).unwrap_or(webhook.created_at);
            accounts.context().ids.raise(moment);
        }
        Ok(())
    })?;
    Ok(Recovered {
        begun,
        waiting,
        abandoned,
    })
}

fn book_of(store: &Store, job: &Job) -> Result<AccountBook, StoreError> {
    let account = store
        .account(job.account)?
        .ok_or_else(|| StoreError::Books {
            account: job.account,
            fault: format!("job {} belongs to it, but there is no such account", job.id),
        })?;
    Ok(AccountBook::without_jobs(account))
}

fn finish(book: Option<(AccountId, AccountBook)>, accounts: &Accounts) -> Result<(), StoreError> {
    book.map_or(Ok(()), |(_, book)| accounts.start_with(book))
}
