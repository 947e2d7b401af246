//! A process as one of several nodes.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, Plan, World, quick, run, settle, until};
use std::time::Duration;
use tintype_actors::nodes::locks::{self, LockOutcome};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::lock::LockName;
use tintype_storage::domain::node::Node;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{NODES, TAKEN_JOBS};
use tokio::time::sleep;

fn record(world: &World, node: NodeId) -> Option<Node> {
    NODES.get(&world.store, &node).wait().expect("readable")
}

#[test]
fn a_stopping_node_stays_alive_for_its_calls_until_it_leaves() {
    run(async {
        let world = Plan::with(quick(), 1).among_nodes().start();
        world.system.joined().await.expect("it joins");
        let node = world.system.node().expect("a node").id;
        world.system.drain(Duration::ZERO).await;
        world.system.return_jobs().await;
        let beat = record(&world, node).expect("on record").beat;
        until("it reports that it leaves", || {
            record(&world, node).is_some_and(|it| it.is_leaving && it.beat > beat)
        })
        .await;
        let taken = locks::take(&world.store, node, LockName::Operator).await;
        assert_eq!(taken.expect("readable"), LockOutcome::Yes { newest: None });
        let release = locks::release(LockName::Operator, None);
        world.store.commit(vec![release], |_| ());
        world.system.leave().await;
        assert_eq!(record(&world, node), None);
        // Longer than the heartbeat interval: a heartbeat without a record would trip it.
        sleep(Duration::from_secs(5)).await;
        assert!(!world.fail_stop.has_tripped());
    });
}

/// As with a database that answers nothing.
#[test]
fn a_stop_does_not_wait_for_a_take_that_hangs() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Take(Duration::from_secs(1)));
        let world = Plan::with(generator.clone(), 1).among_nodes().start();
        world.system.joined().await.expect("it joins");
        let first = world.accept(A, Tier::Fast, "first").await;
        until("it runs", || generator.running() == 1).await;
        let next = world.accept(A, Tier::Fast, "next").await;
        world.engine.hold();
        let node = world.system.node().expect("a node");
        until("a take hangs", || node.taking.try_lock().is_err()).await;
        world.system.drain(Duration::ZERO).await;
        world.engine.open();
        world.done(first).await;
        world.system.return_jobs().await;
        let taken = TAKEN_JOBS.all(&world.store).wait().expect("readable");
        assert_eq!(taken.len(), 0, "{taken:?}");
        settle().await;
        assert_eq!(world.state(next), JobState::Queued);
        world.system.leave().await;
        assert_eq!(record(&world, node.id), None);
        world.check();
    });
}
