//! One receiver never holds up another (100), and connections are bounded, to one receiver and in all.

use crate::desk::options;
use crate::receiver::{Receiver, Reply};
use crate::support::{Customer, Server, until};
use crate::world::{Beginning, Outcome, World, furnish, in_paused_time, webhook};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_actors::outbox::OutboxLimits;
use tintype_storage::engine::memory::MemoryEngine;
use tintype_storage::store::Store;
use tokio::time::sleep;

/// Long enough that no hanging attempt ends while a test runs.
fn patient() -> Server {
    Server::with(options().set("webhooks.attempt_timeout_seconds", 300))
}

/// Jobs of an account whose webhook hangs, until it has as many due.
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
fn hostile_100_one_account_with_many_pending_delays_no_other_of_its_own_receivers() {
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
fn connections_to_one_receiver_are_bounded() {
    let server = patient();
    // The first answer, given once the others wait, earns the receiver its places; then it hangs.
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
    // The actor has come to all of them by the time that another's delivery is through.
    let healthy = Receiver::content();
    server.webhook(&customer, &healthy.url("/"));
    let callback = json!({"callback_url": healthy.url("/")});
    let job = server.create_with(&customer, callback);
    server.delivery_in(&job, "delivered");
    assert_eq!((receiver.open(), receiver.most_open()), (16, 16));
    assert_eq!(receiver.count(), 17);
}

#[test]
fn attempts_in_all_are_bounded_and_half_of_the_places_are_kept_from_the_dead() {
    let hanging = |receivers: u128, then: Outcome, wait: Duration| {
        in_paused_time(async move {
            let engine = Arc::new(MemoryEngine::new());
            let webhooks: Vec<_> = (1..=receivers + 1).map(webhook).collect();
            furnish(&*engine, &Store::new(engine.clone()), &webhooks);
            let world = World::begin(Beginning {
                then,
                limits: OutboxLimits {
                    total: 20,
                    per_receiver: 4,
                },
                ..Beginning::over(engine, Vec::new())
            });
            for webhook in &webhooks[..receivers as usize] {
                for _ in 0..3 {
                    world.send_test(webhook).await;
                }
            }
            sleep(wait).await;
            let sent = world.post.sent();
            let under_way = world.system.deliveries();
            let depths = under_way.send(tintype_actors::delivery::GetOutboxDepths);
            (sent, depths.await.unwrap().under_way)
        })
    };
    let forever = Outcome {
        status: None,
        took: Duration::from_secs(100_000),
    };
    let (sent, under_way) = hanging(30, forever, Duration::from_secs(5));
    assert_eq!(
        (sent.len(), under_way),
        (20, 20),
        "never more than the total"
    );
    // Ten seconds later all are known to be dead: from then on they hold half of the places.
    let slow = Outcome {
        status: None,
        took: Duration::from_secs(10),
    };
    let (_, under_way) = hanging(30, slow, Duration::from_secs(25));
    assert_eq!(under_way, 10, "half for those that fail");
}

#[test]
fn a_receiver_is_left_alone_when_its_delivery_is_through() {
    let (server, receiver) = (patient(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    server.delivery_in(&job, "delivered");
    assert_eq!(receiver.once(1)[0].header("connection"), "close");
    until("no connection is kept", || receiver.open() == 0);
}
