//! The operator's view of several nodes: list, readiness and metrics.

use crate::bucket::Bucket;
use crate::client::Connection;
use crate::postgres::place;
use crate::test_directory::{Service, TestDirectory, until};
use serde_json::Value;
use tintype_postgres::testing::{Server, server};

fn list(place: &TestDirectory, service: &Service) -> Value {
    let address = format!("http://{}", service.address());
    let listed = place.run(&["node", "list", "--json", "--server", &address]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    serde_json::from_str(&listed.out).expect("JSON")
}

fn readiness(service: &Service) -> (u16, String) {
    let mut connection = Connection::open(&service.address()).expect("a connection");
    let answer = connection
        .call("GET /readyz HTTP/1.1", "")
        .expect("an answer");
    (answer.status, answer.json().to_string())
}

/// The value of a metric with these labels.
fn figure(service: &Service, name: &str) -> f64 {
    let mut connection = Connection::open(&service.address()).expect("a connection");
    let answer = connection
        .call("GET /metrics HTTP/1.1", "")
        .expect("an answer");
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.expect(name).parse().expect("a number")
}

#[test]
fn nodes_are_listed_with_their_differences_until_one_dies() {
    let Some(server) = server() else { return };
    let (database, bucket) = (server.database(), Bucket::start());
    let (first, mut second) = (
        place(&database.url(), &bucket),
        place(&database.url(), &bucket),
    );
    let here = first.serve();
    second.set("JOBS__MAX_RUNS", "7");
    let mut there = second.serve();
    assert_eq!((readiness(&here).0, readiness(&there).0), (200, 200));
    let nodes = until("both nodes are listed", || {
        let nodes = list(&first, &here);
        (nodes["data"].as_array().expect("nodes").len() == 2).then_some(nodes)
    });
    assert_eq!(nodes["shared"], true);
    let warning = nodes["warnings"][0].as_str().expect("a warning");
    assert!(warning.contains("configured differently"), "{warning}");
    let pids: Vec<&Value> = nodes["data"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|it| &it["pid"])
        .collect();
    assert_eq!(
        pids,
        [here.pid(), there.pid()],
        "in the order of their starts"
    );
    assert_eq!(nodes["data"][0]["answers"], true);
    for node in nodes["data"].as_array().expect("nodes") {
        assert_eq!(node["state"], "up");
        assert!(
            node["beat_age_ms"].as_u64().expect("an age") < 3_000,
            "{node}"
        );
    }
    assert_eq!(figure(&here, "tintype_node_configurations"), 2.0);
    there.kill();
    until("the dead node is off the list", || {
        let nodes = list(&first, &here);
        (nodes["data"].as_array().expect("nodes").len() == 1).then_some(())
    });
    assert_eq!(figure(&here, "tintype_node_takeovers_total"), 1.0);
    assert_eq!(figure(&here, "tintype_nodes{state=\"up\"}"), 1.0);
    assert_eq!(figure(&here, "tintype_node_trusted"), 1.0);
    here.stop();
}

#[test]
fn a_node_without_its_database_is_not_ready_and_reports_why() {
    let Some(server) = Server::start() else {
        return;
    };
    let (database, bucket) = (server.database(), Bucket::start());
    let place = place(&database.url(), &bucket);
    let service = place.serve();
    assert_eq!(readiness(&service).0, 200);
    server.stop();
    until("the node is not ready, and says why", || {
        let (status, said) = readiness(&service);
        (status == 503 && said.contains("has not confirmed")).then_some(())
    });
    let mut connection = Connection::open(&service.address()).expect("a connection");
    let alive = connection
        .call("GET /healthz HTTP/1.1", "")
        .expect("an answer");
    assert_eq!(alive.status, 200, "the process lives");
    server.start_again();
    until("the node is ready", || {
        (readiness(&service).0 == 200).then_some(())
    });
    service.stop();
}
