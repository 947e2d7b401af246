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
        let abandoned = match abandoned_jobs(&process.store).await {
            Ok(abandoned) => abandoned,
            Err(error) => return process.fail_stop.trip(error.to_string()),
        };
        known.retain(|job| abandoned.contains(job));
        let new: Vec<(AccountId, JobId)> = abandoned.difference(&known).copied().collect();
        abandoned_jobs::cancel(new.iter().copied(), &dispatch).await;
        known.extend(new);
    }
}

async fn abandoned_jobs(store: &Store) -> Result<HashSet<(AccountId, JobId)>, StoreError> {
    let callers = WAITING_CALLERS.all(store).await?;
    if callers.is_empty() {
        return Ok(HashSet::new());
    }
    // The nodes are read after the callers, so that the node of each caller is on record unless it has died or left.
    let nodes = NODES
        .all(store)
        .await?
        .into_iter()
        .filter(|(_, node)| !node.has_ended);
    let nodes: HashSet<NodeId> = nodes.map(|(id, _)| id).collect();
    let lost = callers.into_iter();
    let lost = lost.filter(|(_, caller): &(JobId, WaitingCaller)| !nodes.contains(&caller.node));
    Ok(lost.map(|(job, caller)| (caller.account, job)).collect())
}
