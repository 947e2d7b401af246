//! API keys: where they are sent, and which are rejected.

use crate::fixture::{ResponseAssertions, fox};
use crate::support::{Customer, Server};
use serde_json::json;

const PATH: &str = "/v1beta/models/fast:generateContent";

#[test]
fn the_key_is_accepted_in_any_of_three_ways() {
    let server = Server::start();
    let Customer { key, .. } = server.customer("1.00");
    let call = |target: &str| server.post(target).json(&fox());
    call(PATH).header("x-goog-api-key", &key).expect(200);
    call(PATH).header("X-Goog-Api-Key", &key).expect(200);
    call(PATH).bearer(&key).expect(200);
    call(&format!("{PATH}?key={key}")).expect(200);
    call(&format!("{PATH}?alt=json&key={key}&prettyPrint=false")).expect(200);
}

#[test]
fn the_google_header_takes_precedence_over_other_credentials() {
    let server = Server::start();
    let Customer { key, .. } = server.customer("1.00");
    let call = |target: &str| server.post(target).json(&fox());
    call(&format!("{PATH}?key=bad"))
        .header("x-goog-api-key", &key)
        .bearer("bad")
        .expect(200);
    call(&format!("{PATH}?key={key}"))
        .header("x-goog-api-key", "bad")
        .expect(400);
}

#[test]
fn all_invalid_keys_get_the_same_error() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let expired = server.another_key(
        &customer.account,
        json!({"expires_at": "2001-01-01T00:00:00Z"}),
    );
    let inactive = server.another_key(&customer.account, json!({}));
    server
        .admin("PATCH", &format!("/keys/{}", inactive.key_id))
        .json(&json!({"active": false}))
        .expect(200);
    let long = "x".repeat(5_000);
    let cut = &customer.key[..50];
    for key in ["bad", cut, &long, "tt_", &expired.key, &inactive.key] {
        let answer = server
            .post(PATH)
            .header("x-goog-api-key", key)
            .json(&fox())
            .send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(said.starts_with("API key not valid"), "{said}");
        assert!(!said.contains(key) || key == "bad", "{said}");
        let details = answer.json()["error"]["details"].clone();
        assert_eq!(details[0]["reason"], "API_KEY_INVALID");
        assert_eq!(
            details[0]["@type"],
            "type.googleapis.com/google.rpc.ErrorInfo"
        );
        assert_eq!(details[0]["domain"], "googleapis.com");
    }
    for authorization in ["Basic abc", "Bearer", "abc"] {
        let answer = server
            .post(PATH)
            .header("Authorization", authorization)
            .json(&fox())
            .send();
        answer.assert_google_error(400, "INVALID_ARGUMENT");
    }
    for name in ["x-goog-api-key", "Authorization"] {
        let twice = server
            .post(PATH)
            .header(name, &customer.key)
            .header(name, &customer.key)
            .json(&fox())
            .send();
        twice.assert_google_error(400, "INVALID_ARGUMENT");
    }
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn a_key_is_rejected_from_an_address_outside_its_ranges() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"allowed_ips": ["192.0.2.0/24"]}));
    let call = server.post(PATH).json(&fox());
    let answer = call.clone().header("x-goog-api-key", &customer.key).send();
    let said = answer.assert_google_error(403, "PERMISSION_DENIED");
    assert!(said.contains("127.0.0.1"), "{said}");
    let path = format!("/keys/{}", customer.key_id);
    let here = json!({"allowed_ips": ["127.0.0.0/8"]});
    server.admin("PATCH", &path).json(&here).expect(200);
    call.header("x-goog-api-key", &customer.key).expect(200);
}

#[test]
fn an_empty_key_is_a_missing_one() {
    let server = Server::start();
    let call = |target: &str| server.post(target).json(&fox());
    for answer in [
        call(PATH).header("x-goog-api-key", "").send(),
        call(&format!("{PATH}?key=")).send(),
    ] {
        answer.assert_google_error(403, "PERMISSION_DENIED");
    }
}

#[test]
fn the_native_interface_ignores_the_google_header() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .get("/api/v1/balance")
        .header("x-goog-api-key", &customer.key)
        .refused(401, "unauthorized");
}
