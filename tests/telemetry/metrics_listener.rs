//! `[server] metrics_listen`: a separate address for the metrics.

use crate::metrics_text::Figures;
use crate::support::http::Request;
use crate::support::poll::until_some;
use crate::support::process::Process;
use std::net::TcpListener;

#[test]
fn metrics_with_a_separate_address_are_served_only_there() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path(), &[("SERVER__METRICS_LISTEN", "127.0.0.1:0")]);
    let address = until_some("the process prints the address of its metrics", || {
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
fn a_metrics_address_in_use_is_an_error_at_startup() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let settings = [("SERVER__METRICS_LISTEN", address.as_str())];
    let output = Process::command(dir.path(), &settings)
        .arg("serve")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        errors.contains(&address) && errors.contains("metrics_listen"),
        "{errors}"
    );
    assert!(
        !dir.path().join("data").exists(),
        "checked before the data directory is created"
    );
}
