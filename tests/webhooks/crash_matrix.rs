//! A crash after each single commit of a story: whatever was owed at that moment arrives afterwards, and the books are sound.

use crate::support::Behaviour;
use crate::world::{ACCOUNT, Beginning, World, furnish, in_paused_time, status, webhook};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind, DeliveryState};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Commit, Engine, Holds, Key, Value};
use tintype_storage::store::Store;
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;
use tokio::time::sleep;

type Image = BTreeMap<Key, Value>;

const HOUR: Duration = Duration::from_secs(3_600);

/// Keeps what a crash after each commit would leave.
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

/// Done after a retry, sent again, done at once, failed, canceled, a test, a webhook that goes, a delivery that is given up.
async fn story(world: &World) {
    let tick = || sleep(Duration::from_secs(1));
    let retried = world.accept().await;
    sleep(2 * HOUR).await;
    world.redeliver(DeliveryId(retried.0)).await.unwrap();
    world.accept().await;
    tick().await;
    world.generator.behave(Behaviour::Refuse("no"));
    world.accept().await;
    tick().await;
    world.generator.behave(Behaviour::Succeed);
    world.generator.hold();
    for _ in 0..4 {
        world.accept().await;
    }
    tick().await;
    // All four places are taken, so this one is still queued.
    let canceled = world.accept().await;
    world.cancel(canceled).await;
    world.generator.release_all();
    tick().await;
    world.send_test(&webhook(1)).await;
    tick().await;
    world.accept().await;
    tick().await;
    world.write(world.store.remove_webhook(&webhook(1)));
    world.accept().await;
    sleep(2 * HOUR).await;
}

fn deliveries(store: &Store) -> HashMap<DeliveryId, Delivery> {
    let mut found = HashMap::new();
    let visit = |delivery: Delivery| {
        found.insert(delivery.id, delivery);
        Ok(())
    };
    store.each_delivery(visit).wait().unwrap();
    found
}

fn is_delivered(delivery: &Delivery) -> bool {
    matches!(delivery.state, DeliveryState::Delivered { .. })
}

/// Goes on from an image as a restart does, until nothing is left to do.
fn go_on(number: usize, image: Image) {
    let crashed = Store::new(Arc::new(MemoryEngine::from_image(image.clone())));
    let before = deliveries(&crashed);
    let faults = verify(&crashed, |_| {}).unwrap().faults;
    assert_eq!(faults, Vec::<String>::new(), "right after commit {number}");
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::from_image(image));
        let world = World::begin(Beginning {
            // Long after the crash, so that whatever was due is overdue.
            after: 24 * 3_600_000,
            ..Beginning::over(engine, Vec::new())
        });
        sleep(3 * HOUR).await;
        assert!(!world.fail_stop.has_tripped(), "after commit {number}");
        let report = verify(&world.store, |_| {}).unwrap();
        assert_eq!(report.faults, Vec::<String>::new(), "commit {number}");
        assert_eq!(report.live_jobs, 0, "commit {number}");
        assert_eq!(world.store.due(None, 9).wait().unwrap(), []);
        let after = deliveries(&world.store);
        let taken = world.post.taken();
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
        let owed = |job: tintype_storage::domain::job::Job| {
            let id = DeliveryId(job.id.0);
            // The account has a webhook at every moment of the story.
            let delivery = after
                .get(&id)
                .unwrap_or_else(|| panic!("commit {number}: job {} owes a delivery", job.id));
            jobs += 1;
            assert_eq!(delivery.kind, DeliveryKind::Event);
            let over_before = before.get(&id).is_some_and(|it| it.state.due().is_none());
            let gone = world
                .store
                .webhook(ACCOUNT, delivery.webhook)
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
        world.store.each_ended_job(owed).wait().unwrap();
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
        let world = World::begin(Beginning::over(camera.clone(), script));
        story(&world).await;
        assert!(!world.fail_stop.has_tripped());
    });
    let images = std::mem::take(&mut *camera.images.lock());
    assert!(images.len() > 35, "{} commits", images.len());
    let last = Store::new(Arc::new(MemoryEngine::from_image(
        images[images.len() - 1].clone(),
    )));
    let told = deliveries(&last);
    assert_eq!(told.len(), 11, "every ending of the story has its delivery");
    assert!(told.values().any(|it| it.attempts == 4 && it.round == 1));
    // The first image is of an account without webhooks; the actors begin after the third.
    for (number, image) in images.into_iter().enumerate() {
        go_on(number, image);
    }
}

#[test]
fn hostile_104_an_attempt_that_a_crash_cut_off_is_made_again_under_the_same_id() {
    let camera = Arc::new(Camera::default());
    let first = in_paused_time(async {
        furnish(&*camera, &Store::new(camera.clone()), &[webhook(1)]);
        let slow = crate::world::Outcome {
            status: Some(200),
            took: Duration::from_secs(9),
        };
        let world = World::begin(Beginning::over(camera.clone(), vec![slow]));
        let id = world.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        // The receiver has it, and nothing of that is on record.
        assert_eq!(world.post.sent().len(), 1);
        id
    });
    let image = camera.inner.image();
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::from_image(image));
        let world = World::begin(Beginning::over(engine, Vec::new()));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(world.post.taken(), [first]);
        assert_eq!(world.delivery(first).attempts, 1);
    });
}
