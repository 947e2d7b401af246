//! Refreshes this node's copy of the shared queue with the commits of other nodes.

use crate::fail_stop::FailStop;
use crate::queue::{JobQueues, SharedQueue};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::store::Store;
use tokio::time::sleep;

const SHORT_QUEUE_INTERVAL: Duration = Duration::from_millis(250);
const LONG_QUEUE_INTERVAL: Duration = Duration::from_secs(2);
/// Fewest places of a long queue.
const LONG_QUEUE: usize = 1_000;

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
        sleep(match queue.listed() {
            0..LONG_QUEUE => SHORT_QUEUE_INTERVAL,
            LONG_QUEUE.. => LONG_QUEUE_INTERVAL,
        })
        .await;
    }
}
