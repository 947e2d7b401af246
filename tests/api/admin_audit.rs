//! The audit log: every change over the operator interface, with actor, action, time, and the state before and after.

use crate::support::options::ADMIN_TOKEN;
use crate::support::{Options, Server, audited, clock};
use serde_json::{Value, json};
use std::time::Duration;

/// The entries that a query finds, newest first.
fn entries(server: &Server, query: &str) -> Vec<Value> {
    let list = server.admin("GET", &format!("/audit?{query}")).expect(200);
    list.json()["data"].as_array().unwrap().clone()
}

fn newest(server: &Server) -> Value {
    entries(server, "limit=1").remove(0)
}

pub fn actions(entries: &[Value]) -> Vec<&str> {
    let action = |line: &'_ Value| line["action"].as_str().unwrap().len();
    assert!(entries.iter().all(|line| action(line) > 0));
    entries
        .iter()
        .map(|line| line["action"].as_str().unwrap())
        .collect()
}

#[test]
fn an_entry_contains_actor_action_time_and_request_id() {
    let server = Server::start();
    let body = json!({"name": "studio", "balance": "25"});
    let account = server
        .admin("POST", "/accounts")
        .header("X-Request-Id", "of-the-operator")
        .json(&body)
        .expect(201)
        .json();
    let line = newest(&server);
    let expected = json!({
        "audit_id": line["audit_id"], "at": clock::START, "actor": "operator", "person_id": null, "action": "account.create",
        "account_id": account["account_id"], "subject_id": account["account_id"], "before": null,
        "after": {"name": "studio", "balance": "25.00"}, "request_id": "of-the-operator", "address": "127.0.0.1"
    });
    assert_eq!(line, expected);
    // The router decodes escapes.
    server
        .post("/%61dmin/v1/accounts")
        .bearer(ADMIN_TOKEN)
        .header("X-Request-Id", "of-an-escaped-path")
        .json(&body)
        .expect(201);
    assert_eq!(newest(&server)["request_id"], "of-an-escaped-path");
}

#[test]
fn a_deposit_is_audited_with_both_balances_and_its_replay_is_not_audited() {
    let server = Server::start();
    let account = server.customer("10.00").account;
    // The ids of two nodes within one millisecond have no order.
    server.clock.advance(Duration::from_secs(1));
    let path = format!("/accounts/{account}/deposits");
    let deposit = server
        .admin("POST", &path)
        .idempotent("d1")
        .json(&json!({"amount": "5", "reference": "invoice 7"}));
    let entry = deposit.expect(201).json();
    deposit.expect(201);
    let line = newest(&server);
    assert_eq!(line["before"], json!({"balance": "10.00"}));
    let after =
        json!({"balance": "15.00", "kind": "deposit", "amount": "5.00", "reference": "invoice 7"});
    assert_eq!(line["after"], after);
    assert_eq!(line["subject_id"], entry["transaction_id"]);
    server.clock.advance(Duration::from_secs(1));
    let more = json!({"amount": "-2"});
    server.admin("POST", &path).json(&more).expect(201);
    let line = newest(&server);
    assert_eq!(line["after"]["kind"], "adjustment");
    assert_eq!(line["before"]["balance"], "15.00");
    assert_eq!(entries(&server, "action=deposit.create").len(), 2);
}

#[test]
fn a_key_is_audited_from_creation_to_deletion_and_never_with_its_text() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let key = format!("/keys/{}", customer.key_id);
    let patch = server.admin("PATCH", &key);
    patch
        .clone()
        .json(&json!({"models": ["fast"], "spend_limit_daily": "1"}))
        .expect(200);
    let rotate = server.admin("POST", &format!("{key}/rotate"));
    let rotated = rotate.expect(200).json();
    server.admin("DELETE", &key).expect(204);
    let list = server.admin("GET", "/audit?action=key").expect(200);
    for text in [&customer.key, rotated["api_key"].as_str().unwrap()] {
        assert!(!list.text().contains(text));
    }
    let entries = entries(&server, "action=key");
    assert_eq!(
        actions(&entries),
        ["key.delete", "key.rotate", "key.change", "key.create"]
    );
    for line in &entries {
        assert_eq!(line["subject_id"], customer.key_id.as_str());
        assert_eq!(line["account_id"], customer.account.as_str());
    }
    let change = &entries[2];
    assert_eq!(
        change["before"]["models"],
        json!(["fast", "quality", "pro"])
    );
    assert_eq!(change["after"]["models"], json!(["fast"]));
    assert!(change["before"]["spend_limit_daily"].is_null());
    assert_eq!(change["after"]["spend_limit_daily"], "1.00");
    let rotation = &entries[1];
    assert!(rotation["before"]["previous_valid_until"].is_null());
    assert!(rotation["after"]["previous_valid_until"].is_string());
    assert!(entries[0]["after"].is_null() && entries[3]["before"].is_null());
}

