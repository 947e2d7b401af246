//! Cancels queued jobs whose callers waited on a connection that is lost, or of whose batch a restart interrupted the cancellation.

use super::context::DispatchContext;
use futures_util::{StreamExt as _, stream};
use tintype_storage::domain::ids::{AccountId, JobId};
use tokio::task::spawn_local;

const MAX_CONCURRENT_CANCELLATIONS: usize = 256;

/// Cancels those of the jobs that are queued. A failure trips the fail-stop, or leaves the job to its turn or the next start.
pub async fn cancel(
    jobs: impl IntoIterator<Item = (AccountId, JobId)>,
    dispatch: &DispatchContext,
) {
    let cancel = async |(account, job)| {
        let Ok(Some(handle)) = dispatch.accounts.get_or_start(account).await else {
            return;
        };
        if let Ok(Ok(job)) = handle.abandon(job).await {
            // Spawned, so that a hanging object store does not delay the next cancellation.
            spawn_local(dispatch.job_objects.delete_inputs(&job));
        }
    };
    stream::iter(jobs)
        .for_each_concurrent(MAX_CONCURRENT_CANCELLATIONS, cancel)
        .await;
}
