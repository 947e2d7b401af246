//! Owners invite people to their account and revoke pending invitations.

use crate::support::{Browser, OneNode, Options, Server};
use serde_json::{Value, json};

const PASSWORD: &str = "a long enough password";

fn invite(server: &Server, by: &Browser, account: &str, email: &str) -> Value {
    let path = format!("/accounts/{account}/people");
    let body = json!({"email": email, "role": "viewer"});
    let call = by.call(server, "POST", &path).json(&body);
    call.expect(201).json()
}

fn person_path(account: &str, person: &Value) -> String {
    let id = person["person_id"].as_str().unwrap();
    format!("/accounts/{account}/people/{id}")
}

#[test]
fn an_owner_invites_people_and_withdraws_unused_invitations() {
    let server = Server::start();
    let account = server.customer("1").account;
    let owner = server.person(&account, "ada@a.example", "owner");
    let bea = invite(&server, &owner, &account, "bea@a.example");
    let path = person_path(&account, &bea);
    let again = format!("{path}/invitation");
    let link = owner.call(&server, "POST", &again).expect(200).json();
    assert_ne!(link["invitation_url"], bea["invitation_url"]);
    let token = link["invitation_url"].as_str().unwrap();
    let token = token.rsplit('/').next().unwrap();
    let body = json!({"token": token, "password": PASSWORD});
    let accept = server.panel("POST", "/invitation/accept").json(&body);
    accept.expect(201);
    // With a new link of a person who has joined, an owner could sign in as that person.
    for (method, path) in [("POST", again.as_str()), ("DELETE", path.as_str())] {
        let call = owner.call(&server, method, path);
        call.refused(403, "forbidden");
    }
    let role = owner.call(&server, "PATCH", &path);
    role.json(&json!({"role": "owner"}))
        .refused(403, "forbidden");
    // The same holds for a person whose password the operator has revoked.
    let operator = server.operators_browser();
    let revoke = operator.call(&server, "POST", &again);
    revoke.json(&json!({"revoke": true})).expect(200);
    owner
        .call(&server, "POST", &again)
        .refused(403, "forbidden");
    let eve = invite(&server, &owner, &account, "eve@a.example");
    let remove = owner.call(&server, "DELETE", &person_path(&account, &eve));
    remove.expect(204);
    let audit = server
        .admin("GET", "/audit?action=person.remove")
        .expect(200)
        .json();
    assert_eq!(audit["data"][0]["actor"], "person", "{audit}");
    server.assert_settled();
}

#[test]
fn an_owner_does_not_learn_who_has_another_account() {
    let server = Server::start();
    let [own, other] = [(); 2].map(|()| server.customer("1").account);
    let owner = server.person(&own, "ada@a.example", "owner");
    server.person(&other, "bea@b.example", "viewer");
    let detail = |by: &Browser| {
        let path = format!("/accounts/{own}/people");
        let body = json!({"email": "bea@b.example", "role": "viewer"});
        let call = by.call(&server, "POST", &path).json(&body);
        call.refused(409, "conflict").json()["detail"].to_string()
    };
    let said = detail(&owner);
    assert!(said.contains("cannot be invited"), "{said}");
    assert!(!said.contains("account"), "{said}");
    let said = detail(&server.operators_browser());
    assert!(said.contains("another account"), "{said}");
}

/// A person may make 50 changes at once.
#[test]
fn a_change_of_a_person_counts_once() {
    let server = Server::with(Options::new().one_node(OneNode::Rates));
    let account = server.customer("1").account;
    let owner = server.person(&account, "ada@a.example", "owner");
    for number in 0..16 {
        let bea = invite(&server, &owner, &account, &format!("{number}@a.example"));
        let path = person_path(&account, &bea);
        let again = owner.call(&server, "POST", &format!("{path}/invitation"));
        again.expect(200);
        owner.call(&server, "DELETE", &path).expect(204);
    }
}

#[test]
fn the_number_of_people_that_an_owner_can_invite_is_limited() {
    let server = Server::start();
    let account = server.customer("1").account;
    let owner = server.person(&account, "ada@a.example", "owner");
    let operator = server.operators_browser();
    for at in 1..100 {
        invite(&server, &operator, &account, &format!("{at}@a.example"));
    }
    let path = format!("/accounts/{account}/people");
    let body = json!({"email": "more@a.example", "role": "viewer"});
    let call = owner.call(&server, "POST", &path).json(&body);
    call.refused(409, "conflict");
    invite(&server, &operator, &account, "more@a.example");
}
