//! Keeps this node's copy of the shared queue close to what other nodes have made of it.

use crate::fail_stop::FailStop;
use crate::queue::{JobQueues, SharedQueue};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::store::Store;
use tokio::time::sleep;

/// Between two reads of a short queue.
const SOON: Duration = Duration::from_millis(250);
/// Between two reads of a long one.
const LATER: Duration = Duration::from_secs(2);
/// Places of a long queue.
const LONG: usize = 1_000;

/// Runs until it is aborted.
pub async fn run(
    queue: Arc<SharedQueue>,
    queues: Arc<JobQueues>,
    store: Store,
    fail_stop: FailStop,
) {
    loop {
        if let Err(error) = queue.refresh(&store, queues.turns()).await {
            return fail_stop.trip(error.to_string());
        }
        let is_long = queue.listed() >= LONG;
        sleep(if is_long { LATER } else { SOON }).await;
    }
}
