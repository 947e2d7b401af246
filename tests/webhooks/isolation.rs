//! A receiver never delays another (100), and connections are limited per receiver and in total.

use crate::helpers::options;
use crate::receiver::{Receiver, Reply};
use crate::simulation::{
    BEGIN, Outcome, Simulation, SimulationOptions, furnish, in_paused_time, status, webhook,
};
use crate::support::{Customer, Server, until};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_actors::delivery::{DeliveryCommand, DeliveryLimits};
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind, FailReason};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use tokio::time::sleep;
use uuid::Uuid;

/// Longer than every test, so that no hanging attempt ends during a test.
fn patient() -> Server {
    Server::with(options().set("webhooks.attempt_timeout_seconds", 300))
}

/// Creates this number of jobs of an account whose webhook hangs.
fn pile_up(server: &Server, url: &str, jobs: usize) -> Customer {
    let customer = server.customer("90.00");
    server.webhook(&customer, url);
    (0..jobs).for_each(|_| drop(server.create(&customer)));
    customer
}

#[test]
fn hostile_100_fifty_hanging_receivers_delay_no_healthy_one() {
    let server = patient();
    let hanging: Vec<Receiver> = (0..50).map(|_| Receiver::always(Reply::Silence)).collect();
    let urls: Vec<String> = hanging.iter().map(|it| it.url("/")).collect();
    urls.iter().for_each(|url| drop(pile_up(&server, url, 12)));
    until("all that can hang does", || {
        hanging.iter().all(|it| it.open() > 0)
    });
    let healthy = Receiver::content();
    let customer = server.customer("90.00");
    server.webhook(&customer, &healthy.url("/"));
    (0..200).for_each(|_| drop(server.create(&customer)));
    until("all have arrived", || healthy.count() == 200);
    assert!(
        hanging.iter().all(|it| it.open() > 0),
        "and the others still hang"
    );
    assert!(
        hanging.iter().all(|it| it.count() == 1),
        "one place until it answers"
    );
}

#[test]
fn hostile_100_a_receiver_with_many_pending_deliveries_delays_no_other_of_its_account() {
    let server = patient();
    let (hanging, healthy) = (Receiver::always(Reply::Silence), Receiver::content());
    let customer = pile_up(&server, &hanging.url("/"), 100);
    until("it hangs", || hanging.open() > 0);
    server.webhook(&customer, &healthy.url("/"));
    let callback = json!({"callback_url": healthy.url("/")});
    let job = server.create_with(&customer, callback);
    server.delivery_in(&job, "delivered");
    assert_eq!(hanging.open(), 1);
}

#[test]
fn a_backlog_without_a_receiver_does_not_hold_up_the_actor() {
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::new());
        let store = Store::new(engine.clone());
        furnish(&*engine, &store, &[]);
        let now = Timestamp::from_millis(BEGIN);
        let ids = (1..=1_000).map(Uuid::from_u128);
        let backlog =
            ids.map(|id| Delivery::new(DeliveryId(id), &webhook(1), DeliveryKind::Test, id, now));
        let backlog: Vec<Delivery> = backlog.collect();
        let writes = backlog.iter().flat_map(|it| store.add_delivery(it));
        commit_and_wait(&*engine, writes.collect()).unwrap();
        let sim = Simulation::begin(SimulationOptions::over(engine, vec![]));
        let (reply, depths) = oneshot::channel();
        let actor = sim.system.deliveries();
        actor.do_send(DeliveryCommand::Depths(reply));
        let waiting = depths.await.unwrap().waiting;
        assert!((1..1_000).contains(&waiting), "{waiting}");
        sleep(Duration::from_secs(1)).await;
        for delivery in backlog {
            let reason = sim.delivery(delivery.id).state.reason();
            assert_eq!(reason, Some(FailReason::WebhookDeleted));
        }
    });
}

#[test]
fn connections_to_one_receiver_are_bounded() {
    let server = patient();
    // The first answer, sent once the others wait, earns the receiver its slots; then the receiver hangs.
    let all_wait = Arc::new(AtomicBool::new(false));
    let released = Arc::clone(&all_wait);
    let receiver = Receiver::deciding(move |number, _| match number {
        0 => {
            until("the others wait", || released.load(Ordering::SeqCst));
            Reply::Status(200)
        }
        _ => Reply::Silence,
    });
    let customer = pile_up(&server, &receiver.url("/"), 60);
    let pending = || server.deliveries("status=pending&limit=100").len();
    until("all are owed", || pending() == 60);
    all_wait.store(true, Ordering::SeqCst);
    until("its places are taken", || receiver.open() == 16);
    // When another receiver's delivery has arrived, the actor has processed all of these.
    let healthy = Receiver::content();
    server.webhook(&customer, &healthy.url("/"));
    let callback = json!({"callback_url": healthy.url("/")});
    let job = server.create_with(&customer, callback);
    server.delivery_in(&job, "delivered");
    assert_eq!((receiver.open(), receiver.most_open()), (16, 16));
    assert_eq!(receiver.count(), 17);
}

