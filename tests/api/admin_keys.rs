//! Decisions 6: API keys.

use crate::support::{Customer, Server, clock, fox, fox_with};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

const PATH: &str = "/text-generations";

fn patch(server: &Server, customer: &Customer, change: Value) -> Value {
    let path = format!("/keys/{}", customer.key_id);
    server
        .admin("PATCH", &path)
        .json(&change)
        .expect(200)
        .json()
}

#[test]
fn a_key_is_shown_once() {
    let server = Server::start();
    let account = server.customer("1.00").account;
    let path = format!("/accounts/{account}/keys");
    let shape = json!({
        "name": "ci", "models": ["fast", "pro"], "expires_at": "2030-01-31T13:00:00+01:00",
        "spend_limit": "5", "rate_limit": {"per_second": 5, "burst": 10}
    });
    let made = server.admin("POST", &path).json(&shape).expect(201).json();
    let text = made["api_key"].as_str().unwrap();
    assert_eq!((text.len(), &text[..3]), (52, "tt_"));
    assert!(text[3..].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    assert!(Uuid::try_parse(made["key_id"].as_str().unwrap()).is_ok());
    let mut expected = json!({
        "key_id": made["key_id"], "account_id": account, "prefix": &text[..7], "system": false, "name": "ci", "models": ["fast", "pro"], "active": true,
        "expires_at": "2030-01-31T12:00:00.000Z", "spend_limit": "5.00", "spent": "0.00",
        "spend_limit_daily": null, "spend_limit_monthly": null, "spent_today": "0.00", "spent_this_month": "0.00", "reserved": "0.00",
        "rate_limit": {"per_second": 5, "burst": 10}, "allowed_ips": null, "max_concurrent": null, "last_used_at": null,
        "previous_valid_until": null, "created_at": clock::START
    });
    let list = server.admin("GET", &path).expect(200);
    assert!(!list.text().contains(text));
    assert_eq!(list.json()["data"][1], expected);
    expected["api_key"] = text.into();
    assert_eq!(made, expected);
}

#[test]
fn a_key_without_restrictions_has_all_models() {
    let server = Server::start();
    let account = server.customer("1.00").account;
    let path = format!("/accounts/{account}/keys");
    for body in [
        json!({"name": "all"}),
        json!({"name": "all", "models": null, "expires_at": null, "spend_limit": null, "rate_limit": null}),
    ] {
        let made = server.admin("POST", &path).json(&body).expect(201).json();
        assert_eq!(made["models"], json!(["fast", "quality", "pro"]));
        for none in ["expires_at", "spend_limit", "rate_limit"] {
            assert!(made[none].is_null());
        }
    }
}

#[test]
fn an_invalid_key_is_not_created_and_an_invalid_change_changes_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let keys = format!("/accounts/{}/keys", customer.account);
    let key = format!("/keys/{}", customer.key_id);
    let before = server.admin("GET", &keys).expect(200).json();
    let faults: [(Value, &[&str]); 12] = [
        (json!({"name": ""}), &["name"]),
        (json!({"name": 7}), &["name"]),
        (json!({"models": []}), &["models"]),
        (json!({"models": "fast"}), &["models"]),
        (json!({"models": ["fast", "turbo", 1]}), &["models[2]"]),
        (json!({"models": ["fast", "turbo"]}), &["models[1]"]),
        (json!({"active": "yes"}), &["active"]),
        (json!({"expires_at": "tomorrow"}), &["expires_at"]),
        (json!({"spend_limit": "-1"}), &["spend_limit"]),
        (json!({"spend_limit": 1}), &["spend_limit"]),
        (
            json!({"rate_limit": {"per_second": 0, "burst": 1}}),
            &["rate_limit.per_second"],
        ),
        (
            json!({"key": "x", "rate_limit": {"per_second": 1}}),
            &["key", "rate_limit"],
        ),
    ];
    for (fault, fields) in faults {
        server.admin("PATCH", &key).json(&fault).invalid(fields);
        let mut body = json!({"name": "a"});
        crate::support::merge(&mut body, fault);
        server.admin("POST", &keys).json(&body).invalid(fields);
    }
    server
        .admin("POST", &keys)
        .json(&json!({}))
        .invalid(&["name"]);
    assert_eq!(server.admin("GET", &keys).expect(200).json(), before);
}

