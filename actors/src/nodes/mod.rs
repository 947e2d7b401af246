//! Several nodes on one store: their membership, the jobs that each of them takes, and the takeover of the jobs of dead nodes.
//!
//! Nodes do not talk to each other. Each decision about an account is a round that holds the account's record; any node may make it.
//! A node owns only the jobs that it has taken from the shared queue, and losing them costs nothing. It writes heartbeats to the store.
//! The others watch these with their own clocks, so clocks of different nodes are never compared.

mod adoption;
mod disconnected_callers;
mod expiry;
mod heartbeat;
mod job_taker;
mod living_nodes;
pub mod locks;
mod membership;
mod queue_refresh;
mod shard_keeper;
mod shared_slots;
mod takeover;

pub(crate) use membership::leave;
pub(crate) use shard_keeper::pending_deliveries;

use crate::account::AccountRegistry;
use crate::delivery::DeliveryActor;
use crate::dispatch::DispatchContext;
use crate::fail_stop::FailStop;
use crate::node::NodeContext;
use actix::Addr;
use job_taker::JobTaker;
use membership::Membership;
use shard_keeper::ShardKeeper;
use std::sync::Arc;
use tintype_storage::store::Store;
use tokio::task::JoinHandle;

/// Starts the tasks of one of several nodes.
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
        stats: Arc::clone(&dispatch.process.stats),
        fail_stop: fail_stop.clone(),
    };
    let taker = JobTaker {
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
        actix::spawn(expiry::poll(Arc::clone(accounts))),
        actix::spawn(disconnected_callers::poll(
            store.clone(),
            Arc::clone(accounts),
            Arc::clone(dispatch),
            fail_stop.clone(),
        )),
    ];
    tasks.extend(refresh.map(actix::spawn));
    tasks
}
