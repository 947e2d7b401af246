//! Interactions that are looked up, canceled, or failed.

use super::{after, call, create, created, fox, get, id_of, in_background, output_image};
use super::{until_status, with};
use crate::fixture::ResponseAssertions;
use crate::support::raw::Wire;
use crate::support::sample_images::tiny_png;
use crate::support::{Behaviour, OneNode, Options, Server, until};
use serde_json::{Value, json};
use tintype_storage::domain::ids::KeyId;
use tintype_storage::testing::stalled::StalledEngine;

#[test]
fn a_background_interaction_is_answered_before_its_image_exists() {
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let path = format!("/accounts/{}/webhooks", customer.account);
    let webhook = json!({"url": "https://example.com/tintype"});
    server.admin("POST", &path).json(&webhook).expect(201);
    server.generator.hold();
    let started = created(&server, &customer, &in_background());
    let id = id_of(&started);
    assert_eq!(started["status"], "in_progress");
    assert_eq!(started["steps"], json!([]));
    server.until_running(1);
    assert_eq!(get(&server, &customer, &id)["status"], "in_progress");
    server.assert_money(&customer, "1.00", "0.039", "0.961");
    server.generator.release_all();
    let ended = until_status(&server, &customer, &id, "completed");
    assert_eq!(output_image(&ended), tiny_png());
    let listed = format!("/deliveries?account_id={}", customer.account);
    let deliveries = server.admin("GET", &listed).expect(200).json();
    assert_eq!(deliveries["data"], json!([]), "no webhook is called");
    let record = server
        .admin("GET", &format!("/jobs/{id}"))
        .expect(200)
        .json();
    assert_eq!(record["origin"], "background");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn a_queued_background_interaction_survives_a_restart() {
    let server = Server::with(Options::new().on_disk().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let ids = [(); 2].map(|()| id_of(&created(&server, &customer, &in_background())));
    server.until_running(1);
    let server = server.restart();
    server.generator.release_all();
    for id in ids {
        let ended = until_status(&server, &customer, &id, "completed");
        assert_eq!(output_image(&ended), tiny_png());
    }
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

/// The connection breaks while the acceptance is written.
#[test]
fn a_broken_connection_does_not_cancel_a_background_interaction_and_a_repeat_finds_it() {
    let gate = StalledEngine::in_memory();
    let server = Server::with(Options::new().slots(1).behind(&gate));
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = created(&server, &customer, &in_background());
    server.until_running(1);
    gate.hold();
    let mut wire = Wire::open(server.address);
    let body = after(&id_of(&first));
    let owl = with(json!({"background": true, "input": "an owl"}));
    wire.send(&create(&server, &customer, &owl).wire());
    until("the acceptance is written", || gate.held() > 0);
    wire.finish();
    assert!(wire.is_closed(), "the call was answered");
    gate.open();
    server.until_live(2);
    let key = KeyId(customer.key_id.parse().unwrap());
    let (compat, now) = (&server.instance().compat, server.inside().now());
    until("a repeat finds it", || {
        compat.recent_calls.has_earlier(key, None, now)
    });
    let again = create(&server, &customer, &owl).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    server.until_live(2);
    let id = id_of(&again.json());
    assert_ne!(id, id_of(&first));
    let other = create(&server, &customer, &body).send();
    let said = other.assert_google_error(400, "INVALID_ARGUMENT");
    assert!(said.ends_with("its job is processing"), "{said}");
    server.generator.release_all();
    until_status(&server, &customer, &id, "completed");
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn an_idempotency_key_creates_one_interaction() {
    let server = Server::with(Options::new().one_node(OneNode::Repeats));
    let customer = server.customer("1.00");
    let call = |body: &Value| create(&server, &customer, body).idempotent("order-7");
    let first = call(&in_background()).expect(200);
    until_status(&server, &customer, &id_of(&first.json()), "completed");
    let again = call(&in_background()).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(
        again.json(),
        first.json(),
        "the status is that of the first answer"
    );
    for other in [fox(), with(json!({"background": true, "input": "an owl"}))] {
        call(&other)
            .send()
            .assert_google_error(400, "INVALID_ARGUMENT");
    }
    // Without a key, an answered call is another one.
    let second = created(&server, &customer, &in_background());
    assert_ne!(second["id"], first.json()["id"]);
    until_status(&server, &customer, &id_of(&second), "completed");
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn a_repeated_key_gets_its_interaction_though_the_previous_image_was_deleted() {
    let server = Server::with(Options::new().one_node(OneNode::Repeats));
    let customer = server.customer("1.00");
    let fox = id_of(&created(&server, &customer, &fox()));
    let hat = || create(&server, &customer, &after(&fox)).idempotent("hat");
    let first = hat().expect(200).json();
    call(&server, &customer, "DELETE", &fox).expect(200);
    let again = hat().expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), first);
    let other = create(&server, &customer, &after(&id_of(&first))).idempotent("hat");
    other.send().assert_google_error(400, "INVALID_ARGUMENT");
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn only_a_queued_interaction_can_be_canceled() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let running = id_of(&created(&server, &customer, &in_background()));
    server.until_running(1);
    let format = json!({"type": "image", "mime_type": "image/jpeg"});
    let body = with(json!({"background": true, "response_format": format}));
    let queued = id_of(&created(&server, &customer, &body));
    server.assert_money(&customer, "1.00", "0.078", "0.922");
    let cancel = |id: &str| {
        call(&server, &customer, "POST", &format!("{id}/cancel"))
            .expect(200)
            .json()
    };
    for _ in 0..2 {
        let canceled = cancel(&queued);
        assert_eq!(canceled["status"], "cancelled");
        assert_eq!(canceled["errors"][0]["code"], "CANCELLED");
        assert_eq!(canceled["steps"], json!([]));
    }
    assert_eq!(get(&server, &customer, &queued)["status"], "cancelled");
    server.assert_money(&customer, "1.00", "0.039", "0.961");
    assert_eq!(cancel(&running)["status"], "in_progress");
    let delete = |id: &str| call(&server, &customer, "DELETE", id);
    let refused = delete(&running).send();
    let said = refused.assert_google_error(400, "INVALID_ARGUMENT");
    assert!(said.contains(&format!("{running}/cancel")), "{said}");
    // It has no image to delete.
    assert_eq!(delete(&queued).expect(200).json(), json!({}));
    server.generator.release_all();
    until_status(&server, &customer, &running, "completed");
    assert_eq!(output_image(&cancel(&running)), tiny_png());
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn a_failure_has_a_code_and_a_message_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (behaviour, code) in [
        (Behaviour::Block("violence"), "IMAGE_SAFETY"),
        (Behaviour::Refuse("not that"), "INVALID_ARGUMENT"),
        (Behaviour::Break("it fell over"), "INTERNAL"),
    ] {
        server.generator.behave(behaviour);
        let id = id_of(&created(&server, &customer, &in_background()));
        let failed = until_status(&server, &customer, &id, "failed");
        assert_eq!(failed["errors"][0]["code"], code, "{failed}");
        assert!(failed["errors"][0]["message"].is_string());
        assert_eq!(failed["steps"], json!([]));
        assert!(failed.get("usage").is_none());
        assert_eq!(
            call(&server, &customer, "DELETE", &id).expect(200).json(),
            json!({})
        );
    }
    // A caller that waits gets a block in the same form, and other failures as the errors that they are.
    let refused = create(&server, &customer, &fox()).send();
    refused.assert_google_error(500, "INTERNAL");
    server.generator.behave(Behaviour::Block("violence"));
    let blocked = created(&server, &customer, &fox());
    assert_eq!(blocked["status"], "failed");
    assert_eq!(blocked["errors"][0]["code"], "IMAGE_SAFETY");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}
