//! Refreshes this node's copy of the shared queue with the commits of other nodes.

use crate::dispatch::DispatchContext;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

const SHORT_QUEUE_INTERVAL: Duration = Duration::from_millis(250);
const LONG_QUEUE_INTERVAL: Duration = Duration::from_secs(2);
/// Fewest entries of a long queue.
const LONG_QUEUE: usize = 1_000;

/// Runs until it is aborted.
pub async fn run(dispatch: Arc<DispatchContext>) {
    let DispatchContext { process, queue, .. } = &*dispatch;
    loop {
        sleep(match queue.refresh(&process.store).await {
            Ok(0..LONG_QUEUE) => SHORT_QUEUE_INTERVAL,
            Ok(LONG_QUEUE..) => LONG_QUEUE_INTERVAL,
            Err(error) => return process.fail_stop.trip(error.to_string()),
        })
        .await;
    }
}
