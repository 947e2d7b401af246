//! A slow disk: commands to a delivery while its commit is in flight.

use crate::simulation::{
    BEGIN, Outcome, Simulation, SimulationOptions, furnish, in_paused_time, status, webhook,
};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::delivery::{DeliveryCommand, DeliveryError};
use tintype_storage::domain::delivery::{
    Delivery, DeliveryId, DeliveryState, FailReason, NoReceiver,
};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::Store;
use tintype_storage::testing::layer::Layer as _;
use tintype_storage::testing::stalled::StalledEngine;
use tokio::sync::oneshot;
use tokio::time::sleep;

const HOUR: Duration = Duration::from_secs(3_600);

const HALF_A_SECOND: Outcome = Outcome {
    status: Some(500),
    took: Duration::from_millis(500),
};

fn begin(script: Vec<Outcome>) -> (Arc<StalledEngine>, Simulation) {
    let slow = StalledEngine::in_memory();
    let store = Store::new(slow.clone());
    furnish(&*slow, &store, &[webhook(1)]);
    let sim = Simulation::begin(SimulationOptions::over(slow.clone(), script));
    (slow, sim)
}

fn wish(sim: &Simulation, id: DeliveryId) -> oneshot::Receiver<Result<Delivery, DeliveryError>> {
    let (reply, answer) = oneshot::channel();
    sim.system.deliveries().do_send(DeliveryCommand::Redeliver {
        id,
        to_entry: None,
        reply,
    });
    answer
}

/// An attempt whose outcome waits for its commit.
async fn attempted(slow: &StalledEngine, sim: &Simulation) -> DeliveryId {
    let id = sim.send_test(&webhook(1)).await;
    slow.hold();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(sim.transport.sent().len(), 1);
    assert_eq!(sim.delivery(id).attempts, 0, "not on the disk yet");
    id
}

#[test]
fn a_redelivery_rejected_after_the_commit_leaves_the_delivery_pending() {
    in_paused_time(async {
        let (slow, sim) = begin(vec![HALF_A_SECOND]);
        let id = attempted(&slow, &sim).await;
        let answer = wish(&sim, id);
        sleep(Duration::from_secs(1)).await;
        let removed = sim.store.remove_webhook(&webhook(1));
        commit_and_wait(&*slow.inner(), removed).unwrap();
        assert_eq!(slow.open(), 1, "the wish waits for the attempt's commit");
        let refused = answer.await.unwrap();
        assert!(matches!(
            refused,
            Err(DeliveryError::NoReceiver(NoReceiver::WebhookDeleted))
        ));
        sleep(HOUR).await;
        let DeliveryState::Failed { reason, at } = sim.delivery(id).state else {
            panic!("{:?}", sim.delivery(id));
        };
        assert_eq!(reason, FailReason::WebhookDeleted);
        assert_eq!(at.millis() - BEGIN, 60_500, "at the moment of its retry");
    });
}

#[test]
fn redeliveries_requested_during_a_commit_are_applied_one_after_another() {
    in_paused_time(async {
        let (slow, sim) = begin(vec![HALF_A_SECOND]);
        let id = attempted(&slow, &sim).await;
        let answers = [wish(&sim, id), wish(&sim, id), wish(&sim, id)];
        sleep(Duration::from_secs(1)).await;
        assert_eq!(slow.open(), 1);
        for (round, answer) in (1..).zip(answers) {
            assert_eq!(answer.await.unwrap().unwrap().round, round);
        }
        sleep(HOUR).await;
        let delivery = sim.delivery(id);
        assert!(matches!(delivery.state, DeliveryState::Delivered { .. }));
        assert_eq!(delivery.attempts as usize, sim.transport.sent().len());
        assert_eq!(
            sim.store.attempts(id).wait().unwrap().len(),
            delivery.attempts as usize
        );
        assert_eq!(sim.store.pending_deliveries(1).wait().unwrap(), 0);
    });
}

#[test]
fn a_failure_of_the_previous_round_does_not_shorten_the_new_round() {
    in_paused_time(async {
        let slow_answer = Outcome {
            status: Some(500),
            took: Duration::from_secs(5),
        };
        let (slow, sim) = begin([vec![slow_answer], vec![status(500); 6]].concat());
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(1)).await;
        slow.hold();
        let answer = wish(&sim, id);
        // The attempt ends while the command's commit is in flight.
        sleep(Duration::from_secs(9)).await;
        assert_eq!(slow.open(), 1);
        answer.await.unwrap().unwrap();
        sleep(2 * HOUR).await;
        assert_eq!(
            sim.transport.sent().len(),
            1 + 7,
            "all seven of the fresh set"
        );
        assert!(matches!(
            sim.delivery(id).state,
            DeliveryState::Delivered { .. }
        ));
    });
}

#[test]
fn nothing_is_sent_before_the_delivery_is_on_the_disk() {
    in_paused_time(async {
        let (slow, sim) = begin(vec![]);
        slow.hold();
        let job = sim.accept();
        tokio::pin!(job);
        tokio::select! {
            _ = &mut job => panic!("accepted before it was on the disk"),
            () = sleep(Duration::from_secs(1)) => assert_eq!(slow.open(), 1),
        }
        let job = job.await;
        slow.hold();
        sleep(HOUR).await;
        assert_eq!(sim.transport.sent(), [], "its end waits for the disk");
        assert!(slow.open() > 0);
        sleep(HOUR).await;
        assert_eq!(sim.transport.taken(), [DeliveryId(job.0)]);
    });
}
