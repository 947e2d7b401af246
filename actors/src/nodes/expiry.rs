//! Polls for expired queued jobs, and fails them. Any node may have accepted a job, and any node may fail it: failing it twice changes
//! nothing.

use crate::dispatch::DispatchContext;
use crate::dispatch::expiry::{MAX_CONCURRENT_EXPIRIES, expire};
use crate::queue::Expiry;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::store::StoreError;
use tokio::time::sleep;

const POLL: Duration = Duration::from_secs(1);

/// Runs until it is aborted.
pub async fn poll(dispatch: Arc<DispatchContext>) {
    loop {
        sleep(POLL).await;
        if let Err(error) = expire_due(&dispatch).await {
            return dispatch.process.fail_stop.trip(error.to_string());
        }
    }
}

async fn expire_due(dispatch: &DispatchContext) -> Result<(), StoreError> {
    let process = &dispatch.process;
    // The next page is behind this one even if jobs stay in it, because their account has too many commands.
    let mut last = None;
    loop {
        let due = process
            .store
            .expiries_until(last, process.now(), MAX_CONCURRENT_EXPIRIES);
        let due = due.await?;
        let is_last = due.len() < MAX_CONCURRENT_EXPIRIES;
        last = due.last().map(|(due, job, _)| (*due, *job));
        let expire = |(due, job, account)| expire(Expiry { due, job, account }, dispatch);
        join_all(due.into_iter().map(expire)).await;
        if is_last {
            return Ok(());
        }
    }
}
