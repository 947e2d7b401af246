//! Decisions 1, "Beyond the specification": the account's ledger, the models and the caller's own key.

use crate::support::{Customer, Server, fox, options::Options};
use serde_json::{Value, json};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

fn read(server: &Server, customer: &Customer, path: &str) -> Value {
    let answer = server.native(customer, "GET", path).expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    server.native(customer, "HEAD", path).expect(200);
    answer.json()
}

#[test]
fn transactions_are_the_accounts_ledger_newest_first() {
    let server = Server::start();
    let (customer, other) = (server.customer("1.00"), server.customer("5.00"));
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let path = format!("/accounts/{}/deposits", customer.account);
    let deposit = json!({"amount": "-0.50", "reference": "a correction"});
    server.admin("POST", &path).json(&deposit).expect(201);
    let ledger = read(&server, &customer, "/transactions");
    let path = format!("/accounts/{}/transactions", customer.account);
    assert_eq!(ledger, server.admin("GET", &path).expect(200).json());
    let entries = ledger["data"].as_array().unwrap();
    let amounts: Vec<Value> = entries
        .iter()
        .map(|it| {
            json!([
                it["kind"],
                it["amount"],
                it["balance_after"],
                it["job_id"],
                it["reference"]
            ])
        })
        .collect();
    assert_eq!(
        json!(amounts),
        json!([
            ["adjustment", "-0.50", "0.366", null, "a correction"],
            ["charge", "-0.134", "0.866", job, null],
            ["deposit", "1.00", "1.00", null, "opening balance"],
        ])
    );
    assert!(ledger["next_cursor"].is_null());
    let page = read(&server, &customer, "/transactions?limit=2");
    let next = page["next_cursor"].as_str().unwrap();
    let rest = read(
        &server,
        &customer,
        &format!("/transactions?limit=2&cursor={next}"),
    );
    assert_eq!(rest["data"], json!([entries[2]]));
    assert_eq!(
        read(&server, &other, "/transactions")["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn transactions_are_filtered_by_kind_and_time() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.clock.advance(DAY);
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let kinds = |query: &str| -> Vec<Value> {
        let found = read(&server, &customer, &format!("/transactions?{query}"));
        let entries = found["data"].as_array().unwrap().iter();
        entries.map(|it| it["kind"].clone()).collect()
    };
    assert_eq!(kinds("kind=deposit"), ["deposit"]);
    assert_eq!(kinds("from=2026-11-19T00:00:00Z"), ["charge"]);
    assert_eq!(kinds("to=2026-11-18T23:59:59.999Z"), ["deposit"]);
    assert_eq!(kinds("from=2026-11-18T00:00:00Z"), ["charge", "deposit"]);
}

#[test]
fn usage_has_each_day_key_and_model_of_the_account() {
    let server = Server::start();
    let (customer, stranger) = (server.customer("10.00"), server.customer("10.00"));
    let make = |customer: &Customer, path: &str| {
        let job = server.generate(customer, path, &fox()).job_id();
        server.job_once(customer, &job, "done");
    };
    make(&customer, "/text-generations");
    make(&customer, "/nb/text-generations");
    make(&stranger, "/nb/text-generations");
    server.clock.advance(DAY);
    let other = server.another_key(&customer.account, json!({"name": "shop"}));
    make(&customer, "/nb/text-generations");
    make(&other, "/nb/text-generations");
    make(&other, "/nb/text-generations");
    let path = format!("/keys/{}", other.key_id);
    server.admin("DELETE", &path).expect(204);
    let lines = |query: &str| {
        let found = read(&server, &customer, &format!("/usage?{query}"));
        (
            found["data"].as_array().unwrap().clone(),
            found["next_cursor"].clone(),
        )
    };
    let (all, next) = lines("");
    assert!(next.is_null());
    let line = |it: &Value| {
        json!([
            it["day"],
            it["key_id"],
            it["model"],
            it["images"],
            it["charged"]
        ])
    };
    let shown: Vec<Value> = all.iter().map(line).collect();
    let (own, shop) = (&customer.key_id, &other.key_id);
    let expected = json!([
        ["2026-11-18", own, "fast", 1, "0.039"],
        ["2026-11-18", own, "pro", 1, "0.134"],
        ["2026-11-19", own, "fast", 1, "0.039"],
        ["2026-11-19", shop, "fast", 2, "0.078"],
    ]);
    assert_eq!(json!(shown), expected);
    let last = json!({
        "day": "2026-11-19", "key_id": shop, "key_name": "shop", "model": "fast", "resolution": "1K",
        "images": 2, "failed": 0, "charged": "0.078",
    });
    assert_eq!(all[3], last);
    assert_eq!(lines(&format!("key={shop}")).0, all[3..]);
    assert_eq!(
        lines(&format!("key={}", stranger.key_id)).0,
        [json!(null); 0]
    );
    assert_eq!(lines("to=2026-11-18").0, all[..2]);
    assert_eq!(lines("from=2026-11-19&to=2026-11-19").0, all[2..]);
    assert_eq!(lines("from=2026-11-20&to=2026-11-30").0, [json!(null); 0]);
    for limit in [1, 3] {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let (page, next) = lines(&format!("limit={limit}{cursor}"));
            assert!(page.len() <= limit);
            found.extend(page);
            let Some(next) = next.as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, all, "limit {limit}");
    }
    for (query, field) in [
        ("from=2026-11-18T00:00:00Z", "from"),
        ("from=2026-11-20", "from"),
        ("from=2025-11-18", "from"),
        ("key=shop", "key"),
        ("cursor=01a1fa952c1f7c3a9d5e3f6b8a4c2d10", "cursor"),
        ("days=30", "days"),
    ] {
        let path = format!("/usage?{query}");
        server.native(&customer, "GET", &path).invalid(&[field]);
    }
}

#[test]
fn a_bad_cursor_or_limit_is_422() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=x", "cursor"),
        ("kind=gift", "kind"),
        ("job_id=x", "job_id"),
        ("from=2026-11-18", "from"),
    ] {
        server
            .native(&customer, "GET", &format!("/transactions?{query}"))
            .invalid(&[field]);
    }
}

