//! Key rotation: the operator replaces a key's text, and the old text stays valid for some hours.

use crate::support::{Customer, Options, Server};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

/// Rotates a key and returns the customer with the new text, and the answer.
fn rotate(server: &Server, customer: &Customer, body: Option<Value>) -> (Customer, Value) {
    let path = format!("/keys/{}/rotate", customer.key_id);
    let call = server.admin("POST", &path);
    let call = body.map_or(call.clone(), |body| call.json(&body));
    let answer = call.expect(200).json();
    let rotated = Customer {
        key: answer["api_key"].as_str().unwrap().to_owned(),
        ..customer.clone()
    };
    (rotated, answer)
}

fn is_accepted(server: &Server, customer: &Customer) -> bool {
    let answer = server.native(customer, "GET", "/balance").send();
    assert!([200, 401].contains(&answer.status));
    answer.status == 200
}

#[test]
fn both_texts_are_valid_for_a_day_by_default() {
    let server = Server::start();
    let old = server.customer("1.00");
    assert!(is_accepted(&server, &old));
    let (new, answer) = rotate(&server, &old, None);
    assert_eq!(answer["key_id"], old.key_id.as_str());
    assert_eq!(answer["previous_valid_until"], "2026-11-19T11:06:40.001Z");
    assert_ne!(new.key, old.key);
    assert_eq!(answer["prefix"], new.key[..7]);
    assert!(is_accepted(&server, &old) && is_accepted(&server, &new));
    server.clock.advance(HOUR * 24 - Duration::from_millis(1));
    assert!(is_accepted(&server, &old));
    server.clock.advance(Duration::from_millis(1));
    assert!(!is_accepted(&server, &old));
    assert!(is_accepted(&server, &new));
    let path = format!("/keys/{}", old.key_id);
    let shown = server.admin("GET", &path).expect(200).json();
    assert!(shown["previous_valid_until"].is_null());
    assert!(shown.get("api_key").is_none());
}

#[test]
fn the_operator_can_choose_the_overlap() {
    let server = Server::start();
    let first = server.customer("1.00");
    let (second, _) = rotate(&server, &first, Some(json!({"overlap_hours": 2})));
    let (third, _) = rotate(&server, &second, Some(json!({"overlap_hours": 1})));
    assert!(
        [&first, &second, &third]
            .iter()
            .all(|it| is_accepted(&server, it))
    );
    server.clock.advance(HOUR);
    assert!(is_accepted(&server, &first) && !is_accepted(&server, &second));
    // An overlap of zero ends every earlier text at once.
    let (fourth, answer) = rotate(&server, &third, Some(json!({"overlap_hours": 0})));
    assert!(answer["previous_valid_until"].is_null());
    for ended in [&first, &second, &third] {
        assert!(!is_accepted(&server, ended));
    }
    assert!(is_accepted(&server, &fourth));
    let path = format!("/keys/{}/rotate", first.key_id);
    for bad in [json!(-1), json!(721), json!(1.5), json!("1")] {
        let body = json!({"overlap_hours": bad});
        server
            .admin("POST", &path)
            .json(&body)
            .invalid(&["overlap_hours"]);
    }
    let body = json!({"hours": 1});
    server.admin("POST", &path).json(&body).invalid(&["hours"]);
}

#[test]
fn changes_of_a_key_apply_to_its_earlier_texts() {
    let server = Server::start();
    let old = server.customer("1.00");
    let (new, _) = rotate(&server, &old, None);
    assert!(is_accepted(&server, &old) && is_accepted(&server, &new));
    let path = format!("/keys/{}", old.key_id);
    let active = |on: bool| {
        server
            .admin("PATCH", &path)
            .json(&json!({"active": on}))
            .expect(200)
    };
    active(false);
    assert!(!is_accepted(&server, &old) && !is_accepted(&server, &new));
    active(true);
    assert!(is_accepted(&server, &old) && is_accepted(&server, &new));
    server.admin("DELETE", &path).expect(204);
    assert!(!is_accepted(&server, &old) && !is_accepted(&server, &new));
    server
        .admin("POST", &format!("{path}/rotate"))
        .refused(404, "not_found");
}

#[test]
fn earlier_texts_and_spending_survive_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let old = server.customer("1.00");
    let job = server.create(&old);
    server.job_once(&old, &job, "done");
    let (new, answer) = rotate(&server, &old, None);
    assert_eq!(answer["spent"], "0.134");
    let server = server.restart();
    assert!(is_accepted(&server, &old) && is_accepted(&server, &new));
    server.job_once(&new, &job, "done");
    server.clock.advance(HOUR * 24);
    assert!(!is_accepted(&server, &old) && is_accepted(&server, &new));
    server.assert_settled();
}

#[test]
fn a_key_has_no_more_than_eight_earlier_texts() {
    let server = Server::start();
    let mut customer = server.customer("1.00");
    for _ in 0..8 {
        (customer, _) = rotate(&server, &customer, None);
    }
    let path = format!("/keys/{}/rotate", customer.key_id);
    let refused = server.admin("POST", &path).refused(409, "conflict");
    assert!(refused.text().contains("overlap_hours 0"));
    assert!(is_accepted(&server, &customer));
    server.clock.advance(HOUR * 24);
    let (customer, _) = rotate(&server, &customer, None);
    assert!(is_accepted(&server, &customer));
    server.assert_settled();
}