#[test]
fn calls_that_change_nothing_or_are_rejected_add_no_entry() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.pause(&["fast"]);
    let before = entries(&server, "limit=100");
    let key = format!("/keys/{}", customer.key_id);
    for same in [json!({}), json!({"name": "a key"}), json!({"active": true})] {
        server.admin("PATCH", &key).json(&same).expect(200);
    }
    server.pause(&["fast"]);
    server
        .admin("PATCH", &key)
        .json(&json!({"name": ""}))
        .invalid(&["name"]);
    server
        .admin("POST", &format!("/accounts/{}/deposits", customer.account))
        .json(&json!({"amount": "-5"}))
        .invalid(&["amount"]);
    server
        .call("PATCH", &format!("/admin/v1{key}"))
        .bearer(&customer.key)
        .json(&json!({"active": false}))
        .refused(401, "unauthorized");
    server.create(&customer);
    assert_eq!(entries(&server, "limit=100"), before);
}

#[test]
fn the_log_is_filtered_by_account_action_and_time() {
    let server = Server::start();
    let first = server.customer("1.00");
    server.clock.advance(Duration::from_secs(3_600));
    let second = server.customer("1.00");
    server.clock.advance(Duration::from_secs(3_600));
    server.pause(&["pro"]);
    let all = entries(&server, "");
    let expected = [
        "pause.change",
        "key.create",
        "account.create",
        "key.create",
        "account.create",
    ];
    assert_eq!(actions(&all), expected);
    for (customer, at) in [(&second, 1..3), (&first, 3..5)] {
        let query = format!("account_id={}", customer.account);
        assert_eq!(entries(&server, &query), all[at]);
    }
    assert_eq!(
        actions(&entries(&server, "action=account.create")),
        ["account.create"; 2]
    );
    assert_eq!(entries(&server, "action=pause"), all[..1]);
    let moment = "2026-11-18T12:06:40.001Z";
    assert_eq!(entries(&server, &format!("from={moment}")), all[..3]);
    assert_eq!(entries(&server, &format!("to={moment}")), all[1..]);
    let both = format!(
        "from={moment}&to={moment}&action=key&account_id={}",
        second.account
    );
    assert_eq!(entries(&server, &both), all[1..2]);
    assert!(entries(&server, "from=2030-01-01T00:00:00Z").is_empty());
}

#[test]
fn the_log_is_read_in_parts_with_and_without_a_filter() {
    let server = Server::start();
    for _ in 0..4 {
        server.customer("1.00");
    }
    let all = entries(&server, "limit=100");
    for (query, expected) in [
        ("limit=3", all.clone()),
        ("limit=3&action=key", entries(&server, "action=key")),
    ] {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        for _ in 0..all.len() {
            let path = format!("/audit?{query}{cursor}");
            let part = server.admin("GET", &path).expect(200).json();
            found.extend(part["data"].as_array().unwrap().clone());
            match &part["next_cursor"] {
                Value::String(next) => cursor = format!("&cursor={next}"),
                _ => break,
            }
        }
        assert_eq!(found, expected);
    }
    assert_eq!(all.len(), 8);
}

