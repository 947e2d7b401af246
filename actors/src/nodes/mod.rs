//! Several nodes on one store: which of them live, which jobs each of them takes, and what becomes of the jobs of one that died.
//!
//! Nodes do not talk to each other. Each decision about an account is a round that holds the account's record; any node
//! may make it. A node owns only what costs nothing to lose: the jobs that it has taken from the shared queue. It shows that it lives by a
//! beat in the store; the others watch it with their own clocks, so no clock is compared with another node's.

mod adoption;
mod beat;
mod expiry;
mod gone_callers;
mod living_nodes;
pub mod locks;
mod membership;
mod places;
mod queue_refresh;
mod rescue;
mod shards;
mod take;

pub(crate) use membership::leave;
pub(crate) use shards::pending_deliveries;

use crate::account::AccountRegistry;
use crate::delivery::DeliveryActor;
use crate::dispatch::DispatchContext;
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use actix::Addr;
use membership::Membership;
use shards::ShardKeeper;
use std::sync::Arc;
use take::Taker;
use tintype_storage::store::Store;
use tokio::task::JoinHandle;

/// Starts what a node does as one of several: its beats, its takes, the shards that it holds, and its looks for expired
/// jobs.
pub(crate) fn start(
    node: &Arc<NodeContext>,
    store: &Store,
    accounts: &Arc<AccountRegistry>,
    dispatch: &Arc<DispatchContext>,
    deliveries: &Addr<DeliveryActor>,
    fail_stop: &FailStop,
) -> Vec<JoinHandle<()>> {
    let membership = Membership {
        node: Arc::clone(node),
        store: store.clone(),
        queues: Arc::clone(&dispatch.queues),
        stats: Arc::clone(&dispatch.stats),
        fail_stop: fail_stop.clone(),
    };
    let taker = Taker {
        node: Arc::clone(node),
        store: store.clone(),
        dispatch: Arc::clone(dispatch),
        fail_stop: fail_stop.clone(),
    };
    let keeper = ShardKeeper {
        node: Arc::clone(node),
        store: store.clone(),
        deliveries: deliveries.clone(),
        fail_stop: fail_stop.clone(),
    };
    let refresh = accounts.context().shared_queue.as_ref().map(|queue| {
        let (queue, queues) = (Arc::clone(queue), Arc::clone(&dispatch.queues));
        queue_refresh::run(queue, queues, store.clone(), fail_stop.clone())
    });
    let mut tasks = vec![
        actix::spawn(membership.run()),
        actix::spawn(taker.run()),
        actix::spawn(keeper.run()),
        actix::spawn(expiry::look(Arc::clone(accounts))),
        actix::spawn(gone_callers::look(
            store.clone(),
            Arc::clone(accounts),
            Arc::clone(dispatch),
            fail_stop.clone(),
        )),
    ];
    tasks.extend(refresh.map(actix::spawn));
    tasks
}
