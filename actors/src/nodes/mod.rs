//! Several nodes on one store: their membership, the jobs that each of them takes, and the takeover of the jobs of dead nodes.
//!
//! Nodes do not talk to each other. Each decision about an account is a round that holds the account's record; any node may make it.
//! A node owns only the jobs that it has taken from the shared queue, and losing them costs nothing. It writes heartbeats to the store.
//! The others watch these with their own clocks, so clocks of different nodes are never compared.

mod adoption;
mod disconnected_callers;
mod heartbeat;
mod job_taker;
pub mod locks;
mod membership;
mod queue_refresh;
mod shard_keeper;
mod shared_slots;
mod takeover;

pub(crate) use membership::{leave, return_jobs};
pub(crate) use shard_keeper::pending_deliveries;

use crate::delivery::DeliveryActor;
use crate::dispatch::DispatchContext;
use crate::node::NodeContext;
use actix::Addr;
use job_taker::JobTaker;
use membership::Membership;
use shard_keeper::ShardKeeper;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Starts the tasks of one of several nodes.
pub(crate) fn start(
    node: &Arc<NodeContext>,
    dispatch: &Arc<DispatchContext>,
    deliveries: &Addr<DeliveryActor>,
) -> Vec<JoinHandle<()>> {
    let membership = Membership {
        node: Arc::clone(node),
        process: Arc::clone(&dispatch.process),
        local_queue: Arc::clone(&dispatch.local_queue),
    };
    let taker = JobTaker {
        node: Arc::clone(node),
        dispatch: Arc::clone(dispatch),
    };
    let keeper = ShardKeeper {
        node: Arc::clone(node),
        process: Arc::clone(&dispatch.process),
        deliveries: deliveries.clone(),
    };
    vec![
        actix::spawn(membership.run()),
        actix::spawn(taker.run()),
        actix::spawn(keeper.run()),
        actix::spawn(disconnected_callers::poll(Arc::clone(dispatch))),
        actix::spawn(queue_refresh::run(Arc::clone(dispatch))),
    ]
}