#[test]
fn a_bad_filter_is_422() {
    let server = Server::start();
    for (query, field) in [
        ("account_id=x", "account_id"),
        ("action=key.steal", "action"),
        ("action=", "action"),
        ("from=yesterday", "from"),
        ("to=2026-11-18", "to"),
        ("limit=0", "limit"),
        ("actor=operator", "actor"),
    ] {
        let path = format!("/audit?{query}");
        server.admin("GET", &path).invalid(&[field]);
    }
    server.get("/admin/v1/audit").refused(401, "unauthorized");
    server
        .admin("DELETE", "/audit")
        .refused(405, "method_not_allowed");
}

#[test]
fn the_log_survives_a_restart_and_passes_verification() {
    let server = Server::with(Options::new().on_disk());
    server.customer("1.00");
    server.pause(&["fast"]);
    let before = entries(&server, "");
    let server = server.restart();
    assert_eq!(entries(&server, ""), before);
    assert_eq!(audited(&server).audit_entries, 3);
}

#[test]
fn the_longest_texts_fit_into_an_entry() {
    let server = Server::with(Options::new().allow_loopback());
    let account = server.customer("1.00").account;
    let name = "🦊".repeat(200);
    let ranges: Vec<String> = (0..64)
        .map(|at| format!("2001:db8:1111:2222:3333:4444:{at:x}:0/128"))
        .collect();
    let key = json!({"name": name, "allowed_ips": ranges});
    let keys = format!("/accounts/{account}/keys");
    let made = server.admin("POST", &keys).json(&key).expect(201).json();
    let path = format!("/keys/{}", made["key_id"].as_str().unwrap());
    let other = json!({"name": "🐻".repeat(200)});
    server.admin("PATCH", &path).json(&other).expect(200);
    let webhooks = format!("/accounts/{account}/webhooks");
    let long =
        |letter: &str| json!({"url": format!("https://example.com/{}", letter.repeat(2_028))});
    let made = server
        .admin("POST", &webhooks)
        .json(&long("🦊"))
        .expect(201)
        .json();
    let path = format!("/webhooks/{}", made["webhook_id"].as_str().unwrap());
    server.admin("PATCH", &path).json(&long("🐻")).expect(200);
    let line = newest(&server);
    assert_eq!(line["action"], "webhook.change");
    assert!(line["after"]["url"].as_str().unwrap().ends_with("🐻..."));
    let reasons = json!({"project": "🦊".repeat(200), "fast": "🦊".repeat(200), "quality": "🦊".repeat(200), "pro": "🦊".repeat(200)});
    let tiers = json!({"fast": true, "quality": true, "pro": true});
    let body = json!({"project": true, "tiers": tiers, "reasons": reasons});
    server.admin("PUT", "/pause").json(&body).expect(200);
    let body = json!({"project": true, "tiers": tiers, "reason": "🐻".repeat(200)});
    server.admin("PUT", "/pause").json(&body).expect(200);
    assert_eq!(newest(&server)["after"]["reasons"]["pro"], "🐻".repeat(200));
}

#[test]
fn the_operator_cancels_a_queued_job_and_failed_cancellations_add_no_entry() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("10.00");
    server.generator.hold();
    let first = server.create(&customer);
    server.job_once(&customer, &first, "processing");
    let second = server.create(&customer);
    // The ids of two nodes within one millisecond have no order.
    server.clock.advance(Duration::from_secs(1));
    let path = format!("/jobs/{second}");
    let canceled = server.admin("DELETE", &path).expect(200).json();
    assert_eq!(canceled["status"], "failed");
    assert_eq!(canceled["error"], "canceled");
    let line = newest(&server);
    assert_eq!(line["action"], "job.cancel");
    assert_eq!(line["account_id"], customer.account);
    assert_eq!(line["subject_id"], second);
    assert_eq!(line["before"], json!({"status": "queued"}));
    assert_eq!(line["after"], json!({"status": "failed"}));
    for again in [&second, &first] {
        let path = format!("/jobs/{again}");
        server.admin("DELETE", &path).refused(409, "conflict");
    }
    let missing = format!("/jobs/{}", customer.account);
    server.admin("DELETE", &missing).refused(404, "not_found");
    assert_eq!(newest(&server), line);
    server.generator.release_all();
    server.job_once(&customer, &first, "done");
    audited(&server);
}
