//! Cancels queued jobs whose callers waited on a connection to a node that has died or left. Any node may cancel them.

use crate::dispatch::{DispatchContext, abandoned_jobs};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId, NodeId};
use tintype_storage::domain::node::WaitingCaller;
use tintype_storage::store::tables::{NODES, WAITING_CALLERS};
use tintype_storage::store::{Store, StoreError};
use tokio::time::sleep;

const POLL: Duration = Duration::from_secs(1);

/// Runs until it is aborted.
pub async fn poll(dispatch: Arc<DispatchContext>) {
    let process = &dispatch.process;
    // Running jobs go on; each is checked once.
    let mut known = HashSet::new();
    loop {
        sleep(POLL).await;
        let abandoned = match find_abandoned_jobs(&process.store).await {
            Ok(abandoned) => abandoned,
            Err(error) => return process.fail_stop.trip(error.to_string()),
        };
        known.retain(|job| abandoned.contains(job));
        let new: Vec<(AccountId, JobId)> = abandoned.difference(&known).copied().collect();
        abandoned_jobs::cancel(new.iter().copied(), &dispatch).await;
        known.extend(new);
    }
}

async fn find_abandoned_jobs(store: &Store) -> Result<HashSet<(AccountId, JobId)>, StoreError> {
    let callers = WAITING_CALLERS.all(store).await?;
    if callers.is_empty() {
        return Ok(HashSet::new());
    }
    // The nodes are read after the callers, so that the node of each caller is on record unless it has died or left.
    let nodes = NODES.all(store).await?.into_iter();
    let alive: HashSet<NodeId> = nodes
        .filter(|(_, node)| !node.has_ended)
        .map(|(id, _)| id)
        .collect();
    let callers = callers.into_iter();
    let lost = callers.filter(|(_, it): &(JobId, WaitingCaller)| !alive.contains(&it.node));
    Ok(lost.map(|(job, it)| (it.account, job)).collect())
}
