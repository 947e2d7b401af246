//! Specification, "Payload".

use crate::checks::assert_documented;
use crate::helpers::{millis, server};
use crate::receiver::Receiver;
use crate::support::sample_images::tiny_png;
use crate::support::{Behaviour, Server};
use serde_json::{Value, json};
use std::time::Duration;

/// The payload for a job with these members.
fn payload(server: &Server, receiver: &Receiver, extra: Value) -> (String, Value) {
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let before = receiver.count();
    let job = server.create_with(&customer, extra);
    server.delivery_in(&job, "delivered");
    let received = receiver.once(before + 1);
    (job, received[before].json())
}

#[test]
fn the_payload_has_exactly_the_specified_fields() {
    let (server, receiver) = (server(), Receiver::content());
    for behaviour in [Behaviour::Succeed, Behaviour::Block("no")] {
        server.generator.behave(behaviour);
        let (_, payload) = payload(&server, &receiver, json!({}));
        let names: Vec<&String> = payload.as_object().unwrap().keys().collect();
        assert_eq!(names, ["error", "job_id", "metadata", "result", "status"]);
        assert_documented(server.address, "jobEnded", &payload);
    }
}

#[test]
fn job_id() {
    let (server, receiver) = (server(), Receiver::content());
    let (job, payload) = payload(&server, &receiver, json!({}));
    assert_eq!(payload["job_id"], job.as_str());
}

#[test]
fn status_is_done_or_failed() {
    let (server, receiver) = (server(), Receiver::content());
    assert_eq!(payload(&server, &receiver, json!({})).1["status"], "done");
    server.generator.behave(Behaviour::Garbage);
    assert_eq!(payload(&server, &receiver, json!({})).1["status"], "failed");
}

