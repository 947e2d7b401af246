//! Polls for expired queued jobs. Any node may have accepted a job, and any node may fail it: failing it twice changes nothing.

use crate::account::AccountRegistry;
use crate::queue::Expiry;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const POLL: Duration = Duration::from_secs(1);
/// Jobs per poll.
const LIMIT: usize = 256;

/// Runs until it is aborted.
pub async fn poll(accounts: Arc<AccountRegistry>) {
    let context = accounts.context();
    let process = &context.process;
    loop {
        sleep(POLL).await;
        match process.store.expiries_until(process.now(), LIMIT).await {
            Ok(due) => {
                let due = due
                    .into_iter()
                    .map(|(due, job, account)| Expiry { due, job, account });
                context.expiries.add_all(due);
            }
            Err(error) => return process.fail_stop.trip(error.to_string()),
        }
    }
}