/// Twenty slots and many receivers, of which only the last is healthy.
fn crowd(engine: &Arc<MemoryEngine>, receivers: u128, then: Outcome) -> (Simulation, Vec<Webhook>) {
    let webhooks: Vec<_> = (1..=receivers + 1).map(webhook).collect();
    furnish(&**engine, &Store::new(engine.clone()), &webhooks);
    let sim = Simulation::begin(SimulationOptions {
        then,
        limits: DeliveryLimits {
            total: 20,
            per_receiver: 4,
        },
        ..SimulationOptions::over(engine.clone(), Vec::new())
    });
    sim.transport
        .treat(&webhooks[receivers as usize], status(200));
    (sim, webhooks)
}

async fn under_way(sim: &Simulation) -> usize {
    sim.system.delivery_depths().await.in_flight
}

/// Checks that the healthy receiver gets its delivery in the same millisecond.
async fn assert_prompt(sim: &Simulation, healthy: &Webhook, deliveries: usize) {
    let now = sim.now().millis() - BEGIN;
    for _ in 0..deliveries {
        sim.send_test(healthy).await;
    }
    sleep(Duration::from_millis(1)).await;
    let sent = sim.transport.sent();
    let own = sent.iter().filter(|it| it.webhook == healthy.id);
    let moments: Vec<i64> = own.map(|it| it.at).filter(|it| *it >= now).collect();
    assert_eq!(moments, vec![now; deliveries]);
}

#[test]
fn hostile_100_failing_or_slow_receivers_leave_half_of_the_slots_to_others() {
    for answer in [Some(200), None] {
        in_paused_time(async move {
            let slow = Outcome {
                status: answer,
                took: Duration::from_secs(9),
            };
            let engine = Arc::new(MemoryEngine::new());
            let (sim, webhooks) = crowd(&engine, 40, slow);
            for webhook in &webhooks[..40] {
                for _ in 0..20 {
                    sim.send_test(webhook).await;
                }
            }
            // Rounds of nine seconds; in each, the health of more receivers becomes known.
            sleep(Duration::from_secs(120)).await;
            assert_eq!(under_way(&sim).await, 10, "{answer:?}");
            assert_prompt(&sim, &webhooks[40], 1).await;
            assert_prompt(&sim, &webhooks[40], 10).await;
        });
    }
}

#[test]
fn hostile_100_receivers_of_unknown_health_leave_slots_to_one_that_answers() {
    in_paused_time(async {
        let forever = Outcome {
            status: None,
            took: Duration::from_secs(100_000),
        };
        let engine = Arc::new(MemoryEngine::new());
        let (sim, webhooks) = crowd(&engine, 40, forever);
        assert_prompt(&sim, &webhooks[40], 1).await;
        for webhook in &webhooks[..40] {
            for _ in 0..3 {
                sim.send_test(webhook).await;
            }
        }
        sleep(Duration::from_secs(5)).await;
        assert_eq!(under_way(&sim).await, 15);
        // The receiver was idle, but its health is still known.
        assert_prompt(&sim, &webhooks[40], 5).await;
    });
}

#[test]
fn attempts_in_all_are_bounded() {
    in_paused_time(async {
        let engine = Arc::new(MemoryEngine::new());
        let (sim, webhooks) = crowd(&engine, 40, status(200));
        for webhook in &webhooks {
            sim.send_test(webhook).await;
        }
        sleep(Duration::from_secs(1)).await;
        for webhook in &webhooks {
            sim.transport.treat(
                webhook,
                Outcome {
                    status: None,
                    took: Duration::from_secs(100_000),
                },
            );
            for _ in 0..5 {
                sim.send_test(webhook).await;
            }
        }
        sleep(Duration::from_secs(1)).await;
        assert_eq!(under_way(&sim).await, 20);
    });
}

#[test]
fn idle_connections_to_a_receiver_are_closed_soon_after_its_deliveries() {
    let (server, receiver) = (
        patient(),
        Receiver::always(Reply::Full(200, "text/plain", Vec::new())),
    );
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    for _ in 0..2 {
        let job = server.create(&customer);
        server.delivery_in(&job, "delivered");
    }
    receiver.once(2);
    assert_eq!(receiver.most_open(), 1, "one at a time is enough");
    until("no connection is kept", || receiver.open() == 0);
}
