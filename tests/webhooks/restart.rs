//! A restart on the same data directory, and a restart with very many due deliveries (106).

use crate::checks::assert_signed;
use crate::helpers::{ended, millis, options};
use crate::receiver::{Receiver, Reply};
use crate::simulation::{Outcome, Simulation, SimulationOptions, furnish, in_paused_time, webhook};
use crate::support::{Server, until};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_actors::delivery::DeliveryLimits;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind, DeliveryState};
use tintype_storage::domain::ids::IdSource;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use uuid::Uuid;

#[test]
fn a_pending_delivery_continues_at_its_due_time() {
    let receiver = Receiver::statuses(&[500, 200]);
    let server = Server::with(options().on_disk());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    let before = server.delivery_after(&job, 1);
    let server = server.restart();
    let after = server.delivery_of(&job).unwrap();
    assert_eq!(after, before, "its log and its moment are on the disk");
    let due = millis(&after["next_attempt_at"]);
    assert_eq!(due, ended(&after["attempts"][0]) + 60_000);
    let now = millis(&server.inside().now().to_string().into());
    server.pass(Duration::from_millis((due - now - 1) as u64));
    // The arrival of another delivery proves that the actor has processed its queue since.
    let other = server.create(&customer);
    server.delivery_in(&other, "delivered");
    assert_eq!(server.delivery_of(&job).unwrap(), before);
    server.pass(Duration::from_millis(1));
    server.delivery_in(&job, "delivered");
    for received in receiver.once(3) {
        assert_signed(&received, &webhook.secret);
    }
    server.assert_settled();
}

#[test]
fn an_overdue_delivery_is_attempted_at_once_and_ended_deliveries_stay_ended() {
    let down = Arc::new(AtomicBool::new(true));
    let is_down = Arc::clone(&down);
    let receiver = Receiver::deciding(move |_, delivery| {
        let refused = delivery.line() == "POST /down" && is_down.load(Ordering::SeqCst);
        Reply::Status(if refused { 500 } else { 200 })
    });
    let server = Server::with(options().on_disk());
    let customer = server.customer("9.00");
    server.webhook(&customer, &receiver.url("/up"));
    let gone = server.webhook(&customer, &receiver.url("/gone"));
    server.webhook(&customer, &receiver.url("/down"));
    let to = |path: &str| {
        let callback = serde_json::json!({"callback_url": receiver.url(path)});
        server.create_with(&customer, callback)
    };
    let delivered = to("/up");
    server.delivery_in(&delivered, "delivered");
    server.generator.hold();
    let orphaned = to("/gone");
    server.job_once(&customer, &orphaned, "processing");
    server.remove_webhook(&gone);
    server.generator.release_all();
    server.delivery_in(&orphaned, "failed");
    let overdue: Vec<String> = (0..5).map(|_| to("/down")).collect();
    overdue
        .iter()
        .for_each(|it| drop(server.delivery_after(it, 1)));
    let (before, so_far) = (server.deliveries("status=delivered"), receiver.count());
    let options = server.stop();
    options.clock.advance(Duration::from_secs(3_600));
    down.store(false, Ordering::SeqCst);
    let server = Server::with(options);
    for job in &overdue {
        let delivery = server.delivery_once(job, |it| {
            // Separates the start times; the clock stands still otherwise.
            server.pass(Duration::from_millis(1));
            it["status"] == "delivered"
        });
        assert_eq!(delivery["attempts"].as_array().unwrap().len(), 2);
    }
    assert_eq!(receiver.once(so_far + 5).len(), so_far + 5, "each once");
    assert_eq!(server.delivery_of(&delivered).unwrap(), before[0]);
    assert_eq!(server.delivery_of(&orphaned).unwrap()["status"], "failed");
    server.assert_settled();
}

#[test]
fn an_interrupted_attempt_is_repeated() {
    let receiver = Receiver::deciding(|number, _| match number {
        0 => Reply::Silence,
        _ => Reply::Status(200),
    });
    let server = Server::with(options().on_disk());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    receiver.once(1);
    // The tests have a grace period of zero, so the shutdown does not wait for the attempt.
    let server = server.restart();
    let delivery = server.delivery_in(&job, "delivered");
    assert_eq!(
        delivery["attempts"].as_array().unwrap().len(),
        1,
        "{delivery}"
    );
    let received = receiver.once(2);
    assert_eq!(received[0].body.len(), received[1].body.len());
    assert_eq!(
        received[0].only_header("webhook-id"),
        received[1].only_header("webhook-id")
    );
    let server = server.restart();
    let other = server.create(&customer);
    server.delivery_in(&other, "delivered");
    receiver.once(3);
    server.assert_settled();
}

#[test]
fn a_graceful_shutdown_waits_for_the_attempts_in_flight() {
    let release = Arc::new(AtomicBool::new(false));
    let released = Arc::clone(&release);
    let receiver = Receiver::deciding(move |_, _| {
        until("the stop has begun", || released.load(Ordering::SeqCst));
        Reply::Status(200)
    });
    let options = options().on_disk().set("server.shutdown_grace_seconds", 30);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    receiver.once(1);
    let stopping = std::thread::spawn(move || server.stop());
    release.store(true, Ordering::SeqCst);
    let server = Server::with(stopping.join().unwrap());
    let delivery = server.delivery_in(&job, "delivered");
    assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
    receiver.once(1);
}

