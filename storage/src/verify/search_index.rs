//! Checks the search index against the prompts of the indexed jobs.

use super::Report;
use crate::domain::ids::{AccountId, JobId};
use crate::domain::search_block::{MAX_JOBS, SearchBlock};
use crate::engine::Wait as _;
use crate::store::tables::SEARCH_INDEX;
use crate::store::{Part, Store, StoreError};
use uuid::Uuid;

/// Jobs after the last block of their account are not indexed yet.
pub(super) fn verify(store: &Store, report: &mut Report) -> Result<(), StoreError> {
    // A job may be deleted while the index is extended. The block then has words too many.
    let kept_since = JobId::first_of(store.ids_forgotten().wait()?);
    let mut before: Option<(AccountId, JobId)> = None;
    SEARCH_INDEX
        .visit(store, |(account, last), block| {
            let end = before.filter(|it| it.0 == account).map(|it| it.1);
            if !is_right(store, account, end, last, &block)? && block.first >= kept_since {
                report.fault(format!(
                    "the search index of account {account} differs from the prompts of its jobs up to {last}"
                ));
            }
            before = Some((account, last));
            Ok(())
        })
}

/// Does a block contain exactly the words of the jobs after the previous block, up to its last one?
fn is_right(
    store: &Store,
    account: AccountId,
    end: Option<JobId>,
    last: JobId,
    block: &SearchBlock,
) -> Result<bool, StoreError> {
    let from = end.map_or(JobId(Uuid::nil()), JobId::next);
    let jobs = store
        .rising_jobs_of(account, Part::All, from, last, MAX_JOBS + 1)
        .wait()?;
    let is_last = jobs.last().is_some_and(|job| job.id == last);
    Ok(is_last && jobs.len() <= MAX_JOBS && block.is_of(&jobs))
}
