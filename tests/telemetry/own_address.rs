//! `[server] metrics_listen`: the figures apart from the service.

use crate::figures::Figures;
use crate::support::http::Request;
use crate::support::poll::until_some;
use crate::support::process::Process;
use std::net::TcpListener;

#[test]
fn figures_with_an_address_of_their_own_are_told_there_alone() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path(), &[("SERVER__METRICS_LISTEN", "127.0.0.1:0")]);
    let address = until_some("it says where its figures are", || {
        let said = process.said();
        let line = said
            .iter()
            .find_map(|it| it.strip_prefix("Metrics: http://"));
        line.map(|it| it.trim_end_matches("/metrics").parse().unwrap())
    });
    assert_ne!(address, process.address);
    process.call("GET", "/healthz").expect(200);
    process.call("GET", "/metrics").refused(404, "not_found");
    let there = |method: &str, target: &str| Request::new(address, method, target);
    let figures = Figures::read(&there("GET", "/metrics").expect(200).text());
    let labels = [("route", "/healthz"), ("method", "GET"), ("status", "200")];
    assert_eq!(figures.of("tintype_http_requests_total", &labels), 1.0);
    there("POST", "/metrics").refused(405, "method_not_allowed");
    for path in ["/healthz", "/api/v1/balance", "/admin/v1/stats", "/panel"] {
        there("GET", path).refused(404, "not_found");
    }
    let stopped = process.terminate();
    assert_eq!(stopped.status, Some(0), "{}", stopped.log);
}

#[test]
fn an_address_that_is_taken_is_named_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let settings = [("SERVER__METRICS_LISTEN", address.as_str())];
    let output = Process::command(dir.path(), &settings)
        .arg("serve")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains(&address) && told.contains("metrics_listen"),
        "{told}"
    );
    assert!(
        !dir.path().join("data").exists(),
        "found before anything is opened"
    );
}
