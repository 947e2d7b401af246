//! The operator's calls on webhooks (decision 6): register, list, change, delete, rotate, test.

use crate::checks::{assert_signed, standard_signature};
use crate::helpers::{DAY, options, server};
use crate::receiver::Receiver;
use crate::support::clock::START;
use crate::support::{Options, Server};
use base64::Engine as _;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use std::io;
use std::net::IpAddr;
use std::time::Duration;
use tintype_egress::Resolve;

const UNKNOWN: &str = "01a1ee56-5e00-7830-9f1e-fe4a8b85c625";

fn register(server: &Server, account: &str, body: &Value) -> crate::support::http::Request {
    server
        .admin("POST", &format!("/accounts/{account}/webhooks"))
        .json(body)
}

#[test]
fn registering_answers_with_the_webhook_and_its_secret() {
    let server = server();
    let customer = server.customer("1.00");
    let url = "https://example.com/hook?x=%20#part";
    let made = register(&server, &customer.account, &json!({ "url": url }));
    let made = made.expect(201).json();
    assert_eq!(made["url"], url, "character for character");
    assert_eq!(made["encoding"], "ascii");
    assert_eq!(made["created_at"], START);
    assert_eq!(made["account_id"], customer.account.as_str());
    let secret = made["secret"].as_str().unwrap();
    let encoded = secret.strip_prefix("whsec_").unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded);
    assert_eq!(bytes.unwrap().len(), 32);
    let shown = server.admin(
        "GET",
        &format!("/webhooks/{}", made["webhook_id"].as_str().unwrap()),
    );
    assert_eq!(shown.expect(200).json(), made, "on demand, with its secret");
}

#[test]
fn the_list_begins_with_the_oldest() {
    let server = server();
    let customer = server.customer("1.00");
    let other = server.customer("1.00");
    server.webhook(&other, "https://example.com/other");
    let path = format!("/accounts/{}/webhooks", customer.account);
    assert_eq!(
        server.admin("GET", &path).expect(200).json()["data"],
        json!([])
    );
    // All in one millisecond; the order is still that of the calls.
    let ids: Vec<String> = ["/c", "/a", "/b"]
        .map(|it| {
            server
                .webhook(&customer, &format!("https://example.com{it}"))
                .id
        })
        .into();
    let page = server
        .admin("GET", &format!("{path}?limit=2"))
        .expect(200)
        .json();
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = server.admin("GET", &format!("{path}?limit=2&cursor={cursor}"));
    let rest = rest.expect(200).json();
    assert!(rest["next_cursor"].is_null());
    let listed: Vec<&Value> = [&page, &rest]
        .iter()
        .flat_map(|it| it["data"].as_array().unwrap())
        .map(|it| &it["webhook_id"])
        .collect();
    assert_eq!(listed, ids.iter().collect::<Vec<_>>());
}

#[test]
fn invalid_webhooks_cannot_be_registered() {
    let server = Server::with(Options::new().resolving(Names));
    let customer = server.customer("1.00");
    let long = format!("https://outside.example/{}", "x".repeat(2_049 - 24));
    assert_eq!(long.len(), 2_049);
    for url in [
        "http://127.0.0.1/",
        "http://localhost:9000/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0x7f.1/",
        "https://user:secret@example.com/",
        "https://user@example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "example.com/hook",
        "https://",
        "",
        &long,
    ] {
        let refused = register(&server, &customer.account, &json!({ "url": url }));
        let refused = refused.invalid(&["url"]).text();
        assert!(!refused.contains("secret@"), "{refused}");
    }
    let at_most = &long[..2_048];
    register(&server, &customer.account, &json!({ "url": at_most })).expect(201);
    let bad = json!({"url": 1, "encoding": "latin1", "secret": "mine"});
    register(&server, &customer.account, &bad).invalid(&["url", "encoding", "secret"]);
    register(&server, &customer.account, &json!({})).invalid(&["url"]);
    let body = json!({"url": "https://example.com/"});
    register(&server, UNKNOWN, &body).refused(404, "not_found");
}

/// A resolver by host name.
struct Names;

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let addresses: &[[u8; 4]] = match host {
            "inside.example" => &[[10, 0, 0, 1], [127, 0, 0, 1]],
            "mixed.example" => &[[10, 0, 0, 1], [1, 1, 1, 1]],
            "outside.example" => &[[1, 1, 1, 1]],
            _ => &[],
        };
        let found = addresses.iter().copied().map(IpAddr::from).collect();
        let hangs = host == "hanging.example";
        async move {
            match hangs {
                true => Err(io::ErrorKind::TimedOut.into()),
                false => Ok(found),
            }
        }
        .boxed()
    }
}