#[test]
fn hostile_106_a_hundred_thousand_overdue_deliveries_are_spread() {
    const MANY: u128 = 100_000;
    const RECEIVERS: u128 = 100;
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(engine.clone());
    let webhooks: Vec<_> = (1..=RECEIVERS).map(webhook).collect();
    furnish(&*engine, &store, &webhooks);
    let created = Timestamp::from_millis(crate::simulation::BEGIN);
    for number in 0..MANY {
        let (id, job) = (Uuid::from_u128(number + 1), Uuid::from_u128(number + 1));
        let to = &webhooks[(number % RECEIVERS) as usize];
        let delivery = Delivery::new(DeliveryId(id), to, DeliveryKind::Test, job, created);
        commit_and_wait(&*engine, store.add_delivery(&delivery)).unwrap();
    }
    let after = 3_600_000;
    in_paused_time(async {
        let sim = Simulation::begin(SimulationOptions {
            after,
            ..SimulationOptions::over(engine, Vec::new())
        });
        tokio::time::sleep(Duration::from_secs(600)).await;
        let sent = sim.transport.sent();
        assert_eq!(sent.len(), MANY as usize);
        let different: HashSet<DeliveryId> = sent.iter().map(|it| it.delivery).collect();
        assert_eq!(different.len(), MANY as usize, "each once");
        // About 500 per second.
        let second = |at: i64| (at - after) / 1_000;
        assert!(second(sent[sent.len() - 1].at) >= 190);
        let mut counts = std::collections::HashMap::new();
        for one in &sent {
            *counts.entry(second(one.at)).or_insert(0) += 1;
        }
        let most = counts.values().max().unwrap();
        assert!(*most <= 600, "{most} in one second");
        assert_eq!(sim.store.pending_deliveries(1).wait().unwrap(), 0);
    });
}

#[test]
fn a_webhook_that_is_registered_after_the_clock_was_set_back_is_the_newest() {
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(engine.clone());
    let tomorrow = Timestamp::from_millis(crate::simulation::BEGIN).plus(crate::helpers::DAY);
    let before = Webhook {
        id: WebhookId(IdSource::new(tomorrow).next(tomorrow)),
        created_at: tomorrow,
        ..webhook(1)
    };
    furnish(&*engine, &store, std::slice::from_ref(&before));
    in_paused_time(async {
        let sim = Simulation::begin(SimulationOptions::over(engine, Vec::new()));
        let next = sim.system.process().ids.next(sim.now());
        assert!(next > before.id.0);
    });
}

/// A delivery that is due at the start of the simulation, with this number of failed attempts.
fn overdue(number: u128, to: &Webhook, failures: u32) -> Delivery {
    let (id, job) = (Uuid::from_u128(number), Uuid::from_u128(number));
    let created = Timestamp::from_millis(crate::simulation::BEGIN);
    Delivery {
        state: DeliveryState::Pending {
            due: created,
            failures,
        },
        ..Delivery::new(DeliveryId(id), to, DeliveryKind::Test, job, created)
    }
}

#[test]
fn receivers_that_failed_before_a_restart_use_half_of_the_slots_after_it() {
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(engine.clone());
    let webhooks: Vec<_> = (1..=41).map(webhook).collect();
    furnish(&*engine, &store, &webhooks);
    for (number, to) in (1..).zip(&webhooks[..40]) {
        let delivery = overdue(number, to, 1);
        commit_and_wait(&*engine, store.add_delivery(&delivery)).unwrap();
    }
    in_paused_time(async {
        let hang = Outcome {
            status: None,
            took: Duration::from_secs(100_000),
        };
        let sim = Simulation::begin(SimulationOptions {
            after: 3_600_000,
            then: hang,
            limits: DeliveryLimits {
                total: 20,
                per_receiver: 4,
            },
            ..SimulationOptions::over(engine, Vec::new())
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(sim.transport.sent().len(), 10);
        sim.send_test(&webhooks[40]).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let last = sim.transport.sent().pop().unwrap();
        assert_eq!((last.webhook, last.at), (webhooks[40].id, 3_601_000));
    });
}

#[test]
fn one_overdue_delivery_does_not_wait_for_the_many_of_another_receiver() {
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(engine.clone());
    let (many, one) = (webhook(1), webhook(2));
    furnish(&*engine, &store, &[many.clone(), one.clone()]);
    for number in 1..=10_000 {
        let delivery = overdue(number, &many, 0);
        commit_and_wait(&*engine, store.add_delivery(&delivery)).unwrap();
    }
    let delivery = overdue(10_001, &one, 0);
    commit_and_wait(&*engine, store.add_delivery(&delivery)).unwrap();
    in_paused_time(async {
        let sim = Simulation::begin(SimulationOptions {
            after: 3_600_000,
            ..SimulationOptions::over(engine, Vec::new())
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let sent = sim.transport.sent();
        let own = sent.iter().find(|it| it.webhook == one.id);
        assert_eq!(own.unwrap().at, 3_600_002, "second in turn");
        assert!((400..=600).contains(&sent.len()), "{}", sent.len());
    });
}
