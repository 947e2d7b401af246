//! A database that is down when the service starts, and one that stops to answer.

use crate::bucket::Bucket;
use crate::postgres::place;
use crate::test_directory::{BINARY, Service, TestDirectory, until};
use serde_json::json;
use std::time::{Duration, Instant};
use tintype_postgres::testing::proxy::Proxy;
use tintype_postgres::testing::{Server, server};

/// Starts the service, whose database is down.
fn begin_to_wait(place: &TestDirectory) -> Service {
    let mut service = place.begin_to_serve(place.command(BINARY));
    until("the service waits or has ended", || {
        let has_ended = service.status().is_some();
        (has_ended || service.log().contains("waiting for the database")).then_some(())
    });
    assert!(service.status().is_none(), "{}", service.end());
    service
}

#[test]
fn a_service_waits_at_its_start_for_a_database_that_is_down() {
    let Some(server) = Server::start() else {
        return;
    };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = place(&database.url(), &bucket);
    server.stop();
    let mut stopped = begin_to_wait(&place);
    stopped.terminate();
    assert_eq!(stopped.code(), Some(0), "{}", stopped.end());
    place.run(&["verify"]).assert_fault(&["is it running"]);
    let mut service = begin_to_wait(&place);
    server.start_again();
    service.wait_until_ready();
    let log = service.log();
    let count = |line: &str| log.matches(line).count();
    assert_eq!(count("waiting for the database"), 1, "{log}");
    assert_eq!(count("the database is reachable"), 1, "{log}");
    service.stop();
    server.stop();
    place.set("STORAGE__OUTAGE_SECONDS", "2");
    let mut late = begin_to_wait(&place);
    assert_eq!(late.code(), Some(1));
    let log = late.end();
    assert!(log.contains("is it running"), "{log}");
    server.start_again();
}

#[test]
fn calls_wait_for_a_silent_database_no_longer_than_for_a_closed_one() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let proxy = Proxy::start(database.port());
    let place = place(&proxy.url(&database.url()), &bucket);
    let service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    proxy.hold_answers();
    let began = Instant::now();
    let waited = client.create_small_now("a-job");
    assert_eq!(waited.status, 503, "{}", waited.json());
    assert!(waited.header("retry-after").is_some(), "{waited:?}");
    // Five seconds, and as many again for a busy machine; the database's requests end after 20 s.
    assert!(began.elapsed() < Duration::from_secs(10));
    let began = Instant::now();
    assert_eq!(client.create_small_now("a-job").status, 503);
    assert!(began.elapsed() < Duration::from_secs(2), "at once");
    proxy.heal();
    let answer = until("calls are accepted", || {
        let answer = client.create_small_now("a-job");
        (answer.status != 503).then_some(answer)
    });
    let job = answer.accepted();
    client.job_when(&job, "done");
    let jobs = client.get("/api/v1/jobs").json();
    let jobs = jobs["data"].as_array().expect("jobs");
    assert_eq!(
        jobs.len(),
        1,
        "the refused calls and the last one are one job"
    );
    service.stop();
}

#[test]
fn a_call_that_an_outage_refuses_creates_no_job_when_the_database_is_back() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let proxy = Proxy::start(database.port());
    let place = place(&proxy.url(&database.url()), &bucket);
    let service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    proxy.hold_answers();
    assert_eq!(client.create_small_now("refused").status, 503);
    proxy.heal();
    let answer = until("calls are accepted", || {
        let answer = client.create_small_now("accepted");
        (answer.status != 503).then_some(answer)
    });
    let job = answer.accepted();
    client.job_when(&job, "done");
    let jobs = client.get("/api/v1/jobs").json();
    let jobs = jobs["data"].as_array().expect("jobs");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    service.stop();
}

/// The node can neither return its jobs nor record its end: the others declare it dead.
#[test]
fn a_stop_ends_in_time_while_the_database_is_silent() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let proxy = Proxy::start(database.port());
    let mut place = place(&proxy.url(&database.url()), &bucket);
    place.set("SERVER__SHUTDOWN_GRACE_SECONDS", "1");
    let mut service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    // The stop also records the last use of the key.
    client.money();
    proxy.hold_answers();
    service.terminate();
    // After `outage_seconds`, the code would be 1.
    assert_eq!(service.code(), Some(0), "{}", service.end());
    let log = service.end();
    assert!(log.contains("did not record the end of this node"), "{log}");
}

#[test]
fn new_calls_that_write_are_refused_while_the_database_commits_nothing() {
    let Some(server) = Server::start() else {
        return;
    };
    let (database, bucket) = (server.database(), Bucket::start());
    let place = place(&database.url(), &bucket);
    let service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    server.hold_commits();
    let began = Instant::now();
    until("calls that write are refused", || {
        let wrong = client.call("POST", "/api/v1/nb/text-generations", Some(&json!({})));
        (wrong.status == 503).then_some(())
    });
    // Three seconds, and as many again for a busy machine; the database's requests end after 20 s.
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(client.create_small_now("a-job").status, 503);
    assert_eq!(client.get("/api/v1/jobs").status, 200, "reads go on");
    server.release_commits();
    let answer = until("calls are accepted", || {
        let answer = client.create_small_now("a-job");
        (answer.status != 503).then_some(answer)
    });
    client.job_when(&answer.accepted(), "done");
    service.stop();
}
