//! A process as one of several nodes.

use crate::generators::{Act, ScriptedGenerator};
use crate::world::{A, B, Plan, World, fresh, quick, run, settle, until};
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::nodes::locks::{self, LockOutcome};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::job::{EXPIRED, JobState};
use tintype_storage::domain::lock::LockName;
use tintype_storage::domain::node::Node;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::{
    Commit, Direction, Engine, EngineStats, KeyRange, Pairs, Read, Round, Snapshot, SnapshotError,
    Value, Wait as _,
};
use tintype_storage::store::tables::{NODES, TAKEN_JOBS};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::watch;
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

#[test]
fn all_due_jobs_expire_in_one_poll() {
    run(async {
        let generator = ScriptedGenerator::always(Act::Hang);
        let world = Plan::with(generator.clone(), 1).among_nodes().start();
        world.system.joined().await.expect("it joins");
        world.accept(A, Tier::Fast, "running").await;
        until("it runs", || generator.running() == 1).await;
        let soon = Some(Duration::from_millis(1));
        // More than a page.
        let late = (0..600).map(|_| world.send_until(A, Tier::Fast, "late", soon));
        let mut jobs = Vec::new();
        for answer in late.collect::<Vec<_>>() {
            jobs.push(answer.await.expect("an answer").expect("accepted").job);
        }
        assert_eq!(world.failure(jobs[0]).await, EXPIRED);
        settle().await;
        let left = jobs.iter().filter(|it| !world.state(**it).is_terminal());
        assert_eq!(left.count(), 0);
        world.check();
    });
}

/// Answers no read while it is silent, as a database behind a broken network.
struct SilentEngine {
    inner: Arc<MemoryEngine>,
    is_silent: watch::Sender<bool>,
}

impl SilentEngine {
    fn answer<T: Send + 'static>(
        &self,
        read: impl FnOnce(&MemoryEngine) -> Read<T> + Send + 'static,
    ) -> Read<T> {
        if !*self.is_silent.borrow() {
            return read(&self.inner);
        }
        let (inner, mut is_silent) = (Arc::clone(&self.inner), self.is_silent.subscribe());
        Read::Pending(Box::pin(async move {
            let _ = is_silent.wait_for(|it| !*it).await;
            read(&inner).await
        }))
    }
}

impl Engine for SilentEngine {
    fn get(&self, key: &[u8]) -> Read<Option<Value>> {
        let key = key.to_vec();
        self.answer(move |it| it.get(&key))
    }

    fn scan(&self, range: &KeyRange, direction: Direction, limit: usize) -> Read<Pairs> {
        let range = range.clone();
        self.answer(move |it| it.scan(&range, direction, limit))
    }

    fn round(self: Arc<Self>, round: Box<dyn Round>) {
        Arc::clone(&self.inner).round(round);
    }

    fn submit(&self, commit: Commit) {
        self.inner.submit(commit);
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        Arc::clone(&self.inner).snapshot()
    }

    fn stats(&self) -> EngineStats {
        self.inner.stats()
    }

    fn close(&self) {}
}

#[test]
fn an_account_that_cannot_be_read_blocks_no_thread() {
    run(async {
        let engine = Arc::new(SilentEngine {
            inner: fresh("100"),
            is_silent: watch::Sender::new(false),
        });
        let plan = Plan::over(Arc::clone(&engine) as _, quick(), 1);
        let world = plan.among_nodes().start();
        world.system.joined().await.expect("it joins");
        world.done(world.accept(B, Tier::Fast, "a fox").await).await;
        engine.is_silent.send_replace(true);
        let accounts = world.system.accounts();
        let reads = [(); 2].map(|()| Box::pin(accounts.get_or_start(A)));
        let mut both = join_all(reads);
        assert!((&mut both).now_or_never().is_none());
        let other = accounts.get_or_start(B).now_or_never();
        assert!(other.is_some_and(|it| it.is_ok()), "an account that runs");
        engine.is_silent.send_replace(false);
        let found = both.await;
        assert!(found.iter().all(|it| matches!(it, Ok(Some(_)))));
    });
}
