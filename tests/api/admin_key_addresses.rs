//! A key's allowed IP addresses.

use crate::support::{Customer, Options, Server};
use serde_json::{Value, json};

/// A server behind a proxy on this machine.
fn behind_a_proxy() -> Server {
    Server::with(Options::new().set("server.trusted_proxies", vec!["127.0.0.1", "10.0.0.0/8"]))
}

fn status_from(server: &Server, customer: &Customer, forwarded: &str) -> u16 {
    let call = server.native(customer, "GET", "/balance");
    call.header("X-Forwarded-For", forwarded).send().status
}

#[test]
fn ipv4_ranges_written_as_ipv6_allow_their_addresses() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for range in ["::ffff:127.0.0.1", "::ffff:127.0.0.0/104"] {
        let key = server.another_key(&customer.account, json!({"allowed_ips": [range]}));
        server.get("/api/v1/balance").bearer(&key.key).expect(200);
    }
    let key = server.another_key(
        &customer.account,
        json!({"allowed_ips": ["::ffff:192.0.2.7"]}),
    );
    let shown = server
        .admin("GET", &format!("/keys/{}", key.key_id))
        .expect(200)
        .json();
    assert_eq!(shown["allowed_ips"], json!(["192.0.2.7/32"]));
    let refused = server.get("/api/v1/balance").bearer(&key.key);
    refused.refused(403, "address_not_allowed");
}

#[test]
fn a_key_is_rejected_from_an_address_outside_its_ranges() {
    let server = Server::start();
    let elsewhere = server.customer_with("1.00", json!({"allowed_ips": ["192.0.2.0/24"]}));
    let refused = server.native(&elsewhere, "GET", "/balance");
    let refused = refused.refused(403, "address_not_allowed");
    assert!(refused.text().contains("127.0.0.1"));
    // The address check comes first, like the check that the key is valid.
    server
        .native(&elsewhere, "GET", "/nothing")
        .refused(403, "address_not_allowed");
    let here = json!({"allowed_ips": ["192.0.2.0/24", "127.0.0.1"]});
    let here = server.customer_with("1.00", here);
    server.native(&here, "GET", "/balance").expect(200);
    let own = server.native(&here, "GET", "/key").expect(200).json();
    assert_eq!(own["allowed_ips"], json!(["192.0.2.0/24", "127.0.0.1/32"]));
    let path = format!("/keys/{}", elsewhere.key_id);
    let open = json!({"allowed_ips": null});
    server.admin("PATCH", &path).json(&open).expect(200);
    server.native(&elsewhere, "GET", "/balance").expect(200);
    let own = server.native(&elsewhere, "GET", "/key").expect(200).json();
    assert!(own.get("allowed_ips").is_none());
}

#[test]
fn only_a_trusted_proxy_determines_the_client_address() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"allowed_ips": ["192.0.2.0/24"]}));
    assert_eq!(status_from(&server, &customer, "192.0.2.7"), 403);
    let server = behind_a_proxy();
    let customer = server.customer_with("1.00", json!({"allowed_ips": ["192.0.2.0/24"]}));
    assert_eq!(status_from(&server, &customer, "192.0.2.7"), 200);
    assert_eq!(status_from(&server, &customer, "192.0.2.7, 10.1.2.3"), 200);
    assert_eq!(status_from(&server, &customer, "198.51.100.1"), 403);
    // The caller forged the first address; the proxy appended the second.
    assert_eq!(
        status_from(&server, &customer, "192.0.2.7, 198.51.100.1"),
        403
    );
    assert_eq!(status_from(&server, &customer, "192.0.2.7, nonsense"), 403);
    server
        .native(&customer, "GET", "/balance")
        .refused(403, "address_not_allowed");
    let free = server.customer("1.00");
    assert_eq!(status_from(&server, &free, "nonsense"), 200);
}

#[test]
fn ranges_are_shown_normalized_and_invalid_ranges_are_named() {
    let server = Server::start();
    let account = server.customer("1.00").account;
    let keys = format!("/accounts/{account}/keys");
    let post = |ranges: Value| {
        let body = json!({"name": "k", "allowed_ips": ranges});
        server.admin("POST", &keys).json(&body)
    };
    let made = post(json!(["192.0.2.77/24", "::1"])).expect(201).json();
    assert_eq!(made["allowed_ips"], json!(["192.0.2.0/24", "::1/128"]));
    assert!(post(Value::Null).expect(201).json()["allowed_ips"].is_null());
    post(json!(["10.0.0.0/33", "::1", "localhost"])).invalid(&["allowed_ips[0]", "allowed_ips[2]"]);
    post(json!([])).invalid(&["allowed_ips"]);
    post(json!("10.0.0.0/8")).invalid(&["allowed_ips"]);
    post(json!(vec!["10.0.0.1"; 65])).invalid(&["allowed_ips"]);
}

#[test]
fn the_audit_log_names_the_operators_address_behind_a_proxy() {
    let server = behind_a_proxy();
    let pause = json!({"project": true});
    let call = server.admin("PUT", "/pause").json(&pause);
    call.header("X-Forwarded-For", "203.0.113.9").expect(200);
    let log = server.admin("GET", "/audit?limit=1").expect(200).json();
    assert_eq!(log["data"][0]["address"], "203.0.113.9");
}
