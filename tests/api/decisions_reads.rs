//! Decisions 1, "Beyond the specification": the account's ledger, the models and the caller's own key.

use crate::support::{Customer, Server, fox, options::Options};
use serde_json::{Value, json};

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
fn a_bad_cursor_or_limit_is_422() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("cursor=x", "cursor"),
        ("kind=charge", "kind"),
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
        "expires_at": "2030-01-01T00:00:00.000Z", "spend_limit": "5.00", "spent": "0.134",
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
    for path in ["/transactions", "/models", "/key"] {
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
