//! The graceful shutdown.

use crate::bucket::Bucket;
use crate::client::Connection;
use crate::postgres::place;
use crate::test_directory::{TestDirectory, until};
use std::net::TcpStream;
use tintype_postgres::testing::server;

#[test]
fn a_running_job_is_finished_within_the_grace_period() {
    let place = TestDirectory::with(&[("SERVER__SHUTDOWN_GRACE_SECONDS", "300")]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let client = service.client(&key);
    let id = client.create_slow("2K");
    client.job_when(&id, "processing");
    service.terminate();
    let refused = until("connections are refused", || {
        TcpStream::connect(service.address()).err()
    });
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert!(service.status().is_none(), "the job is still being made");
    assert_eq!(service.code(), Some(0), "{}", service.end());
    let log = service.end();
    // actix logs this for a connection that arrives after its workers have stopped and before its listener has.
    let own = |line: &&str| line.contains("ERROR") && !line.contains("accept: No workers");
    assert_eq!(log.lines().find(own), None, "{log}");

    let service = place.serve();
    let client = service.client(&key);
    assert_eq!(client.job(&id)["status"], "done");
    assert_eq!(client.money(), ("99.866".into(), "0.00".into()));
    service.stop();
}

#[test]
fn a_run_interrupted_by_the_shutdown_is_not_counted() {
    let place = TestDirectory::with(&[
        ("SERVER__SHUTDOWN_GRACE_SECONDS", "0"),
        ("JOBS__MAX_RUNS", "1"),
    ]);
    let mut service = place.serve();
    let key = service.printed_key().expect("a key");
    let id = service.client(&key).create_slow("2K");
    let began = service.client(&key).job_when(&id, "processing")["started_at"].clone();
    for _ in 0..3 {
        service.stop();
        service = place.serve();
        let job = service.client(&key).job(&id);
        assert_eq!(job["status"], "processing", "{job}");
        assert_eq!(job["started_at"], began);
    }
    let job = service.client(&key).job_when(&id, "done");
    assert_eq!(job["started_at"], began);
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn a_node_answers_calls_until_load_balancers_know_of_the_stop() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let mut place = place(&database.url(), &bucket);
    place.set("SERVER__DRAIN_SECONDS", "300");
    place.set("SERVER__SHUTDOWN_GRACE_SECONDS", "300");
    let mut service = place.serve();
    let client = service.client(&service.printed_key().expect("a key"));
    let mut kept = Connection::open(&service.address()).expect("a connection");
    service.terminate();
    let readiness = until("it is not ready", || {
        let answer = client.get("/readyz");
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(readiness.header("Connection"), Some("close"));
    let reason = readiness.json()["detail"].to_string();
    assert!(reason.contains("stopping"), "{reason}");
    let last = kept.call("GET /healthz HTTP/1.1", "").expect("an answer");
    assert_eq!(
        (last.status, last.header("Connection")),
        (200, Some("close"))
    );
    client.create_small_now("while-it-stops").accepted();
    assert_eq!(service.status(), None);
    // A signal within a second of the first belongs to it.
    until("another signal ends it", || {
        if service.status().is_none() {
            service.terminate();
        }
        service.status()
    });
    assert_eq!(service.code(), Some(0), "{}", service.end());
}
