//! The process is killed twice within a batch, and once within a batch cancellation.

use crate::client::Client;
use crate::test_directory::{Service, TestDirectory, until};
use serde_json::{Value, json};

/// Enough for two kills before the batch ends.
const JOBS: usize = 16;

fn submit(client: &Client) -> Value {
    let entry = json!({"model": "fast", "prompt": "a red fox", "aspect_ratio": "1:1"});
    let body = json!({"requests": vec![entry; JOBS]});
    let answer = client.call("POST", "/api/v1/batches", Some(&body));
    assert_eq!(answer.status, 202, "{}", answer.json());
    answer.json()
}

fn look(client: &Client, batch: &Value) -> Value {
    let id = batch["batch_id"].as_str().expect("an id");
    client.get(&format!("/api/v1/batches/{id}")).json()
}

fn count(batch: &Value, state: &str) -> u64 {
    batch["counts"][state].as_u64().expect("a count")
}

/// Checks that the batch counts each job once, and is charged for the done ones.
fn check_counts(client: &Client, batch: &Value) -> Value {
    let seen = look(client, batch);
    check_charged(&seen);
    let states = ["queued", "processing", "done", "failed"];
    let sum: u64 = states.iter().map(|it| count(&seen, it)).sum();
    assert_eq!(sum, JOBS as u64, "{seen}");
    seen
}

fn check_charged(batch: &Value) {
    let charged: f64 = batch["charged"]
        .as_str()
        .expect("an amount")
        .parse()
        .expect("a number");
    let millis = (charged * 1_000.0).round() as u64;
    assert_eq!(millis, 39 * count(batch, "done"), "{batch}");
}

fn ended(client: &Client, batch: &Value) -> Value {
    let ended = until("the batch has ended", || {
        let seen = look(client, batch);
        (seen["status"] == "ended").then_some(seen)
    });
    check_charged(&ended);
    ended
}

/// Checks the money and the consistency of an ended batch.
fn check_books(place: &TestDirectory, service: Service, client: &Client, done: u64) {
    let (balance, reserved) = client.money();
    let balance: f64 = balance.parse().expect("a number");
    assert_eq!((balance * 1_000.0).round() as u64, 100_000 - 39 * done);
    assert_eq!(reserved, "0.00");
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let jobs = format!("0 live jobs, {JOBS} ended jobs");
    assert!(verified.out.contains(&jobs), "{verified:?}");
}

#[test]
fn a_batch_survives_kills_with_exact_counts() {
    let place = TestDirectory::with(&[("JOBS__MAX_RUNS", "100")]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let mut client = service.client(&key);
    let batch = submit(&client);
    for done in [2, 6] {
        until("some of it is done", || {
            (count(&look(&client, &batch), "done") >= done).then_some(())
        });
        service.kill();
        service = place.serve();
        client = service.client(&key);
        let seen = check_counts(&client, &batch);
        assert!(count(&seen, "done") >= done, "{seen}");
    }
    let seen = ended(&client, &batch);
    assert_eq!(count(&seen, "done"), JOBS as u64, "{seen}");
    check_books(&place, service, &client, JOBS as u64);
}

#[test]
fn a_canceled_batch_stays_canceled_after_a_kill() {
    let place = TestDirectory::with(&[("JOBS__MAX_RUNS", "100")]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let batch = submit(&client);
    let id = batch["batch_id"].as_str().expect("an id");
    let canceled = client.call("DELETE", &format!("/api/v1/batches/{id}"), None);
    assert_eq!(canceled.status, 200);
    service.kill();
    let service = place.serve();
    let client = service.client(&key);
    check_counts(&client, &batch);
    let seen = ended(&client, &batch);
    let done = count(&seen, "done");
    assert!(done < JOBS as u64, "{seen}");
    check_books(&place, service, &client, done);
}
