//! The operator renames, disables and enables accounts.

use crate::support::http::Request;
use crate::support::panel::PASSWORD;
use crate::support::{Customer, Options, Server, fox, until};
use serde_json::{Value, json};

fn change(server: &Server, customer: &Customer, body: Value) -> Request {
    let path = format!("/accounts/{}", customer.account);
    server.admin("PATCH", &path).json(&body)
}

fn get_account(server: &Server, customer: &Customer) -> Value {
    let path = format!("/accounts/{}", customer.account);
    server.admin("GET", &path).expect(200).json()
}

fn lines(server: &Server) -> Vec<Value> {
    let list = server.admin("GET", "/audit?action=account.change");
    let list = list.expect(200).json();
    list["data"].as_array().unwrap().clone()
}

#[test]
fn renaming_an_account_does_not_change_its_balance() {
    let server = Server::start();
    let ada = server.customer("10");
    let job = server.create(&ada);
    let renamed = change(&server, &ada, json!({"name": "Ädelweiß & Co"}));
    let renamed = renamed.expect(200).json();
    assert_eq!(renamed["name"], "Ädelweiß & Co");
    server.job_once(&ada, &job, "done");
    // The new name survives later changes of the account's money.
    let after = get_account(&server, &ada);
    assert_eq!(
        (&after["name"], &after["balance"]),
        (&renamed["name"], &json!("9.866"))
    );
    assert!(after.get("active").is_none());
}

#[test]
fn the_keys_of_a_deactivated_account_are_rejected_from_the_next_call_on() {
    let server = Server::start();
    let (ada, bob) = (server.customer("10"), server.customer("10"));
    let second = server.another_key(&ada.account, json!({}));
    for key in [&ada, &second, &bob] {
        server.native(key, "GET", "/balance").expect(200);
    }
    let off = change(&server, &ada, json!({"active": false})).expect(200);
    assert_eq!(off.json()["active"], false);
    assert_eq!(get_account(&server, &ada)["active"], false);
    for key in [&ada, &second] {
        let refused = server.native(key, "GET", "/balance");
        let refused = refused.refused(401, "unauthorized");
        assert!(
            refused
                .text()
                .contains("the account of the API key is inactive")
        );
        server
            .generation(key, "/text-generations", &fox())
            .refused(401, "unauthorized");
        let models = server.get("/v1beta/models").bearer(&key.key).expect(400);
        assert!(models.text().contains("API_KEY_INVALID"));
    }
    server.native(&bob, "GET", "/balance").expect(200);
    let on = change(&server, &ada, json!({"active": true})).expect(200);
    assert!(on.json().get("active").is_none());
    for key in [&ada, &second] {
        server.native(key, "GET", "/balance").expect(200);
    }
}

#[test]
fn jobs_accepted_before_an_account_is_deactivated_end_as_usual() {
    let server = Server::start();
    let ada = server.customer("10");
    server.generator.hold();
    let job = server.create(&ada);
    change(&server, &ada, json!({"active": false})).expect(200);
    server.generator.release_all();
    let done = || {
        let found = server.admin("GET", &format!("/jobs/{job}")).expect(200);
        found.json()["status"] == "done"
    };
    until("the job is done", done);
    let after = get_account(&server, &ada);
    assert_eq!(
        (&after["balance"], &after["reserved"]),
        (&json!("9.866"), &json!("0.00"))
    );
    assert_eq!(after["active"], false);
}

#[test]
fn each_change_of_an_account_is_audited_with_before_and_after() {
    let server = Server::start();
    let ada = server.customer("10");
    let name = get_account(&server, &ada)["name"].clone();
    for body in [
        json!({}),
        json!({"name": name, "active": true}),
        json!({"active": null}),
    ] {
        change(&server, &ada, body).expect(200);
    }
    assert_eq!(lines(&server), Vec::<Value>::new(), "nothing has changed");
    change(&server, &ada, json!({"name": "north", "active": false})).expect(200);
    let lines = lines(&server);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["before"], json!({"name": name, "active": true}));
    assert_eq!(lines[0]["after"], json!({"name": "north", "active": false}));
    for field in ["account_id", "subject_id"] {
        assert_eq!(lines[0][field], ada.account.as_str());
    }
    assert_eq!(lines[0]["actor"], "operator");
}

