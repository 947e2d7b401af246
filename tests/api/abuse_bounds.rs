//! Limits per person, account and webhook, and access control of the metrics.

use crate::support::options::ADMIN_TOKEN;
use crate::support::process::Process;
use crate::support::{Browser, Customer, OneNode, Options, Server, Wire, fox, until};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;

fn webhook(server: &Server, customer: &Customer, url: &str) -> String {
    let path = format!("/accounts/{}/webhooks", customer.account);
    let made = server.admin("POST", &path).json(&json!({"url": url}));
    let made: Value = made.expect(201).json();
    made["webhook_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_account_has_at_most_a_hundred_keys() {
    let server = Server::start();
    let customer = server.customer("1");
    let path = format!("/accounts/{}/keys", customer.account);
    let create = || {
        server
            .admin("POST", &path)
            .json(&json!({"name": "another"}))
    };
    for _ in 1..100 {
        create().expect(201);
    }
    let refused = create().invalid(&["body"]);
    assert!(refused.text().contains("100 keys"), "{}", refused.text());
    let browser = server.operators_browser();
    let in_panel = browser.call(&server, "POST", &path);
    in_panel
        .json(&json!({"name": "another"}))
        .invalid(&["body"]);
    server
        .admin("DELETE", &format!("/keys/{}", customer.key_id))
        .expect(204);
    create().expect(201);
    // The playground issues a further key, which does not count.
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}\r\n--b--\r\n",
        fox()
    );
    let playground = format!("/accounts/{}/generations/pro", customer.account);
    let call = browser.call(&server, "POST", &playground);
    let form = call.bytes("multipart/form-data; boundary=b", form.as_bytes());
    form.expect(202);
    create().invalid(&["body"]);
    let all = server.admin("GET", &format!("{path}?limit=100"));
    assert!(all.expect(200).json()["next_cursor"].is_string());
    let oldest = server.admin("GET", &format!("{path}?limit=1")).expect(200);
    let oldest = oldest.json()["data"][0]["key_id"].clone();
    let oldest = format!("/keys/{}", oldest.as_str().expect("an id"));
    server.admin("DELETE", &oldest).expect(204);
    create().expect(201);
    create().invalid(&["body"]);
    server.customer("1");
}

#[test]
fn a_webhook_gets_one_test_delivery_a_minute_from_all_callers_together() {
    let server = Server::with(Options::new().one_node(OneNode::Attempts).allow_loopback());
    let customer = server.customer("1");
    let owner = server.person(&customer.account, "ada@example.com", "owner");
    let hook = webhook(&server, &customer, "https://example.com/");
    let other = webhook(&server, &customer, "https://shop.example/");
    let test = |hook: &str| server.admin("POST", &format!("/webhooks/{hook}/test"));
    test(&hook).expect(202);
    let refused = test(&hook).refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("60"));
    let path = format!("/accounts/{}/webhooks/{hook}/test", customer.account);
    let by_owner = owner.call(&server, "POST", &path);
    by_owner.refused(429, "rate_limited");
    test(&other).expect(202);
    server.clock.advance(Duration::from_millis(59_500));
    let refused = by_owner.refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    server.clock.advance(Duration::from_millis(500));
    by_owner.expect(202);
}

#[test]
fn a_person_is_limited_to_ten_changes_a_second_with_a_burst_of_fifty() {
    let server = Server::with(Options::new().one_node(OneNode::Rates));
    let customer = server.customer("1");
    let path = format!("/accounts/{}/keys/{}", customer.account, customer.key_id);
    let ada = server.person(&customer.account, "ada@example.com", "owner");
    let bob = server.person(&customer.account, "bob@example.com", "owner");
    let change = json!({"name": "renamed"});
    let rename = || ada.call(&server, "PATCH", &path).json(&change);
    for _ in 0..50 {
        rename().expect(200);
    }
    let refused = rename().refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Reads are not limited, and each person has a separate rate.
    ada.call(&server, "GET", &path).expect(200);
    bob.call(&server, "PATCH", &path).json(&change).expect(200);
    server.clock.advance(Duration::from_secs(1));
    for _ in 0..10 {
        rename().expect(200);
    }
    rename().refused(429, "rate_limited");
    let path = format!("/keys/{}", customer.key_id);
    for _ in 0..100 {
        server.admin("PATCH", &path).json(&change).expect(200);
    }
}

/// Opens an event stream of the panel. Returns whether the service admits it.
fn open_stream(server: &Server, browser: &Browser, path: &str) -> (Wire, bool) {
    let mut wire = Wire::open(server.address);
    wire.send(&browser.call(server, "GET", path).wire());
    loop {
        if wire.peek("event: ready") {
            return (wire, true);
        }
        if wire.peek("rate_limited") {
            return (wire, false);
        }
    }
}

#[test]
fn a_person_has_at_most_32_event_streams_of_the_panel() {
    let server = Server::start();
    let customer = server.customer("1");
    let ada = server.person(&customer.account, "ada@example.com", "viewer");
    let bob = server.person(&customer.account, "bob@example.com", "viewer");
    let path = format!("/accounts/{}/events", customer.account);
    let open = |browser: &Browser| open_stream(&server, browser, &path);
    let mut streams: Vec<(Wire, bool)> = (0..32).map(|_| open(&ada)).collect();
    assert!(streams.iter().all(|(_, admitted)| *admitted));
    let refused = ada.call(&server, "GET", &path).refused(429, "rate_limited");
    assert_eq!(refused.header("retry-after"), Some("5"));
    let others = [bob, server.operators_browser()].map(|it| open(&it));
    assert!(others.iter().all(|(_, admitted)| *admitted));
    streams.pop();
    until("the closed stream has ended", || open(&ada).1);
}

#[test]
fn metrics_need_no_token_only_for_direct_calls_from_this_machine() {
    let server = Server::start();
    server.get("/metrics").expect(200);
    let proxy_headers = [
        "Forwarded",
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "X-Real-IP",
        "Via",
    ];
    for name in proxy_headers {
        let call = server.get("/metrics").header(name, "for=192.0.2.1");
        call.refused(401, "unauthorized");
        call.clone()
            .bearer("not the token")
            .refused(401, "unauthorized");
        call.bearer(ADMIN_TOKEN).expect(200);
    }
}

#[test]
fn a_site_whose_name_leads_to_this_machine_cannot_read_the_metrics() {
    let server = Server::start();
    let call = |host: &str| server.get("/metrics").header("Host", host);
    for host in [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.2:8080",
        "[::1]:8080",
    ] {
        call(host).expect(200);
    }
    for host in [
        "rebound.example",
        "rebound.example:8080",
        "127.0.0.1.rebound.example",
        "localhost.rebound.example",
        "192.0.2.1",
        "[::ffff:192.0.2.1]:8080",
    ] {
        call(host).refused(401, "unauthorized");
        call(host).bearer(ADMIN_TOKEN).expect(200);
    }
}

#[test]
fn a_listener_open_to_other_machines_requires_the_token_for_metrics_and_warns() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [
        ("SERVER__LISTEN", "0.0.0.0:0"),
        ("ADMIN__TOKEN", ADMIN_TOKEN),
    ];
    let mut process = Process::start(dir.path(), &settings);
    process.address = SocketAddr::from(([127, 0, 0, 1], process.address.port()));
    process.call("GET", "/healthz").expect(200);
    let figures = process.call("GET", "/metrics");
    figures.refused(401, "unauthorized");
    figures.bearer(ADMIN_TOKEN).expect(200);
    let log = process.terminate().log;
    assert!(log.contains("other machines reach `0.0.0.0:0`"), "{log}");
}
