//! Faults of the service itself: they delay a delivery and do not count as attempts.

use crate::helpers::{millis, options, server};
use crate::receiver::Receiver;
use crate::simulation::{Simulation, SimulationOptions, furnish, in_paused_time, webhook};
use crate::support::poll::until_some;
use crate::support::{Server, until};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::DeliveryState;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use tokio::time::sleep;

fn begin() -> Simulation {
    let engine = Arc::new(MemoryEngine::new());
    furnish(&*engine, &Store::new(engine.clone()), &[webhook(1)]);
    Simulation::begin(SimulationOptions::over(engine, Vec::new()))
}

#[test]
fn an_unsendable_delivery_is_retried_every_half_minute_without_counting_attempts() {
    in_paused_time(async {
        let sim = begin();
        sim.transport.hold_up(20);
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(599)).await;
        let due = sim.delivery(id).created_at;
        let state = DeliveryState::Pending { due, failures: 0 };
        assert_eq!(sim.delivery(id).state, state);
        assert_eq!(sim.store.attempts(id).wait().unwrap(), []);
        sleep(Duration::from_secs(2)).await;
        let moments: Vec<i64> = (0..=20).map(|it| it * 30_000).collect();
        assert_eq!(sim.transport.moments(), moments);
        let state = sim.delivery(id).state;
        assert!(
            matches!(state, DeliveryState::Delivered { .. }),
            "{state:?}"
        );
        assert_eq!(sim.store.attempts(id).wait().unwrap().len(), 1);
    });
}

#[test]
fn sending_a_blocked_delivery_again_sends_it_once() {
    in_paused_time(async {
        let sim = begin();
        sim.transport.hold_up(1);
        let id = sim.send_test(&webhook(1)).await;
        sleep(Duration::from_secs(10)).await;
        sim.redeliver(id).await.unwrap();
        sleep(Duration::from_secs(600)).await;
        assert_eq!(sim.transport.moments(), [0, 10_000]);
        assert_eq!(sim.transport.taken(), [id]);
    });
}

#[test]
fn metadata_that_is_damaged_or_gone_for_an_hour_ends_the_delivery() {
    let options = options().set("webhooks.retry_delays_seconds", Vec::<i64>::new());
    let (server, receiver) = (Server::with(options), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    server.generator.hold();
    let metadata = json!({ "text": "a".repeat(8_000) });
    let create = || server.create_with(&customer, json!({ "metadata": metadata }));
    let jobs = [create(), create()];
    for job in &jobs {
        server.job_once(&customer, job, "processing");
    }
    let words = fs::read_dir(server.objects().join("words")).unwrap();
    let texts: Vec<_> = words.map(|it| it.unwrap().path()).collect();
    assert_eq!(texts.len(), 2);
    fs::remove_file(&texts[0]).unwrap();
    fs::write(&texts[1], "{").unwrap();
    server.generator.release_all();
    let failed = until_some("both have failed", || {
        server.pass(Duration::from_secs(300));
        let found = jobs.each_ref().map(|job| server.delivery_of(job));
        let failed = found.into_iter().flatten();
        let failed: Vec<_> = failed.filter(|it| it["status"] == "failed").collect();
        (failed.len() == 2).then_some(failed)
    });
    let of_gone = |it: &&Value| {
        let error = it["attempts"][0]["error"].as_str();
        error.is_some_and(|error| error.contains("is no longer stored"))
    };
    let gone = failed.iter().find(of_gone).expect("the one that is gone");
    let failed_at = millis(&gone["attempts"][0]["at"]);
    assert!(
        failed_at - millis(&gone["created_at"]) >= 3_600_000,
        "{gone}"
    );
    let errors = failed.iter().map(|failed| {
        assert_eq!(failed["reason"], "attempts exhausted");
        let error = failed["attempts"][0]["error"].as_str();
        error.expect("an error").to_owned()
    });
    let errors: Vec<_> = errors.collect();
    for expected in ["is no longer stored", "is damaged"] {
        assert!(errors.iter().any(|it| it.contains(expected)), "{errors:?}");
    }
    assert_eq!(receiver.count(), 0);
}

/// Each failed attempt moves the time at which the next one is due.
#[test]
fn the_retries_of_a_delivery_whose_metadata_is_gone_wait_for_no_second_hour() {
    let options = options().set("webhooks.retry_delays_seconds", vec![60, 60]);
    let (server, receiver) = (Server::with(options), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    server.generator.hold();
    let metadata = json!({ "text": "a".repeat(8_000) });
    let job = server.create_with(&customer, json!({ "metadata": metadata }));
    server.job_once(&customer, &job, "processing");
    fs::remove_dir_all(server.objects().join("words")).unwrap();
    let is_unsent_after = |act: &dyn Fn()| {
        let unsent = server.unsent_attempts();
        act();
        until("an attempt is not sent", || {
            server.unsent_attempts() > unsent
        });
    };
    let attempts = |delivery: &Value| delivery["attempts"].as_array().unwrap().len();
    let fails_after = |span: Duration, number: usize| {
        let unsent = server.unsent_attempts();
        server.pass(span);
        let delivery = server.delivery_once(&job, |it| {
            attempts(it) == number || server.unsent_attempts() > unsent
        });
        assert_eq!(attempts(&delivery), number, "{delivery}");
        delivery
    };
    let (hour, delay) = (Duration::from_secs(3_600), Duration::from_secs(61));
    is_unsent_after(&|| server.generator.release_all());
    fails_after(hour, 1);
    fails_after(delay, 2);
    let failed = fails_after(delay, 3);
    assert_eq!(failed["reason"], "attempts exhausted");

    is_unsent_after(&|| {
        server.redeliver(&failed);
    });
    fails_after(hour, 4);
    fails_after(delay, 5);
    let failed = fails_after(delay, 6);
    assert_eq!(failed["reason"], "attempts exhausted");
    assert_eq!(receiver.count(), 0);
}

#[test]
fn metadata_that_cannot_be_read_costs_no_attempt() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    server.generator.hold();
    let text = "\u{e9}".repeat(8_000);
    let metadata = json!({ "text": text });
    let job = server.create_with(&customer, json!({ "metadata": metadata }));
    server.job_once(&customer, &job, "processing");
    let (words, away) = (
        server.objects().join("words"),
        server.objects().join("away"),
    );
    fs::rename(&words, &away).unwrap();
    // A file in its place is an error of the store. An object that does not exist would be a fault of the delivery.
    fs::write(&words, "").unwrap();
    server.generator.release_all();
    let other = server.create(&customer);
    server.delivery_in(&other, "delivered");
    let delivery = server.delivery_in(&job, "pending");
    assert_eq!(delivery["attempts"], json!([]));
    fs::remove_file(&words).unwrap();
    fs::rename(&away, &words).unwrap();
    // The failed attempt may have been postponed after the first of these.
    let delivery = until_some("it is delivered", || {
        server.pass(Duration::from_secs(30));
        let delivery = server.delivery_of(&job)?;
        (delivery["status"] == "delivered").then_some(delivery)
    });
    assert_eq!(delivery["attempts"].as_array().unwrap().len(), 1);
    let received = receiver.once(2);
    assert_eq!(received[1].json()["metadata"]["text"], text);
}