#[test]
fn the_model_list_contains_only_the_models_of_the_key() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast", "pro"]}));
    server.pause(&["pro"]);
    let ratios = [
        "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9",
    ];
    let full = [&ratios[..], &["1:4", "4:1", "1:8", "8:1", "auto"]].concat();
    let modes = ["text-to-image", "image-to-image"];
    let sizes = ["1K", "2K", "4K"];
    let expected = json!({"next_cursor": null, "data": [
        {"id": "fast", "modes": modes, "aspect_ratios": ratios, "resolutions": ["1K"], "prices": {"1K": "0.039"},
         "paused": false, "allowed": true},
        {"id": "quality", "modes": modes, "aspect_ratios": full, "resolutions": sizes,
         "prices": {"1K": "0.067", "2K": "0.101", "4K": "0.151"}, "paused": false, "allowed": false},
        {"id": "pro", "modes": modes, "aspect_ratios": full, "resolutions": sizes,
         "prices": {"1K": "0.134", "2K": "0.134", "4K": "0.24"}, "paused": true, "allowed": true},
    ]});
    assert_eq!(read(&server, &customer, "/models"), expected);
    server.pause(&["project"]);
    let models = read(&server, &customer, "/models");
    let all = models["data"].as_array().unwrap();
    assert!(all.iter().all(|model| model["paused"] == true));
}

#[test]
fn a_key_reads_itself_but_not_its_text() {
    let server = Server::start();
    let shape = json!({
        "name": "shop", "models": ["pro"], "spend_limit": "5.00", "expires_at": "2030-01-01T00:00:00Z",
        "rate_limit": {"per_second": 50, "burst": 100},
    });
    let customer = server.customer_with("1.00", shape);
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let answer = server.native(&customer, "GET", "/key").expect(200);
    assert!(!answer.text().contains(&customer.key));
    let expected = json!({
        "key_id": customer.key_id, "name": "shop", "models": ["pro"], "active": true,
        "expires_at": "2030-01-01T00:00:00.000Z", "spend_limit": "5.00", "spent": "0.134", "reserved": "0.00",
        "rate_limit": {"per_second": 50, "burst": 100}, "created_at": crate::support::clock::START,
    });
    assert_eq!(answer.json(), expected);
    let plain = server.customer("1.00");
    let own = read(&server, &plain, "/key");
    assert_eq!(own["models"], json!(["fast", "quality", "pro"]));
    for name in ["expires_at", "spend_limit", "rate_limit"] {
        assert!(own[name].is_null(), "{name}");
    }
    assert_eq!(own["spent"], "0.00");
}

#[test]
fn the_effective_rate_limit_of_a_key_is_shown() {
    let server = Server::with(Options::new().set("limits.requests_per_second", 20));
    let customer = server.customer("1.00");
    let own = read(&server, &customer, "/key");
    assert_eq!(own["rate_limit"], json!({"per_second": 20, "burst": 20}));
}

#[test]
fn each_read_requires_a_key_and_rejects_other_methods() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for path in ["/transactions", "/usage", "/models", "/key"] {
        server
            .get(&format!("/api/v1{path}"))
            .refused(401, "unauthorized");
        let answer = server
            .native(&customer, "POST", path)
            .json(&fox())
            .refused(405, "method_not_allowed");
        assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{path}");
    }
}
