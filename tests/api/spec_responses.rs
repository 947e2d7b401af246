//! Specification, "Job creation response", "Job" and "Balance".

use crate::support::{Behaviour, Server, fox};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;

fn members(value: &Value) -> BTreeSet<&str> {
    let object = value.as_object().unwrap();
    object.keys().map(String::as_str).collect()
}

#[test]
fn creation_response_has_three_fields() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server
        .generation(&customer, "/text-generations", &fox())
        .expect(202);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json();
    assert_eq!(
        members(&body),
        BTreeSet::from(["job_id", "status", "status_url"])
    );
    let id = body["job_id"].as_str().unwrap();
    assert_eq!(Uuid::try_parse(id).unwrap().hyphenated().to_string(), id);
    assert_eq!(body["status"], "queued");
    assert_eq!(body["status_url"], format!("/api/v1/jobs/{id}"));
    server
        .get(body["status_url"].as_str().unwrap())
        .bearer(&customer.key)
        .expect(200);
}

#[test]
fn job_has_its_fields_in_every_state() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("1.00");
    let fields = BTreeSet::from([
        "job_id",
        "status",
        "created_at",
        "started_at",
        "finished_at",
        "result",
        "error",
        // Beyond the specification: null unless the job is queued.
        "queue_position",
        "estimated_start_at",
    ]);
    let done = server.create(&customer);
    let seen = server.job_once(&customer, &done, "processing");
    assert_eq!(members(&seen), fields);
    assert_eq!(seen["job_id"], done);
    server.generator.release_all();
    let seen = server.job_once(&customer, &done, "done");
    assert_eq!(members(&seen), fields);
    assert_eq!(members(&seen["result"]), BTreeSet::from(["image_url"]));
    server.generator.behave(Behaviour::Refuse("no"));
    let failed = server.create(&customer);
    let seen = server.job_once(&customer, &failed, "failed");
    assert_eq!(members(&seen), fields);
    assert_eq!(
        (&seen["error"], &seen["result"]),
        (&"no".into(), &Value::Null)
    );
}

#[test]
fn image_url_is_valid_24_hours_and_made_anew_on_every_lookup() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let url = |seen: &Value| seen["result"]["image_url"].as_str().unwrap().to_owned();
    let first = url(&server.job_once(&customer, &job, "done"));
    let prefix = format!("http://{}", server.address);
    let target = |url: &str| url.strip_prefix(&prefix).unwrap().to_owned();
    let day = Duration::from_secs(86_400);
    server.clock.advance(day - Duration::from_secs(1));
    server.get(&target(&first)).expect(200);
    let second = url(&server.job(&customer, &job));
    assert_ne!(first, second);
    server.clock.advance(Duration::from_secs(2));
    server.get(&target(&first)).refused(403, "url_expired");
    server.get(&target(&second)).expect(200);
}

#[test]
fn balance_has_three_decimal_strings() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("12");
    let answer = server.native(&customer, "GET", "/balance").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json();
    assert_eq!(
        members(&body),
        BTreeSet::from(["balance", "reserved", "available"])
    );
    server.assert_money(&customer, "12.00", "0.00", "12.00");
    let job = server.create(&customer);
    server.assert_money(&customer, "12.00", "0.134", "11.866");
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "11.866", "0.00", "11.866");
}
