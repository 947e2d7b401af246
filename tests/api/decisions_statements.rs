//! Beyond decisions 6: statements of accounts agree with their ledgers at every moment.

use crate::support::{Customer, Server};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::time::Duration;

fn statements(server: &Server, query: &str) -> Value {
    let list = server.admin("GET", &format!("/statements?{query}"));
    list.expect(200).json()
}

fn deposit(server: &Server, customer: &Customer, body: &Value) {
    server.clock.advance(Duration::from_secs(60));
    let path = format!("/accounts/{}/deposits", customer.account);
    server.admin("POST", &path).json(body).expect(201);
}

fn done(server: &Server, customer: &Customer) -> String {
    server.clock.advance(Duration::from_secs(60));
    let job = server.create(customer);
    server.job_once(customer, &job, "done");
    job
}

fn decimal(value: &Value) -> Decimal {
    value.as_str().unwrap().parse().unwrap()
}

/// Opened with 1.00; a charge, a deposit, a correction, a refund of a part and another charge, a minute apart.
fn account_with_history(server: &Server) -> Customer {
    let customer = server.customer("1.00");
    let job = done(server, &customer);
    deposit(server, &customer, &json!({"amount": "25.00"}));
    deposit(server, &customer, &json!({"amount": "-0.50"}));
    let refund = json!({"amount": "0.10", "job_id": job});
    deposit(server, &customer, &refund);
    done(server, &customer);
    customer
}

/// Oldest first.
fn ledger(server: &Server, customer: &Customer) -> Vec<Value> {
    let path = format!("/accounts/{}/transactions", customer.account);
    let list = server.admin("GET", &path).expect(200).json();
    let mut entries = list["data"].as_array().unwrap().clone();
    entries.reverse();
    entries
}

/// The sum of the entries of a kind; `refund` are the deposits with a job.
fn sum(entries: &[Value], kind: &str) -> Decimal {
    let kind_of = |entry: &Value| match (entry["kind"].as_str(), entry["job_id"].is_null()) {
        (Some("deposit"), false) => "refund".to_owned(),
        (kind, _) => kind.unwrap().to_owned(),
    };
    let matching = entries.iter().filter(|it| kind_of(it) == kind);
    matching.map(|it| decimal(&it["amount"])).sum()
}

#[test]
fn a_statement_agrees_with_the_ledger_at_both_ends() {
    let server = Server::start();
    let customer = account_with_history(&server);
    let entries = ledger(&server, &customer);
    assert_eq!(entries.len(), 6);
    for first in 0..entries.len() {
        for last in first..entries.len() {
            let [from, to] = [first, last].map(|it| entries[it]["created_at"].as_str().unwrap());
            let id = &customer.account;
            let list = statements(&server, &format!("account_id={id}&from={from}&to={to}"));
            let found = &list["data"][0];
            let opening = match first {
                0 => Decimal::ZERO,
                _ => decimal(&entries[first - 1]["balance_after"]),
            };
            let within = &entries[first..=last];
            for (field, expected) in [
                ("opening", opening),
                ("deposits", sum(within, "deposit")),
                ("refunds", sum(within, "refund")),
                ("adjustments", sum(within, "adjustment")),
                ("charges", sum(within, "charge")),
                ("closing", decimal(&entries[last]["balance_after"])),
            ] {
                assert_eq!(decimal(&found[field]), expected, "{field} {first} {last}");
            }
            assert_eq!(found["lines"], Value::Null);
        }
    }
    server.assert_settled();
}

#[test]
fn the_lines_of_a_statement_are_the_charges_by_model_and_price() {
    let server = Server::start();
    let customer = account_with_history(&server);
    let job = server.admin("GET", "/jobs?limit=1").expect(200).json();
    let job = &job["data"][0];
    let whole = statements(&server, "lines=true")["data"][0].clone();
    assert_eq!(
        whole["lines"],
        json!([{
            "model": job["tier"],
            "resolution": job["resolution"],
            "unit_price": "0.134",
            "images": 2,
            "charged": "0.268",
        }])
    );
    assert_eq!(whole["charges"], "-0.268");
    assert_eq!(whole["currency"], "USD");
    let entries = ledger(&server, &customer);
    let from = entries[2]["created_at"].as_str().unwrap();
    let later = statements(&server, &format!("lines=true&from={from}"));
    assert_eq!(later["data"][0]["lines"][0]["images"], 1);
}

#[test]
fn all_accounts_have_statements_in_pages() {
    let server = Server::start();
    let first = account_with_history(&server);
    let until = ledger(&server, &first)[5]["created_at"].clone();
    let until = until.as_str().unwrap();
    server.clock.advance(Duration::from_secs(60));
    let second = server.customer("2.00");
    let page = statements(&server, "limit=1");
    assert_eq!(page["data"][0]["account_id"], first.account);
    let cursor = page["next_cursor"].as_str().unwrap();
    let page = statements(&server, &format!("limit=1&cursor={cursor}"));
    assert_eq!(page["data"][0]["account_id"], second.account);
    assert_eq!(page["data"][0]["closing"], "2.00");
    assert_eq!(page["next_cursor"], Value::Null);
    let only = statements(&server, &format!("account_id={}", second.account));
    assert_eq!(only["data"], page["data"]);
    // The second account was opened later.
    let earlier = statements(&server, &format!("to={until}"));
    assert_eq!(earlier["data"].as_array().unwrap().len(), 1);
    for (query, field) in [
        ("from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z", "to"),
        ("from=2026-11", "from"),
        ("lines=yes", "lines"),
        ("account_id=x", "account_id"),
    ] {
        let call = server.admin("GET", &format!("/statements?{query}"));
        call.invalid(&[field]);
    }
    let offset = statements(&server, "to=2100-01-01T00:00:00%2B02:00");
    assert_eq!(offset["data"].as_array().unwrap().len(), 2);
}
