//! Decisions 6: accounts, deposits and ledgers.

use crate::support::http::Request;
use crate::support::options::ADMIN_TOKEN;
use crate::support::{Behaviour, Server, clock, fox};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(86_400);

fn members(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn deposit(server: &Server, account: &str, body: Value) -> Request {
    let path = format!("/accounts/{account}/deposits");
    server.admin("POST", &path).json(&body)
}

fn ledger(server: &Server, account: &str) -> Vec<Value> {
    let path = format!("/accounts/{account}/transactions");
    let list = server.admin("GET", &path).expect(200).json();
    list["data"].as_array().unwrap().clone()
}

#[test]
fn every_call_needs_the_token() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let account = &customer.account;
    let calls = [
        ("POST", "/accounts".to_owned()),
        ("GET", "/accounts".into()),
        ("GET", format!("/accounts/{account}")),
        ("POST", format!("/accounts/{account}/deposits")),
        ("GET", format!("/accounts/{account}/transactions")),
        ("POST", format!("/accounts/{account}/keys")),
        ("GET", format!("/accounts/{account}/keys")),
        ("PATCH", format!("/keys/{}", customer.key_id)),
        ("DELETE", format!("/keys/{}", customer.key_id)),
        ("GET", "/pause".into()),
        ("PUT", "/pause".into()),
    ];
    let wrong = [
        None,
        Some(String::new()),
        Some("Bearer".into()),
        Some("Bearer ".into()),
        Some(ADMIN_TOKEN.into()),
        Some(format!("Basic {ADMIN_TOKEN}")),
        Some(format!("Bearer {}", &ADMIN_TOKEN[1..])),
        Some(format!("Bearer {ADMIN_TOKEN}x")),
        Some(format!("Bearer {}", ADMIN_TOKEN.to_uppercase())),
        Some(format!("Bearer {}", customer.key)),
    ];
    for (method, path) in &calls {
        // Otherwise the wrong tokens of the calls above would delay these.
        server.clock.advance(Duration::from_secs(900));
        for authorization in &wrong {
            let mut call = server
                .call(method, &format!("/admin/v1{path}"))
                .json(&json!({}));
            if let Some(value) = authorization {
                call = call.header("Authorization", value);
            }
            call.refused(401, "unauthorized");
        }
    }
    server.native(&customer, "GET", "/balance").expect(200);
}

#[test]
fn an_account_is_opened_with_or_without_money() {
    let server = Server::start();
    let body = json!({"name": "Ädelweiß & Co", "balance": "100.00"});
    let made = server
        .admin("POST", "/accounts")
        .json(&body)
        .expect(201)
        .json();
    let fields = [
        "account_id",
        "name",
        "balance",
        "reserved",
        "available",
        "created_at",
    ];
    assert_eq!(members(&made), BTreeSet::from(fields));
    let id = made["account_id"].as_str().unwrap();
    assert!(Uuid::try_parse(id).is_ok());
    assert_eq!(made["name"], "Ädelweiß & Co");
    assert_eq!(made["created_at"], clock::START);
    for (field, amount) in [
        ("balance", "100.00"),
        ("reserved", "0.00"),
        ("available", "100.00"),
    ] {
        assert_eq!(made[field], amount);
    }
    let shown = server
        .admin("GET", &format!("/accounts/{id}"))
        .expect(200)
        .json();
    assert_eq!(shown, made);
    let entries = ledger(&server, id);
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["kind"], &entries[0]["amount"]),
        (&"deposit".into(), &"100.00".into())
    );

    let body = json!({"name": "empty", "balance": null});
    let made = server
        .admin("POST", "/accounts")
        .json(&body)
        .expect(201)
        .json();
    assert_eq!(made["balance"], "0.00");
    assert!(ledger(&server, made["account_id"].as_str().unwrap()).is_empty());
    server.assert_settled();
}

