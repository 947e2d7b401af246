//! Looks for queued jobs whose time is up. Any node may have accepted them, and any node fails them: to do so twice changes nothing.

use crate::account::AccountRegistry;
use crate::queue::Expiry;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const LOOK: Duration = Duration::from_secs(1);
/// Jobs that are looked at in one step.
const STEP: usize = 256;

/// Runs until it is aborted.
pub async fn look(accounts: Arc<AccountRegistry>) {
    let context = accounts.context();
    loop {
        sleep(LOOK).await;
        match context.store.expiries_until((context.clock)(), STEP).await {
            Ok(due) => {
                let due = due
                    .into_iter()
                    .map(|(due, job, account)| Expiry { due, job, account });
                context.expiries.add_all(due);
            }
            Err(error) => return context.fail_stop.trip(error.to_string()),
        }
    }
}