#[test]
fn a_canceled_job_is_failed() {
    let (server, receiver) = (
        Server::with(crate::helpers::options().slots(1)),
        Receiver::content(),
    );
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create_with(&customer, json!({"metadata": {"a": 1}}));
    server
        .native(&customer, "DELETE", &format!("/jobs/{job}"))
        .expect(200);
    server.delivery_in(&job, "delivered");
    let expected = json!({
        "job_id": job, "status": "failed", "result": null, "error": "canceled", "metadata": {"a": 1},
    });
    assert_eq!(receiver.once(1)[0].json(), expected);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn result_contains_a_presigned_url_valid_for_24_hours() {
    let (server, receiver) = (server(), Receiver::content());
    let (job, payload) = payload(&server, &receiver, json!({}));
    let url = payload["result"]["image_url"].as_str().unwrap();
    assert_eq!(payload["result"].as_object().unwrap().len(), 1);
    assert!(url.contains(&job), "{url}");
    let target = url.strip_prefix(&format!("http://{}", server.address));
    let target = target.expect("an absolute URL of this server");
    assert_eq!(server.get(target).expect(200).body, tiny_png());
    server.clock.advance(Duration::from_secs(86_399));
    server.get(target).expect(200);
    server.clock.advance(Duration::from_secs(2));
    server.get(target).refused(403, "url_expired");
}

#[test]
fn result_is_signed_anew_at_each_attempt() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    server.delivery_after(&job, 1);
    server.pass(Duration::from_secs(61));
    server.delivery_in(&job, "delivered");
    let urls: Vec<String> = receiver
        .once(2)
        .iter()
        .map(|it| {
            it.json()["result"]["image_url"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_ne!(urls[0], urls[1]);
    for url in &urls {
        let target = url.replace(&format!("http://{}", server.address), "");
        assert_eq!(server.get(&target).expect(200).body, tiny_png());
    }
    // The second URL outlives the first.
    server.clock.advance(Duration::from_secs(86_400 - 30));
    let target = |at: usize| urls[at].replace(&format!("http://{}", server.address), "");
    server.get(&target(0)).refused(403, "url_expired");
    server.get(&target(1)).expect(200);
}

#[test]
fn result_is_null_unless_done() {
    let (server, receiver) = (server(), Receiver::content());
    server.generator.behave(Behaviour::Refuse("no"));
    assert!(payload(&server, &receiver, json!({})).1["result"].is_null());
}

#[test]
fn error_is_set_only_when_failed() {
    let (server, receiver) = (server(), Receiver::content());
    assert!(payload(&server, &receiver, json!({})).1["error"].is_null());
    server.generator.behave(Behaviour::Block("the prompt"));
    let (_, payload) = payload(&server, &receiver, json!({}));
    assert_eq!(payload["error"], "blocked for safety: the prompt");
}

#[test]
fn error_is_plain_ascii_even_if_the_backend_returns_other_characters() {
    let (server, receiver) = (server(), Receiver::content());
    server
        .generator
        .behave(Behaviour::Refuse("na\u{ef}ve \u{1f98a}\n\u{202e}"));
    let (_, payload) = payload(&server, &receiver, json!({}));
    let error = payload["error"].as_str().unwrap();
    assert!(error.chars().all(|c| (' '..='~').contains(&c)), "{error:?}");
}

#[test]
fn metadata_is_echoed() {
    let (server, receiver) = (server(), Receiver::content());
    let metadata = json!({"order": 7, "tags": ["a", null, true, {"x": [-1, 2.5]}], "": "empty name",
        "caf\u{e9}": "\u{1f98a}\u{0}\u{2028}\"\\/"});
    let (_, payload) = payload(&server, &receiver, json!({"metadata": metadata}));
    assert_eq!(payload["metadata"], metadata);
}

#[test]
fn metadata_loses_keys_that_begin_with_an_underscore_at_the_top_only() {
    let (server, receiver) = (server(), Receiver::content());
    let metadata = json!({"_private": 1, "_": 2, "__proto__": 3, "a_": {"_inner": [{"_deep": 4}]}});
    let (_, sent) = payload(&server, &receiver, json!({"metadata": metadata}));
    assert_eq!(sent["metadata"], json!({"a_": {"_inner": [{"_deep": 4}]}}));
    let (_, sent) = payload(&server, &receiver, json!({"metadata": {"_all": "private"}}));
    assert_eq!(sent["metadata"], json!({}), "supplied, so not null");
}

#[test]
fn metadata_is_null_when_none_was_supplied() {
    let (server, receiver) = (server(), Receiver::content());
    for none in [json!({}), json!({"metadata": null})] {
        let (_, payload) = payload(&server, &receiver, none);
        assert!(payload["metadata"].is_null(), "{payload}");
    }
}

#[test]
fn hostile_105_metadata_of_16_kib_stored_outside_the_record_is_delivered() {
    let (server, receiver) = (server(), Receiver::content());
    // Two bytes each in UTF-8, and six in the sent form.
    let metadata = json!({"text": "\u{e9}".repeat(8_000), "_private": "p"});
    let (job, payload) = payload(&server, &receiver, json!({"metadata": metadata}));
    assert_eq!(payload["metadata"], json!({"text": metadata["text"]}));
    assert_eq!(payload["job_id"], job.as_str());
    let stored = server.objects_left();
    assert!(
        stored.iter().any(|it| it.starts_with("words/")),
        "{stored:?}"
    );
    assert!(receiver.received()[0].body.len() > 48_000);
}

#[test]
fn the_payload_has_no_moments_and_the_lookup_no_metadata() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    server.webhook(&customer, &receiver.url("/"));
    let job = server.create_with(&customer, json!({"metadata": {"a": 1}}));
    let payload = receiver.once(1)[0].json();
    let looked_up = server.job_once(&customer, &job, "done");
    for moment in ["created_at", "started_at", "finished_at"] {
        assert!(payload.get(moment).is_none(), "{payload}");
        millis(&looked_up[moment]);
    }
    assert!(looked_up.get("metadata").is_none(), "{looked_up}");
}
