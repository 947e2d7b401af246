//! Decisions 1, `callback_url`.

use crate::support::{Customer, Options, Server, fox_with};
use serde_json::json;

const PATH: &str = "/text-generations";

fn register(server: &Server, customer: &Customer, url: &str) {
    let path = format!("/accounts/{}/webhooks", customer.account);
    server
        .admin("POST", &path)
        .json(&json!({"url": url}))
        .expect(201);
}

/// A server whose jobs never end, so that it never delivers a webhook.
fn stalled_server() -> (Server, Customer) {
    let server = Server::with(Options::new().allow_loopback());
    server.generator.hold();
    let customer = server.customer("100.00");
    (server, customer)
}

#[test]
fn a_callback_url_must_be_registered_character_for_character() {
    let (server, customer) = stalled_server();
    let stranger = server.customer("1.00");
    let registered = "http://127.0.0.1:9/Hook?a=1";
    register(&server, &customer, registered);
    register(&server, &stranger, "http://127.0.0.1:9/strangers");
    let call =
        |url: &str| server.generation(&customer, PATH, &fox_with(json!({"callback_url": url})));
    call(registered).expect(202);
    for other in [
        "http://127.0.0.1:9/hook?a=1",
        "http://127.0.0.1:9/Hook",
        "http://127.0.0.1:9/Hook?a=1&",
        "http://127.0.0.1:9/Hook/?a=1",
        "http://127.0.0.1:9/Hook?a=1#",
        "http://127.0.0.1:09/Hook?a=1",
        "http://127.0.0.1:9/%48ook?a=1",
        "https://127.0.0.1:9/Hook?a=1",
        "HTTP://127.0.0.1:9/Hook?a=1",
        "http://localhost:9/Hook?a=1",
        " http://127.0.0.1:9/Hook?a=1",
        "http://127.0.0.1:9/Hook?a=1 ",
        "http://127.0.0.1:9/strangers",
        "not a URL",
    ] {
        call(other).invalid(&["callback_url"]);
    }
    server.assert_money(&customer, "100.00", "0.134", "99.866");
}

#[test]
fn a_callback_url_has_1_to_2048_characters() {
    let (server, customer) = stalled_server();
    let mut longest = "http://127.0.0.1:9/".to_owned();
    longest.push_str(&"a".repeat(2_048 - longest.len()));
    register(&server, &customer, &longest);
    let call =
        |url: &str| server.generation(&customer, PATH, &fox_with(json!({"callback_url": url})));
    call(&longest).expect(202);
    // A fault of the body precedes the balance check.
    let poor = server.customer("0.00");
    for bad in [String::new(), format!("{longest}a"), "é".repeat(2_049)] {
        call(&bad).invalid(&["callback_url"]);
        let body = fox_with(json!({"callback_url": bad}));
        server
            .generation(&poor, PATH, &body)
            .invalid(&["callback_url"]);
    }
}

#[test]
fn the_largest_request_of_all_fits() {
    let (server, customer) = stalled_server();
    let mut longest = "http://127.0.0.1:9/".to_owned();
    longest.push_str(&"😀".repeat(2_048 - longest.chars().count()));
    let path = format!("/accounts/{}/webhooks", customer.account);
    let registered = server
        .admin("POST", &path)
        .json(&json!({"url": longest}))
        .send();
    let mut body = fox_with(json!({"metadata": {"m": "é".repeat(8_000)}}));
    if registered.status == 201 {
        body["callback_url"] = longest.into();
    }
    // Around the size up to which the record holds the prompt, and the maximum.
    for letters in [100, 1_000, 1_279, 1_280, 1_281, 5_000, 32_768] {
        body["prompt"] = "🦊".repeat(letters).into();
        server.generation(&customer, PATH, &body).expect(202);
        let mut bare = body.clone();
        bare.as_object_mut().unwrap().remove("metadata");
        server.generation(&customer, PATH, &bare).expect(202);
    }
    assert!(!server.has_failed());
    server.generator.release_all();
    assert_eq!(server.assert_settled().ended_jobs, 14);
}