#[test]
fn a_change_is_effective_at_once() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let generation = server.generation(&customer, PATH, &fox());
    generation.expect(202);
    let changed = patch(
        &server,
        &customer,
        json!({"models": ["fast"], "name": "narrow"}),
    );
    assert_eq!(
        (&changed["models"], &changed["name"]),
        (&json!(["fast"]), &"narrow".into())
    );
    assert!(changed.get("api_key").is_none());
    generation.refused(403, "model_not_allowed");
    patch(&server, &customer, json!({"models": null}));
    generation.expect(202);
    patch(&server, &customer, json!({"active": false}));
    generation.refused(401, "unauthorized");
    // The key's spending does not change from here on.
    server.assert_settled();
    // A patch changes only the members that it names.
    let same = patch(&server, &customer, json!({}));
    assert_eq!(
        (&same["active"], &same["name"]),
        (&false.into(), &"narrow".into())
    );
    assert_eq!(patch(&server, &customer, json!({"name": null})), same);
    patch(&server, &customer, json!({"active": true}));
    generation.expect(202);
    server.assert_settled();
}

#[test]
fn a_deleted_key_is_rejected_at_once_and_its_jobs_remain() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let colleague = server.another_key(&customer.account, json!({}));
    server.generator.hold();
    let job = server.create(&customer);
    let path = format!("/keys/{}", customer.key_id);
    let answer = server.admin("DELETE", &path).expect(204);
    assert!(answer.body.is_empty());
    server
        .native(&customer, "GET", "/balance")
        .refused(401, "unauthorized");
    server.admin("DELETE", &path).refused(404, "not_found");
    server
        .admin("PATCH", &path)
        .json(&json!({}))
        .refused(404, "not_found");
    for id in ["x", &Uuid::now_v7().to_string()] {
        server
            .admin("DELETE", &format!("/keys/{id}"))
            .refused(404, "not_found");
    }
    server.generator.release_all();
    server.job_once(&colleague, &job, "done");
    server.assert_settled();
}

#[test]
fn a_key_expires_on_the_millisecond() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"expires_at": "2026-11-18T12:00:00Z"}));
    let look = server.native(&customer, "GET", "/balance");
    look.expect(200);
    // The clock starts at 11:06:40.001.
    server.clock.advance(Duration::from_millis(3_199_998));
    look.expect(200);
    server.clock.advance(Duration::from_millis(1));
    let answer = look.refused(401, "unauthorized");
    assert!(answer.text().contains("expired"));
    patch(
        &server,
        &customer,
        json!({"expires_at": "2026-11-18T12:00:00.001Z"}),
    );
    look.expect(200);
    patch(&server, &customer, json!({"expires_at": null}));
    server.clock.advance(Duration::from_secs(1_000_000_000));
    look.expect(200);
    let late = server.another_key(
        &customer.account,
        json!({"expires_at": "1999-01-01T00:00:00Z"}),
    );
    server
        .native(&late, "GET", "/balance")
        .refused(401, "unauthorized");
}

#[test]
fn a_spend_limit_counts_spent_and_reserved_amounts() {
    let server = Server::start();
    let customer = server.customer_with("10.00", json!({"spend_limit": "0.30"}));
    let free = server.another_key(&customer.account, json!({}));
    let generation = server.generation(&customer, PATH, &fox());
    server.generator.hold();
    let jobs = [server.create(&customer), server.create(&customer)];
    let refused = generation.refused(402, "key_limit_reached");
    assert!(refused.text().contains("0.30") && refused.text().contains("0.268"));
    // A cheaper model would not pass either: 0.268 and 0.039 exceed 0.30.
    server
        .generation(&customer, "/nb/text-generations", &fox())
        .refused(402, "key_limit_reached");
    server.generation(&free, PATH, &fox()).expect(202);
    server.assert_money(&customer, "10.00", "0.402", "9.598");
    server.generator.release_all();
    for job in &jobs {
        server.job_once(&customer, job, "done");
    }
    generation.refused(402, "key_limit_reached");
    let key = patch(&server, &customer, json!({}));
    assert_eq!(key["spent"], "0.268");
    patch(&server, &customer, json!({"spend_limit": "0.402"}));
    let job = generation.expect(202).job_id();
    server.job_once(&customer, &job, "done");
    generation.refused(402, "key_limit_reached");
    patch(&server, &customer, json!({"spend_limit": null}));
    generation.expect(202);
    server.assert_settled();
}

