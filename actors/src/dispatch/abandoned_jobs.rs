//! Jobs whose callers waited on a connection that is lost.

use crate::account::AccountRegistry;
use crate::ports::JobObjects;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};

/// Cancels those of the jobs that are queued. A failure trips the fail-stop, or leaves the job to the next start.
pub async fn cancel(
    jobs: impl IntoIterator<Item = (AccountId, JobId)>,
    accounts: &AccountRegistry,
    job_objects: &Arc<dyn JobObjects>,
) {
    for (account, job) in jobs {
        let Ok(Some(account)) = accounts.get(account).await else {
            continue;
        };
        if let Ok(Ok(job)) = account.cancel(job, None).await {
            job_objects.delete_inputs(&job).await;
        }
    }
}
