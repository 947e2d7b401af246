//! Looks for jobs whose callers waited on a connection to a node that is gone. Those that are queued are canceled; any node may do so.

use crate::account::AccountRegistry;
use crate::dispatch::{DispatchContext, detached_jobs};
use crate::fail_stop::FailStop;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::{AccountId, JobId, NodeId};
use tintype_storage::domain::node::WaitingCaller;
use tintype_storage::engine::Direction;
use tintype_storage::store::tables::{NODES, WAITING_CALLERS};
use tintype_storage::store::{All, Store, StoreError};
use tokio::time::sleep;

const LOOK: Duration = Duration::from_secs(1);

/// Runs until it is aborted.
pub async fn look(
    store: Store,
    accounts: Arc<AccountRegistry>,
    dispatch: Arc<DispatchContext>,
    fail_stop: FailStop,
) {
    // Those that run go on, and are not looked at again.
    let mut known = HashSet::new();
    loop {
        sleep(LOOK).await;
        let gone = match of_gone_nodes(&store).await {
            Ok(gone) => gone,
            Err(error) => return fail_stop.trip(error.to_string()),
        };
        known.retain(|job| gone.contains(job));
        let new: Vec<(AccountId, JobId)> = gone.difference(&known).copied().collect();
        detached_jobs::cancel(new.iter().copied(), &accounts, &dispatch.image_store).await;
        known.extend(new);
    }
}

async fn of_gone_nodes(store: &Store) -> Result<HashSet<(AccountId, JobId)>, StoreError> {
    let all = WAITING_CALLERS.range(&All);
    let callers = WAITING_CALLERS.scan(store, &all, Direction::Rising, usize::MAX);
    let callers = callers.await?;
    if callers.is_empty() {
        return Ok(HashSet::new());
    }
    // Read afterwards, so that a node whose caller was found is on record unless it is gone.
    let all = NODES.range(&All);
    let nodes = NODES
        .scan(store, &all, Direction::Rising, usize::MAX)
        .await?;
    let nodes = nodes.into_iter().filter(|(_, node)| !node.has_ended);
    let nodes: HashSet<NodeId> = nodes.map(|(id, _)| id).collect();
    let gone = callers.into_iter();
    let gone = gone.filter(|(_, caller): &(JobId, WaitingCaller)| !nodes.contains(&caller.node));
    Ok(gone.map(|(job, caller)| (caller.account, job)).collect())
}