#[test]
fn an_account_has_a_threshold_for_a_low_balance() {
    let server = Server::start();
    let new = |name: &str, low: Value| {
        let body = json!({"name": name, "balance": "10", "low_balance": low});
        server.admin("POST", "/accounts").json(&body)
    };
    let opened = new("north", json!("5")).idempotent("n-1").expect(201);
    assert_eq!(opened.json()["low_balance"], "5.00");
    new("north", json!("6"))
        .idempotent("n-1")
        .refused(422, "idempotency_key_reused");
    new("north", json!("-1")).invalid(&["low_balance"]);
    new("north", json!(5)).invalid(&["low_balance"]);

    let ada = server.customer("10");
    assert!(get_account(&server, &ada).get("low_balance").is_none());
    let set = change(&server, &ada, json!({"low_balance": "10"})).expect(200);
    assert_eq!(set.json()["low_balance"], "10.00");
    change(&server, &ada, json!({"low_balance": "-0.01"})).invalid(&["low_balance"]);
    let job = server.create(&ada);
    server.job_once(&ada, &job, "done");
    change(&server, &ada, json!({"name": "ada"})).expect(200);
    assert_eq!(get_account(&server, &ada)["low_balance"], "10.00");
    let none = change(&server, &ada, json!({"low_balance": null})).expect(200);
    assert!(none.json().get("low_balance").is_none());
    let lines = lines(&server);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["before"]["low_balance"], "10.00");
    assert!(lines[0]["after"].get("low_balance").is_none());
    assert_eq!(lines[2]["after"]["low_balance"], "10.00");
}

#[test]
fn a_faulty_change_of_an_account_changes_nothing() {
    let server = Server::start();
    let ada = server.customer("10");
    let before = get_account(&server, &ada);
    let faulty = json!({"name": "", "active": "no", "balance": "1000"});
    change(&server, &ada, faulty).invalid(&["active", "balance", "name"]);
    change(&server, &ada, json!({"name": "a\nb", "active": false})).invalid(&["name"]);
    for id in ["0198c0de-0000-7000-8000-000000000000", "nobody"] {
        let call = server.admin("PATCH", &format!("/accounts/{id}"));
        call.json(&json!({"name": "x"})).refused(404, "not_found");
    }
    assert_eq!(get_account(&server, &ada), before);
}

#[test]
fn the_people_of_a_deactivated_account_can_read_and_not_change_it() {
    let server = Server::start();
    let ada = server.customer("10");
    let owner = server.person(&ada.account, "owner@a.example", "owner");
    change(&server, &ada, json!({"active": false})).expect(200);
    let base = format!("/accounts/{}", ada.account);
    let overview = owner.call(&server, "GET", &format!("{base}/overview"));
    assert_eq!(overview.expect(200).json()["active"], false);
    owner
        .call(&server, "GET", &format!("{base}/jobs"))
        .expect(200);
    assert_eq!(server.sign_in("owner@a.example", PASSWORD).status, 201);
    let key = json!({"name": "another"});
    let keys = format!("{base}/keys");
    let make = owner.call(&server, "POST", &keys).json(&key);
    make.refused(403, "forbidden");
    let operator = server.operators_browser();
    operator.call(&server, "POST", &keys).json(&key).expect(201);
    let image = format!("{base}/generations/pro");
    for browser in [&owner, &operator] {
        let call = browser.call(&server, "POST", &image).json(&fox());
        call.refused(403, "forbidden");
    }
    // The panel offers the operator the same call.
    let on = operator
        .call(&server, "PATCH", &base)
        .json(&json!({"active": true}));
    on.expect(200);
    owner.call(&server, "POST", &keys).json(&key).expect(201);
}

#[test]
fn an_account_is_still_deactivated_after_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let ada = server.customer("10");
    change(&server, &ada, json!({"active": false})).expect(200);
    let server = server.restart();
    assert_eq!(get_account(&server, &ada)["active"], false);
    server
        .native(&ada, "GET", "/balance")
        .refused(401, "unauthorized");
}