#[test]
fn a_host_name_is_resolved_at_registration_and_at_each_change() {
    let server = Server::with(Options::new().resolving(Names));
    let customer = server.customer("1.00");
    let inside = json!({"url": "https://inside.example/"});
    let unknown = json!({"url": "https://unknown.example/"});
    let texts = [&inside, &unknown].map(|body| {
        let refused = register(&server, &customer.account, body).invalid(&["url"]);
        let problem = refused.json();
        (problem["detail"].clone(), problem["errors"].clone())
    });
    assert_eq!(
        texts[0], texts[1],
        "the answer does not reveal which names exist"
    );
    let text = texts[0].1.to_string();
    assert!(text.contains("resolves to a public address"), "{text}");
    assert!(!text.contains("10.0.0.1"), "{text}");
    let hanging = json!({"url": "https://hanging.example/"});
    let refused = register(&server, &customer.account, &hanging).invalid(&["url"]);
    assert!(refused.text().contains("try again"), "{}", refused.text());
    for host in ["outside", "mixed"] {
        let url = format!("https://{host}.example/");
        let made = register(&server, &customer.account, &json!({ "url": url }));
        let made = made.expect(201).json();
        let path = format!("/webhooks/{}", made["webhook_id"].as_str().unwrap());
        for refused in [&inside, &unknown] {
            let change = server.admin("PATCH", &path).json(refused);
            change.invalid(&["url"]);
        }
        assert_eq!(server.admin("GET", &path).expect(200).json(), made);
        let moved = json!({"url": format!("{url}moved")});
        server.admin("PATCH", &path).json(&moved).expect(200);
    }
}

#[test]
fn a_denied_address_is_rejected_even_if_it_is_allowed() {
    let server = Server::with(options().set("egress.deny", vec!["127.0.0.2/32"]));
    let customer = server.customer("1.00");
    let denied = json!({"url": "http://127.0.0.2:9/"});
    let allowed = json!({"url": "http://127.0.0.3:9/"});
    register(&server, &customer.account, &denied).invalid(&["url"]);
    let made = register(&server, &customer.account, &allowed).expect(201);
    let id = made.json()["webhook_id"].as_str().unwrap().to_owned();
    let change = server.admin("PATCH", &format!("/webhooks/{id}"));
    change.json(&denied).invalid(&["url"]);
}

#[test]
fn the_same_url_twice_is_a_conflict_within_an_account_only() {
    let server = server();
    let (customer, other) = (server.customer("1.00"), server.customer("1.00"));
    let body = json!({"url": "https://example.com/hook"});
    register(&server, &customer.account, &body).expect(201);
    register(&server, &customer.account, &body).refused(409, "conflict");
    register(&server, &other.account, &body).expect(201);
    let second = server.webhook(&customer, "https://example.com/hook/");
    let path = format!("/webhooks/{}", second.id);
    server
        .admin("PATCH", &path)
        .json(&body)
        .refused(409, "conflict");
    let own = json!({"url": "https://example.com/hook/"});
    server.admin("PATCH", &path).json(&own).expect(200);
}

#[test]
fn an_account_has_100_webhooks_at_the_most() {
    let server = server();
    let customer = server.customer("1.00");
    for number in 0..100 {
        server.webhook(&customer, &format!("https://example.com/{number}"));
    }
    let body = json!({"url": "https://example.com/100"});
    register(&server, &customer.account, &body).refused(409, "conflict");
}

#[test]
fn url_and_encoding_can_be_changed_the_rest_stays() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, "https://example.com/");
    let path = format!("/webhooks/{}", webhook.id);
    let before = server.admin("GET", &path).expect(200).json();
    let mut expected = before.clone();
    let url = receiver.url("/new");
    for (change, field) in [
        (json!({ "url": url }), "url"),
        (json!({"encoding": "utf8"}), "encoding"),
    ] {
        let after = server
            .admin("PATCH", &path)
            .json(&change)
            .expect(200)
            .json();
        expected[field] = change[field].clone();
        assert_eq!(after, expected);
    }
    assert_eq!(
        server
            .admin("PATCH", &path)
            .json(&json!({}))
            .expect(200)
            .json(),
        expected
    );
    server.create_with(&customer, json!({"metadata": {"a": "\u{e9}"}}));
    let received = receiver.once(1);
    assert!(String::from_utf8_lossy(&received[0].body).contains('\u{e9}'));
    assert_signed(&received[0], &webhook.secret);
    server
        .admin("PATCH", &path)
        .json(&json!({"url": "ftp://x/", "encoding": 1, "created_at": null}))
        .invalid(&["url", "encoding", "created_at"]);
    assert_eq!(server.admin("GET", &path).expect(200).json(), expected);
}