#[test]
fn a_faulty_account_is_not_opened() {
    let server = Server::start();
    let refused = |body: Value, fields: &[&str]| {
        server
            .admin("POST", "/accounts")
            .json(&body)
            .invalid(fields);
    };
    refused(json!({}), &["name"]);
    refused(json!({"name": ""}), &["name"]);
    refused(json!({"name": null}), &["name"]);
    refused(json!({"name": 1, "balance": 1}), &["name", "balance"]);
    refused(json!({"name": "a\nb"}), &["name"]);
    refused(json!({"name": "x".repeat(201)}), &["name"]);
    refused(json!({"name": "a", "email": "x"}), &["email"]);
    for amount in [
        "-1",
        "1e3",
        "",
        ".5",
        "5.",
        "1,00",
        "+1",
        " 1",
        "NaN",
        "0.0000001",
        "1000000000000000",
    ] {
        refused(json!({"name": "a", "balance": amount}), &["balance"]);
    }
    server
        .admin("POST", "/accounts")
        .text("{")
        .invalid(&["body"]);
    server
        .admin("POST", "/accounts")
        .bytes("text/plain", b"{}")
        .refused(415, "unsupported_media_type");
    let list = server.admin("GET", "/accounts").expect(200).json();
    assert_eq!(list, json!({"data": [], "next_cursor": null}));
}

#[test]
fn an_unknown_account_is_404() {
    let server = Server::start();
    let unknown = Uuid::now_v7().to_string();
    for id in [&*unknown, "x", "00000000-0000-0000-0000-000000000000"] {
        for (method, below) in [
            ("GET", ""),
            ("POST", "/deposits"),
            ("GET", "/transactions"),
            ("GET", "/keys"),
            ("POST", "/keys"),
        ] {
            server
                .admin(method, &format!("/accounts/{id}{below}"))
                .json(&json!({"amount": "1.00"}))
                .refused(404, "not_found");
        }
    }
}

#[test]
fn a_deposit_is_a_ledger_entry() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = json!({"amount": "25", "reference": "invoice 7"});
    let entry = deposit(&server, &customer.account, body).expect(201).json();
    let fields = [
        "transaction_id",
        "kind",
        "amount",
        "balance_after",
        "job_id",
        "reference",
        "created_at",
    ];
    assert_eq!(members(&entry), BTreeSet::from(fields));
    assert_eq!(entry["kind"], "deposit");
    assert_eq!(entry["amount"], "25.00");
    assert_eq!(entry["balance_after"], "26.00");
    assert_eq!(entry["reference"], "invoice 7");
    assert_eq!(entry["created_at"], clock::START);
    assert!(entry["job_id"].is_null());
    assert!(Uuid::try_parse(entry["transaction_id"].as_str().unwrap()).is_ok());
    let plain = deposit(&server, &customer.account, json!({"amount": "0.000001"}))
        .expect(201)
        .json();
    assert!(plain["reference"].is_null());
    server.assert_money(&customer, "26.000001", "0.00", "26.000001");
    let entries = ledger(&server, &customer.account);
    assert_eq!(entries[..2], [plain, entry]);
    server.assert_settled();
}

#[test]
fn a_faulty_deposit_changes_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let refused = |body: Value, fields: &[&str]| {
        deposit(&server, &customer.account, body).invalid(fields);
    };
    refused(json!({}), &["amount"]);
    refused(json!({"amount": 5}), &["amount"]);
    refused(json!({"amount": null}), &["amount"]);
    for amount in [
        "0",
        "0.00",
        "-0",
        "",
        "x",
        "1e2",
        "0.0000001",
        "1000000000000000",
        "--1",
        "999999999999999.5",
    ] {
        refused(json!({"amount": amount}), &["amount"]);
    }
    refused(json!({"amount": "1", "reference": 7}), &["reference"]);
    refused(
        json!({"amount": "1", "reference": "x".repeat(501)}),
        &["reference"],
    );
    refused(json!({"amount": "1", "note": ""}), &["note"]);
    let both = json!({"amount": "x", "reference": 1});
    deposit(&server, &customer.account, both)
        .idempotent("")
        .invalid(&["amount", "reference", "Idempotency-Key"]);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    assert_eq!(ledger(&server, &customer.account).len(), 1);
}

