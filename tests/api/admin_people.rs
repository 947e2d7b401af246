//! People of an account over the operator interface: invite, change, sign out, remove.

use crate::support::panel::PASSWORD;
use crate::support::{Answer, Browser, Customer, Server};
use serde_json::{Value, json};

fn people(customer: &Customer) -> String {
    format!("/accounts/{}/people", customer.account)
}

fn invite(server: &Server, customer: &Customer, email: &str) -> Answer {
    let body = json!({"email": email, "role": "owner"});
    server
        .admin("POST", &people(customer))
        .json(&body)
        .expect(201)
}

fn person_path(customer: &Customer, person: &Value) -> String {
    let id = person["person_id"].as_str().unwrap();
    format!("{}/{id}", people(customer))
}

/// Accepts the invitation whose link the answer shows.
fn join(server: &Server, person: &Value) -> Browser {
    let url = person["invitation_url"].as_str().expect("a link");
    let token = url.rsplit('/').next().unwrap();
    let accept = server.panel("POST", "/invitation/accept");
    let body = json!({"token": token, "password": PASSWORD});
    Browser::of(&accept.json(&body).expect(201))
}

fn is_signed_in(server: &Server, browser: &Browser) -> bool {
    browser.call(server, "GET", "/session").send().status == 200
}

/// The actions in the audit log, newest first.
fn actions(server: &Server, query: &str) -> Vec<String> {
    let lines = server
        .admin("GET", &format!("/audit{query}"))
        .expect(200)
        .json();
    let lines = lines["data"].as_array().unwrap().clone();
    let word = |line: &Value| line["action"].as_str().unwrap().to_owned();
    lines.iter().map(word).collect()
}

#[test]
fn a_person_is_invited_shown_changed_and_removed() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = invite(&server, &customer, "ada@shop.example");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let person = answer.json();
    assert_eq!(person["status"], "invited");
    let path = person_path(&customer, &person);
    let shown = server.admin("GET", &path).expect(200).json();
    assert!(shown.get("invitation_url").is_none(), "{shown}");
    let browser = join(&server, &person);
    let list = server.admin("GET", &people(&customer)).expect(200).json();
    assert_eq!(list["data"][0]["status"], "active");
    let change = server
        .admin("PATCH", &path)
        .json(&json!({"role": "viewer"}));
    assert_eq!(change.expect(200).json()["role"], "viewer");
    assert!(is_signed_in(&server, &browser));
    server.admin("DELETE", &path).expect(204);
    assert!(!is_signed_in(&server, &browser));
    server.admin("GET", &path).refused(404, "not_found");
    let logged = actions(&server, "?action=person");
    let expected = [
        "person.remove",
        "person.change",
        "person.join",
        "person.invite",
    ];
    assert_eq!(logged, expected);
}

#[test]
fn an_email_address_is_unique_in_the_whole_service() {
    let server = Server::start();
    let (customer, other) = (server.customer("1.00"), server.customer("1.00"));
    invite(&server, &customer, "ada@shop.example");
    let again = server.admin("POST", &people(&other));
    let body = json!({"email": "ADA@shop.example", "role": "viewer"});
    again.json(&body).refused(409, "conflict");
}

#[test]
fn a_person_is_found_under_their_own_account_alone() {
    let server = Server::start();
    let (customer, other) = (server.customer("1.00"), server.customer("1.00"));
    let person = invite(&server, &customer, "ada@shop.example").json();
    let elsewhere = person_path(&other, &person);
    let sessions = format!("{elsewhere}/sessions");
    let invitation = format!("{elsewhere}/invitation");
    let calls = [
        server.admin("GET", &elsewhere),
        server
            .admin("PATCH", &elsewhere)
            .json(&json!({"role": "viewer"})),
        server.admin("DELETE", &elsewhere),
        server.admin("DELETE", &sessions),
        server.admin("POST", &invitation),
        server.admin("GET", &format!("{}/nobody", people(&customer))),
    ];
    for call in calls {
        call.refused(404, "not_found");
    }
}

#[test]
fn a_person_who_is_signed_out_everywhere_can_sign_in_again() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let person = invite(&server, &customer, "ada@shop.example").json();
    let browsers = [join(&server, &person), {
        let answer = server.sign_in("ada@shop.example", PASSWORD);
        Browser::of(&answer)
    }];
    let sessions = format!("{}/sessions", person_path(&customer, &person));
    server.admin("DELETE", &sessions).expect(204);
    assert!(browsers.iter().all(|it| !is_signed_in(&server, it)));
    assert_eq!(actions(&server, "?action=session.end_all").len(), 1);
    assert_eq!(server.sign_in("ada@shop.example", PASSWORD).status, 201);
}

#[test]
fn a_new_link_leaves_the_old_password_valid_unless_it_is_revoked() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let person = invite(&server, &customer, "ada@shop.example").json();
    let browser = join(&server, &person);
    let again = format!("{}/invitation", person_path(&customer, &person));
    server.admin("POST", &again).expect(200);
    assert!(is_signed_in(&server, &browser));
    assert_eq!(server.sign_in("ada@shop.example", PASSWORD).status, 201);
    let revoke = server.admin("POST", &again).json(&json!({"revoke": true}));
    let invited = revoke.expect(200).json();
    assert_eq!(invited["status"], "invited");
    assert!(!is_signed_in(&server, &browser));
    assert_eq!(server.sign_in("ada@shop.example", PASSWORD).status, 401);
    assert!(is_signed_in(&server, &join(&server, &invited)));
}

#[test]
fn an_owner_manages_no_people_in_the_panel() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let person = invite(&server, &customer, "ada@shop.example").json();
    let owner = join(&server, &person);
    let sessions = format!("{}/sessions", person_path(&customer, &person));
    owner
        .call(&server, "DELETE", &sessions)
        .refused(403, "forbidden");
    let here = server.operators_browser();
    here.call(&server, "DELETE", &sessions).expect(204);
    assert!(!is_signed_in(&server, &owner));
}
