//! Fails queued jobs that have expired. `run` is for a single process, which has all expiries in memory.

use crate::account::{AccountCommand, NoReply};
use crate::dispatch::DispatchContext;
use crate::queue::Expiry;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

/// Expiries that are decided concurrently.
pub const MAX_CONCURRENT_EXPIRIES: usize = 256;
/// While an expiry is recorded, the clock is read this often, because it may be set.
const CLOCK_POLL: Duration = Duration::from_secs(1);

/// Runs for as long as the process.
pub async fn run(dispatch: Arc<DispatchContext>) {
    let context = dispatch.accounts.context();
    loop {
        let now = context.process.now();
        let due = context.expiries.take_due(now, MAX_CONCURRENT_EXPIRIES);
        if !due.is_empty() {
            join_all(due.into_iter().map(|it| expire_or_retry(it, &dispatch))).await;
            continue;
        }
        match context.expiries.next_due() {
            None => context.expiries.added().await,
            Some(next) => {
                let left = next.millis().saturating_sub(now.millis());
                let left = Duration::from_millis(left.unsigned_abs()).min(CLOCK_POLL);
                let _ = timeout(left, context.expiries.added()).await;
            }
        }
    }
}

async fn expire_or_retry(expiry: Expiry, dispatch: &DispatchContext) {
    if !expire(expiry, dispatch).await {
        sleep(CLOCK_POLL).await;
        dispatch.accounts.context().expiries.add_all([expiry]);
    }
}

/// Returns false if the account has too many commands. The job stays expired, so a later try fails it.
pub async fn expire(expiry: Expiry, dispatch: &DispatchContext) -> bool {
    let Some(account) = dispatch.account(expiry.account).await else {
        return true;
    };
    let Expiry { job, due, .. } = expiry;
    let expired = account.call(|reply| AccountCommand::Expire { job, due, reply });
    match expired.await {
        Ok(Ok(job)) => {
            // Spawned, so that a hanging object store does not delay the next expiry.
            spawn_local(dispatch.job_objects.delete_inputs(&job));
        }
        Err(NoReply::Overloaded(_)) => return false,
        // The job has ended already, or the process stops.
        Ok(Err(_)) | Err(NoReply::Stopping) => {}
    }
    true
}