#[test]
fn a_deposit_under_the_same_key_happens_once() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let other = server.customer("1.00");
    let call = |account: &str, body: Value| deposit(&server, account, body).idempotent("d-1");
    let body = json!({"amount": "5.00", "reference": "r"});
    let first = call(&customer.account, body.clone()).expect(201).json();
    assert_eq!(
        call(&customer.account, body.clone()).expect(201).json(),
        first
    );
    for different in [
        json!({"amount": "6.00", "reference": "r"}),
        json!({"amount": "5.00"}),
    ] {
        call(&customer.account, different).refused(422, "idempotency_key_reused");
    }
    call(&customer.account, json!({"amount": "x"})).invalid(&["amount"]);
    call(&other.account, body).expect(201);
    server.assert_money(&customer, "6.00", "0.00", "6.00");
    server.assert_money(&other, "6.00", "0.00", "6.00");
    // A generation may reuse the idempotency key: it is another call.
    let generation = server.generation(&customer, "/text-generations", &fox());
    let accepted = generation.idempotent("d-1").expect(202);
    assert_eq!(accepted.header("idempotent-replayed"), None);
    server.assert_settled();
}

#[test]
fn a_correction_cannot_take_the_reserved_amount() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let job = server.create(&customer);
    deposit(&server, &customer.account, json!({"amount": "-0.867"})).invalid(&["amount"]);
    deposit(&server, &customer.account, json!({"amount": "-100"})).invalid(&["amount"]);
    server.assert_money(&customer, "1.00", "0.134", "0.866");
    let entry = deposit(&server, &customer.account, json!({"amount": "-0.866"}))
        .expect(201)
        .json();
    assert_eq!(entry["kind"], "adjustment");
    assert_eq!(entry["amount"], "-0.866");
    assert_eq!(entry["balance_after"], "0.134");
    server.assert_money(&customer, "0.134", "0.134", "0.00");
    server.generator.behave(Behaviour::Refuse("no"));
    server.generator.release_all();
    server.job_once(&customer, &job, "failed");
    deposit(&server, &customer.account, json!({"amount": "-0.134"})).expect(201);
    deposit(&server, &customer.account, json!({"amount": "-0.000001"})).invalid(&["amount"]);
    server.assert_money(&customer, "0.00", "0.00", "0.00");
    server.assert_settled();
}

#[test]
fn the_ledger_lists_every_change_newest_first() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    server.generator.behave(Behaviour::Break("no"));
    let failed = server.create(&customer);
    server.job_once(&customer, &failed, "failed");
    deposit(
        &server,
        &customer.account,
        json!({"amount": "-0.50", "reference": "oops"}),
    )
    .expect(201);
    let entries: Vec<_> = ledger(&server, &customer.account)
        .into_iter()
        .map(|entry| {
            let fields = ["kind", "amount", "balance_after", "job_id"];
            fields.map(|field| entry[field].as_str().unwrap_or("-").to_owned())
        })
        .collect();
    assert_eq!(
        entries,
        [
            ["adjustment", "-0.50", "0.366", "-"],
            ["charge", "-0.134", "0.866", &job],
            ["deposit", "1.00", "1.00", "-"],
        ]
    );
}

#[test]
fn an_account_is_opened_once_under_one_idempotency_key() {
    let server = Server::start();
    let open = |balance: &str| {
        let body = json!({"name": "studio", "balance": balance});
        server
            .admin("POST", "/accounts")
            .json(&body)
            .idempotent("order-7")
    };
    let first = open("25.00").expect(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    server.clock.advance(399 * DAY);
    let again = open("25.00").expect(201);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), first.json());
    open("26.00").refused(422, "idempotency_key_reused");
    let list = server.admin("GET", "/accounts").expect(200).json();
    assert_eq!(list["data"].as_array().unwrap().len(), 1);
    let another = server.admin("POST", "/accounts");
    let body = json!({"name": "studio", "balance": "25.00"});
    assert_ne!(another.json(&body).expect(201).json(), first.json());
}

#[test]
fn a_replayed_deposit_is_marked_as_a_replay() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let path = format!("/accounts/{}/deposits", customer.account);
    let deposit = || {
        let call = server.admin("POST", &path).idempotent("once");
        call.json(&json!({"amount": "2.00"})).expect(201)
    };
    assert_eq!(deposit().header("idempotent-replayed"), None);
    server.clock.advance(399 * DAY);
    assert_eq!(deposit().header("idempotent-replayed"), Some("true"));
    server.assert_money(&customer, "3.00", "0.00", "3.00");
}