#[test]
fn a_removed_webhook_is_not_found() {
    let server = server();
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, "https://example.com/");
    server.remove_webhook(&webhook);
    for (method, rest) in [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/test"),
        ("POST", "/rotate-secret"),
        ("POST", "/redeliver"),
    ] {
        for id in [&webhook.id, UNKNOWN, "no-uuid"] {
            let request = server.admin(method, &format!("/webhooks/{id}{rest}"));
            request.json(&json!({})).refused(404, "not_found");
        }
    }
    let again = server.webhook(&customer, "https://example.com/");
    assert_ne!((&again.id, &again.secret), (&webhook.id, &webhook.secret));
}

#[test]
fn hostile_103_a_rotated_secret_signs_at_once_and_the_old_one_beside_it_for_24_hours() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("10.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let path = format!("/webhooks/{}/rotate-secret", webhook.id);
    let rotated = server.admin("POST", &path).expect(200).json();
    assert_eq!(rotated["webhook_id"], webhook.id.as_str());
    let new = rotated["secret"].as_str().unwrap().to_owned();
    assert_ne!(new, webhook.secret);
    let mut number = 0;
    let mut next = || {
        let job = server.create(&customer);
        server.delivery_in(&job, "delivered");
        number += 1;
        receiver.once(number).pop().unwrap()
    };
    for wait in [Duration::ZERO, DAY - Duration::from_millis(1)] {
        server.clock.advance(wait);
        let delivery = next();
        let both = format!(
            "{} {}",
            standard_signature(&new, &delivery),
            standard_signature(&webhook.secret, &delivery)
        );
        assert_eq!(delivery.only_header("webhook-signature"), both);
        let x =
            crate::checks::x_signature(&new, delivery.only_header("x-timestamp"), &delivery.body);
        assert_eq!(delivery.only_header("x-signature"), x);
    }
    server.clock.advance(Duration::from_millis(1));
    assert_signed(&next(), &new);
}

#[test]
fn hostile_103_a_secret_rotated_between_attempts_signs_the_next() {
    let (server, receiver) = (server(), Receiver::statuses(&[500, 200]));
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let job = server.create(&customer);
    server.delivery_after(&job, 1);
    let path = format!("/webhooks/{}/rotate-secret", webhook.id);
    let new = server.admin("POST", &path).expect(200).json()["secret"].clone();
    server.pass(Duration::from_secs(61));
    server.delivery_in(&job, "delivered");
    let received = receiver.once(2);
    assert_signed(&received[0], &webhook.secret);
    let sent = received[1].only_header("webhook-signature").to_owned();
    let signed = standard_signature(new.as_str().unwrap(), &received[1]);
    assert!(sent.starts_with(&signed), "{sent}");
}

#[test]
fn a_test_delivery_has_the_shape_of_the_payload() {
    let (server, receiver) = (server(), Receiver::content());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, &receiver.url("/"));
    let mut jobs = Vec::new();
    for number in 1..=2 {
        let made = server.admin("POST", &format!("/webhooks/{}/test", webhook.id));
        let made = made.expect(202).json();
        assert_eq!(made["status"], "pending");
        assert_eq!(made["attempts"], json!([]));
        assert_eq!(made["webhook_id"], webhook.id.as_str());
        let job = made["job_id"].as_str().unwrap().to_owned();
        let delivery = server.delivery_in(&job, "delivered");
        assert_eq!(delivery["delivery_id"], made["delivery_id"]);
        let received = receiver.once(number).pop().unwrap();
        assert_signed(&received, &webhook.secret);
        assert_eq!(
            received.only_header("webhook-id"),
            made["delivery_id"].as_str().unwrap()
        );
        let expected = json!({"job_id": job, "status": "done", "result": null, "error": null,
            "metadata": {"test": true}});
        assert_eq!(received.json(), expected);
        server
            .native(&customer, "GET", &format!("/jobs/{job}"))
            .refused(404, "not_found");
        jobs.push(job);
        server.clock.advance(Duration::from_secs(60));
    }
    assert_ne!(jobs[0], jobs[1], "a fresh one each time");
    server.assert_settled();
}

#[test]
fn only_the_operator_may_manage_webhooks_and_deliveries() {
    let server = Server::with(options());
    let customer = server.customer("1.00");
    let webhook = server.webhook(&customer, "https://example.com/");
    for path in [
        format!("/accounts/{}/webhooks", customer.account),
        format!("/webhooks/{}", webhook.id),
        "/deliveries".into(),
    ] {
        let target = format!("/admin/v1{path}");
        server.get(&target).refused(401, "unauthorized");
        let with_key = server.get(&target).bearer(&customer.key);
        let refused = with_key.refused(401, "unauthorized").text();
        assert!(!refused.contains("whsec_"));
    }
}
