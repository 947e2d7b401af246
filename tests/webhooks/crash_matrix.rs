//! A crash after every single commit of a scenario: all pending deliveries arrive afterwards, and the ledger is consistent.

use crate::simulation::{
    ACCOUNT, Simulation, SimulationOptions, furnish, in_paused_time, status, webhook,
};
use crate::support::Behaviour;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind, DeliveryState};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Commit, Engine, Holds, Key, Value};
use tintype_storage::store::tables::{DELIVERIES, ENDED_JOBS, WEBHOOKS};
use tintype_storage::store::{All, Store};
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;
use tokio::time::sleep;

type Image = BTreeMap<Key, Value>;

const HOUR: Duration = Duration::from_secs(3_600);

/// Captures the state after each commit.
#[derive(Default)]
struct Camera {
    inner: Arc<MemoryEngine>,
    holds: Arc<Holds>,
    images: Mutex<Vec<Image>>,
}

impl Layer for Camera {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner) as _
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn submit(&self, commit: Commit) {
        let Commit { writes, done } = commit;
        let inner = Commit {
            writes,
            done: Box::new(|outcome| assert_eq!(outcome.map_err(|it| it.to_string()), Ok(()))),
        };
        self.inner.submit(inner);
        self.images.lock().push(self.inner.image());
        done(Ok(()));
    }
}

/// The scenario: success after a retry, redelivery, immediate success, failed job, canceled job, test delivery, deleted webhook,
/// failed delivery.
async fn story(sim: &Simulation) {
    let tick = || sleep(Duration::from_secs(1));
    let retried = sim.accept().await;
    sleep(2 * HOUR).await;
    sim.redeliver(DeliveryId(retried.0)).await.unwrap();
    sim.accept().await;
    tick().await;
    sim.generator.behave(Behaviour::Refuse("no"));
    sim.accept().await;
    tick().await;
    sim.generator.behave(Behaviour::Succeed);
    sim.generator.hold();
    for _ in 0..4 {
        sim.accept().await;
    }
    tick().await;
    // All four slots are taken, so this job is still queued.
    let canceled = sim.accept().await;
    sim.cancel(canceled).await;
    sim.generator.release_all();
    tick().await;
    sim.send_test(&webhook(1)).await;
    tick().await;
    sim.accept().await;
    tick().await;
    sim.write(sim.store.remove_webhook(&webhook(1)));
    sim.accept().await;
    sleep(2 * HOUR).await;
}

fn deliveries(store: &Store) -> HashMap<DeliveryId, Delivery> {
    let mut found = HashMap::new();
    let visit = |_, delivery: Delivery| {
        found.insert(delivery.id, delivery);
        Ok(())
    };
    DELIVERIES.each(store, &All, visit).wait().unwrap();
    found
}

fn is_delivered(delivery: &Delivery) -> bool {
    matches!(delivery.state, DeliveryState::Delivered { .. })
}

/// Restarts from a captured state and runs until all work is done.
fn go_on(number: usize, image: Image) {
    let crashed = Store::new(Arc::new(MemoryEngine::from_image(image.clone())));
    let before = deliveries(&crashed);
    let faults = verify(&crashed, |_| {}).unwrap().faults;
    assert_eq!(faults, Vec::<String>::new(), "right after commit {number}");
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::from_image(image));
        let sim = Simulation::begin(SimulationOptions {
            // Long after the crash, so that every due delivery is overdue.
            after: 24 * 3_600_000,
            ..SimulationOptions::over(engine, Vec::new())
        });
        sleep(3 * HOUR).await;
        assert!(!sim.fail_stop.has_tripped(), "after commit {number}");
        let report = verify(&sim.store, |_| {}).unwrap();
        assert_eq!(report.faults, Vec::<String>::new(), "commit {number}");
        assert_eq!(report.live_jobs, 0, "commit {number}");
        assert_eq!(sim.store.pending_deliveries(1).wait().unwrap(), 0);
        let after = deliveries(&sim.store);
        let taken = sim.transport.taken();
        let sent: HashSet<DeliveryId> = taken.iter().copied().collect();
        assert_eq!(taken.len(), sent.len(), "commit {number}: nothing twice");
        for (id, delivery) in &before {
            let over = delivery.state.due().is_none();
            assert!(
                !over || !sent.contains(id),
                "commit {number}: {delivery:?} was over"
            );
        }
        let mut jobs = 0;
        let owed = |_, job: tintype_storage::domain::job::Job| {
            let id = DeliveryId(job.id.0);
            // The account has a webhook throughout the scenario.
            let delivery = after
                .get(&id)
                .unwrap_or_else(|| panic!("commit {number}: job {} owes a delivery", job.id));
            jobs += 1;
            assert_eq!(delivery.kind, DeliveryKind::Event);
            let over_before = before.get(&id).is_some_and(|it| it.state.due().is_none());
            let gone = WEBHOOKS
                .get(&sim.store, &(ACCOUNT, delivery.webhook))
                .wait()
                .unwrap()
                .is_none();
            assert!(
                over_before || sent.contains(&id) || gone,
                "commit {number}: {delivery:?} never arrived"
            );
            assert!(is_delivered(delivery) || gone || over_before);
            Ok(())
        };
        ENDED_JOBS.each(&sim.store, &All, owed).wait().unwrap();
        assert!(
            jobs >= before
                .values()
                .filter(|it| it.kind == DeliveryKind::Event)
                .count()
        );
    });
}

#[test]
fn a_crash_after_any_commit_loses_no_delivery_and_repeats_none_that_is_on_record() {
    let camera = Arc::new(Camera::default());
    in_paused_time(async {
        furnish(
            &*camera,
            &Store::new(camera.clone()),
            &[webhook(1), webhook(2)],
        );
        let script = vec![status(500), status(503), status(200)];
        let sim = Simulation::begin(SimulationOptions::over(camera.clone(), script));
        story(&sim).await;
        assert!(!sim.fail_stop.has_tripped());
    });
    let images = std::mem::take(&mut *camera.images.lock());
    assert!(images.len() > 35, "{} commits", images.len());
    let last = Store::new(Arc::new(MemoryEngine::from_image(
        images[images.len() - 1].clone(),
    )));
    let told = deliveries(&last);
    assert_eq!(told.len(), 11, "every ending of the story has its delivery");
    assert!(told.values().any(|it| it.attempts == 4 && it.round == 1));
    // In the first state the account has no webhooks; the actors start after the third.
    for (number, image) in images.into_iter().enumerate() {
        go_on(number, image);
    }
}

#[test]
fn hostile_104_an_attempt_interrupted_by_a_crash_is_repeated_under_the_same_id() {
    let camera = Arc::new(Camera::default());
    let first = in_paused_time(async {
        furnish(&*camera, &Store::new(camera.clone()), &[webhook(1)]);
        let slow = crate::simulation::Outcome {
            status: Some(200),
            took: Duration::from_secs(9),
        };
        let sim = Simulation::begin(SimulationOptions::over(camera.clone(), vec![slow]));
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        // The receiver has the delivery, but no record of the attempt exists.
        assert_eq!(sim.transport.sent().len(), 1);
        id
    });
    let image = camera.inner.image();
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::from_image(image));
        let sim = Simulation::begin(SimulationOptions::over(engine, Vec::new()));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(sim.transport.taken(), [first]);
        assert_eq!(sim.delivery(first).attempts, 1);
    });
}
