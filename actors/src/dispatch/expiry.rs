//! Fails queued jobs that have expired. Any process may have accepted a job, and any process may fail it: failing it twice changes
//! nothing.

use crate::account::NoReply;
use crate::dispatch::DispatchContext;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;
use tokio::task::spawn_local;
use tokio::time::sleep;

/// Expiries that are decided concurrently.
const MAX_CONCURRENT_EXPIRIES: usize = 256;
/// The longest wait between polls. It is at most the shortest `Cancel-After`, so a poll sees each deadline before it is due. The clock
/// may be set meanwhile.
const POLL: Duration = Duration::from_secs(1);
/// The shortest wait between polls, so that many deadlines, or jobs of an overloaded account, cost few reads.
const MIN_POLL: Duration = Duration::from_millis(50);

/// Runs until it is aborted.
pub async fn run(dispatch: Arc<DispatchContext>) {
    loop {
        match expire_due(&dispatch).await {
            Ok(wait) => sleep(wait).await,
            Err(error) => return dispatch.process.fail_stop.trip(error.to_string()),
        }
    }
}

/// Returns the time until the next poll.
async fn expire_due(dispatch: &DispatchContext) -> Result<Duration, StoreError> {
    let process = &dispatch.process;
    // The next page is behind this one even if jobs stay in it, because their account has too many commands.
    let mut last = None;
    loop {
        let page = process
            .store
            .expiries(last, MAX_CONCURRENT_EXPIRIES)
            .await?;
        last = page.last().map(|(key, _)| *key);
        if last.is_none() {
            return Ok(POLL);
        }
        let now = process.now();
        let (due, later) = page.split_at(page.partition_point(|((due, _), _)| *due <= now));
        let expire = |((due, job), account): &_| expire(*due, *job, *account, dispatch);
        join_all(due.iter().map(expire)).await;
        if !later.is_empty() && process.node.is_some() {
            // Nodes poll at different moments, so that they seldom fail the same job.
            return Ok(POLL);
        }
        if let Some(((next, _), _)) = later.first() {
            let left = next.millis().saturating_sub(now.millis()).unsigned_abs();
            return Ok(Duration::from_millis(left).clamp(MIN_POLL, POLL));
        }
    }
}

/// The job of an account with too many commands stays expired, so a later poll fails it.
async fn expire(due: Timestamp, job: JobId, account: AccountId, dispatch: &DispatchContext) {
    let Some(account) = dispatch.account(account).await else {
        return;
    };
    match account.apply(job, JobEvent::Expire { due }, None).await {
        Ok(Ok(job)) => {
            // Spawned, so that a hanging object store does not delay the next expiry.
            spawn_local(dispatch.job_objects.delete_inputs(&job));
        }
        // The job has ended already, or the process stops, or the account has too many commands.
        Ok(Err(_)) | Err(NoReply::Stopping | NoReply::Overloaded(_)) => {}
    }
}
