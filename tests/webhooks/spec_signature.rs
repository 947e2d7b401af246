//! Specification, "Signature"; decision 4, the two encodings and the Standard Webhooks headers.

use crate::checks::{assert_signed, reserialized, standard_signature, x_signature};
use crate::helpers::{Webhook, server};
use crate::receiver::{ReceivedRequest, Receiver};
use crate::support::Server;
use crate::support::clock::START_MILLIS;
use serde_json::{Value, json};

/// A delivery with this metadata to a webhook with this encoding.
fn delivered(server: &Server, encoding: &str, metadata: &Value) -> (Webhook, ReceivedRequest) {
    let receiver = Receiver::content();
    let customer = server.customer("1.00");
    let shape = json!({"url": receiver.url("/"), "encoding": encoding});
    let webhook = server.webhook_with(&customer, shape);
    let job = server.create_with(&customer, json!({ "metadata": metadata }));
    server.delivery_in(&job, "delivered");
    (webhook, receiver.once(1).remove(0))
}

fn awkward() -> Value {
    json!({"b": {"z": 1, "a": [{"y": 1, "x": 2}]}, "a": "caf\u{e9} \u{1f98a} \u{7f}\u{2028}</script>",
        "\u{e9}": 1, "Z": -0.5, "big": 9_007_199_254_740_993i64})
}

#[test]
fn rule_1_the_body_is_signed_as_it_is_re_serialized() {
    let server = server();
    let (webhook, delivery) = delivered(&server, "ascii", &awkward());
    let text = reserialized(&delivery.body, true);
    let timestamp = delivery.only_header("x-timestamp");
    assert_eq!(
        delivery.only_header("x-signature"),
        x_signature(&webhook.secret, timestamp, &text)
    );
    // A receiver behind a proxy that re-serializes the JSON can verify too.
    let pretty = serde_json::to_vec_pretty(&delivery.json()).unwrap();
    assert_eq!(reserialized(&pretty, true), text);
}

#[test]
fn decision_4_the_raw_body_is_the_canonical_text() {
    let server = server();
    let (_, delivery) = delivered(&server, "ascii", &awkward());
    let text = String::from_utf8(delivery.body.clone()).unwrap();
    assert_eq!(delivery.body, reserialized(&delivery.body, true));
    assert!(text.bytes().all(|it| (0x20..=0x7e).contains(&it)), "{text}");
    assert!(text.contains(r#""a":"caf\u00e9 \ud83e\udd8a \u007f\u2028</script>""#));
    assert!(text.contains(r#""b":{"a":[{"x":2,"y":1}],"z":1},"big":9007199254740993"#));
    assert!(text.starts_with(r#"{"error":null,"job_id":""#), "{text}");
}

#[test]
fn decision_4_encoding_utf8_sends_characters_as_they_are() {
    let server = server();
    let (webhook, delivery) = delivered(&server, "utf8", &awkward());
    let text = String::from_utf8(delivery.body.clone()).unwrap();
    assert_eq!(delivery.body, reserialized(&delivery.body, false));
    assert!(
        text.contains("caf\u{e9} \u{1f98a} \u{7f}\u{2028}"),
        "{text}"
    );
    assert_signed(&delivery, &webhook.secret);
}

#[test]
fn rule_2_the_message_is_timestamp_full_stop_body() {
    let server = server();
    let (webhook, delivery) = delivered(&server, "ascii", &json!({}));
    let timestamp = delivery.only_header("x-timestamp");
    assert_eq!(timestamp, (START_MILLIS / 1_000).to_string());
    let signed = |timestamp: &str| x_signature(&webhook.secret, timestamp, &delivery.body);
    assert_eq!(delivery.only_header("x-signature"), signed(timestamp));
    assert_ne!(delivery.only_header("x-signature"), signed("1795000001"));
}

#[test]
fn rule_3_the_key_is_the_secret_of_the_registered_url() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let webhooks = ["/a", "/b"].map(|path| {
        let url = receiver.url(path);
        (server.webhook(&customer, &url), url)
    });
    assert_ne!(webhooks[0].0.secret, webhooks[1].0.secret);
    for (at, (webhook, url)) in webhooks.iter().enumerate() {
        let job = server.create_with(&customer, json!({ "callback_url": url }));
        server.delivery_in(&job, "delivered");
        assert_signed(&receiver.once(at + 1)[at], &webhook.secret);
    }
}

#[test]
fn rule_4_one_changed_byte_does_not_verify() {
    let server = server();
    let (webhook, delivery) = delivered(&server, "ascii", &json!({"amount": 1}));
    let timestamp = delivery.only_header("x-timestamp");
    let body = String::from_utf8(delivery.body.clone()).unwrap();
    let changed = body.replace(r#""amount":1"#, r#""amount":2"#);
    assert_ne!(changed, body);
    assert_ne!(
        delivery.only_header("x-signature"),
        x_signature(&webhook.secret, timestamp, changed.as_bytes())
    );
}

#[test]
fn rule_5_the_timestamp_is_the_moment_of_sending() {
    // Receivers allow 300 s; the clock stands still here, so the timestamp is exact.
    let server = server();
    server.clock.advance(std::time::Duration::from_secs(12_345));
    let (_, delivery) = delivered(&server, "ascii", &json!({}));
    assert_eq!(
        delivery.only_header("x-timestamp"),
        server.clock.seconds().to_string()
    );
}

#[test]
fn decision_4_the_standard_webhooks_headers_are_sent_as_well() {
    let server = server();
    let (webhook, delivery) = delivered(&server, "utf8", &awkward());
    let id = delivery.only_header("webhook-id");
    assert!(!id.is_empty() && !id.contains('.'), "{id}");
    assert_eq!(
        delivery.only_header("webhook-timestamp"),
        delivery.only_header("x-timestamp")
    );
    assert_eq!(
        delivery.only_header("webhook-signature"),
        standard_signature(&webhook.secret, &delivery)
    );
}
