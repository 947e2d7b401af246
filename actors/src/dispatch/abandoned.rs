//! Jobs whose callers waited on connections that are gone.

use crate::account::{AccountCommand, AccountRegistry};
use crate::ports::ImageStore;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::JobEvent;
use tokio::sync::oneshot;

/// Cancels such jobs where they are queued. A failure here trips the fail-stop, or leaves the job to the next start.
pub async fn cancel(
    jobs: impl IntoIterator<Item = (AccountId, JobId)>,
    accounts: &AccountRegistry,
    image_store: &Arc<dyn ImageStore>,
) {
    for (account, job) in jobs {
        let Ok(Some(account)) = accounts.get(account) else {
            continue;
        };
        let (reply, canceled) = oneshot::channel();
        let command = AccountCommand::Apply {
            job,
            event: JobEvent::Cancel,
            note: None,
            reply: reply.into(),
        };
        let _ = account.send(command);
        if let Ok(Ok(job)) = canceled.await {
            image_store.forget_inputs(&job).await;
        }
    }
}