#[test]
fn a_spend_limit_does_not_count_amounts_released_by_failed_jobs() {
    let server = Server::start();
    let customer = server.customer_with("10.00", json!({"spend_limit": "0.134"}));
    server
        .generator
        .behave(crate::support::Behaviour::Refuse("no"));
    for _ in 0..3 {
        let job = server.create(&customer);
        server.job_once(&customer, &job, "failed");
    }
    server.generator.behave(crate::support::Behaviour::Succeed);
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    server
        .generation(&customer, PATH, &fox())
        .refused(402, "key_limit_reached");
}

#[test]
fn the_balance_of_the_account_is_checked_before_the_limit_of_the_key() {
    let server = Server::start();
    let customer = server.customer_with("0.10", json!({"spend_limit": "0.10"}));
    let large = fox_with(json!({"prompt": "x".repeat(30_000)}));
    for body in [fox(), large] {
        server
            .generation(&customer, PATH, &body)
            .refused(402, "insufficient_balance");
    }
}

#[test]
fn keys_and_their_spending_survive_a_restart() {
    let server = Server::with(crate::support::Options::new().on_disk());
    let customer = server.customer_with("10.00", json!({"spend_limit": "0.20"}));
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let server = server.restart();
    server
        .generation(&customer, PATH, &fox())
        .refused(402, "key_limit_reached");
    assert_eq!(patch(&server, &customer, json!({}))["spent"], "0.134");
    server.assert_settled();
}

#[test]
fn the_first_key_is_created_only_once() {
    let server = Server::start();
    let first = || {
        let system = actix_web::rt::System::new();
        let key = system.block_on(tintype::server::bootstrap::issue_first_key(
            &server.instance().accounts,
        ));
        key.map_err(|_| "refused").unwrap()
    };
    let text = first().expect("a key");
    assert_eq!(first(), None);
    let accounts = server.admin("GET", "/accounts").expect(200).json();
    let account = accounts["data"][0]["account_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let keys = format!("/accounts/{account}/keys");
    let keys = server.admin("GET", &keys).expect(200).json();
    let id = keys["data"][0]["key_id"].as_str().unwrap().to_owned();
    server.admin("DELETE", &format!("/keys/{id}")).expect(204);
    let call = server.get("/api/v1/balance").bearer(&text);
    call.refused(401, "unauthorized");
    // An operator who has removed all keys does not want a new one in the log.
    assert_eq!(first(), None);
}

#[test]
fn a_key_shows_what_its_live_jobs_reserve() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let keys = format!("/accounts/{}/keys", customer.account);
    let other = server.admin("POST", &keys).json(&json!({"name": "other"}));
    let other = other.expect(201).json();
    assert_eq!(other["reserved"], "0.00");
    let reserved = || {
        let list = server.admin("GET", &keys).expect(200).json();
        let path = format!("/keys/{}", customer.key_id);
        let shown = server.admin("GET", &path).expect(200).json();
        assert_eq!(shown, list["data"][0]);
        [0, 1].map(|at| list["data"][at]["reserved"].clone())
    };
    server.generator.hold();
    let job = server.generation(&customer, "/nb/text-generations", &fox());
    let job = job.expect(202).job_id();
    assert_eq!(reserved(), ["0.039", "0.00"]);
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    assert_eq!(reserved(), ["0.00", "0.00"]);
}
