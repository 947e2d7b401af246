//! Whether this process can accept jobs: for load balancers, and without a probe for the metrics.

use crate::application::core::Core;
use crate::application::nodes;
use crate::application::services::JobService;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::store::StoreError;
use tokio::time::{sleep, timeout};

/// How long the store may take to respond.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// How old the outcome of the last probe may be that [`is_ready`] uses.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);

/// Why the process cannot accept jobs; `None` if it can: its store is readable and writable, its object store responds and has space, and
/// it has joined the other nodes, if there are any.
pub async fn reason_not_ready(jobs: &JobService) -> Result<Option<String>, StoreError> {
    let core = &jobs.core;
    if let Some(why) = reason_of_process(core) {
        return Ok(Some(why));
    }
    match timeout(READ_TIMEOUT, core.store.pause()).await {
        Ok(read) => drop(read?),
        // Other calls wait out a database outage, but a load balancer must know of it.
        Err(_) => {
            let why = "the service cannot read its records: the database does not respond";
            return Ok(Some(why.into()));
        }
    }
    let probe = jobs.objects.recent_probe().await;
    Ok(probe.err().map(str::to_owned))
}

/// The same from what is known now.
pub fn is_ready(jobs: &JobService) -> bool {
    let core = &jobs.core;
    reason_of_process(core).is_none()
        && core.store.engine().outage().is_none()
        && jobs.objects.is_usable()
}

fn reason_of_process(core: &Core) -> Option<String> {
    if core.fail_stop.has_tripped() {
        return Some("the service cannot write its records and is stopping; see its log".into());
    }
    if core.is_draining() {
        return Some("this node is stopping".into());
    }
    nodes::reason_not_ready(core)
}

/// Keeps the answer of [`is_ready`] recent where no load balancer asks. Runs until the process stops.
pub async fn watch(jobs: Arc<JobService>) {
    while !jobs.core.is_ending() {
        sleep(PROBE_INTERVAL).await;
        // It logs its failures.
        let _ = jobs.objects.recent_probe().await;
    }
}
