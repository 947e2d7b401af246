//! Every change in the panel has an entry in the audit log: actor, address, action, and the state before and after.

use crate::admin_audit::actions;
use crate::support::panel::PASSWORD;
use crate::support::{Browser, Options, Server, audited};
use serde_json::{Value, json};

/// All entries whose action begins with one of `kinds`, oldest first.
fn entries(server: &Server, kinds: &[&str]) -> Vec<Value> {
    let list = server.admin("GET", "/audit?limit=100").expect(200).json();
    let mut entries = list["data"].as_array().unwrap().clone();
    entries.reverse();
    let kind = |line: &Value| {
        line["action"]
            .as_str()
            .unwrap()
            .split('.')
            .next()
            .unwrap()
            .to_owned()
    };
    entries.retain(|line| kinds.contains(&kind(line).as_str()));
    entries
}

#[test]
fn a_person_is_audited_from_invitation_to_removal_without_any_secret() {
    let server = Server::start();
    let account = server.customer("1").account;
    let (person, token) = server.invite(&account, "ada@example.com", "owner");
    let id = person["person_id"].as_str().unwrap();
    let path = format!("/accounts/{account}/people/{id}");
    let operator = server.operators_browser();
    let join = |token: &str| {
        let body = json!({"token": token, "password": PASSWORD});
        server.panel("POST", "/invitation/accept").json(&body)
    };
    let ada = Browser::of(&join(&token).expect(201));
    let change = operator.call(&server, "PATCH", &path);
    let viewer = change.json(&json!({"role": "viewer"}));
    viewer.expect(200);
    // A call that changes nothing has no entry.
    viewer.expect(200);
    let again = format!("{path}/invitation");
    let again = operator.call(&server, "POST", &again).expect(200).json();
    let body = json!({"current_password": PASSWORD, "password": "other words to keep"});
    let changed = ada.call(&server, "POST", "/session/password").json(&body);
    changed.expect(201);
    operator.call(&server, "DELETE", &path).expect(204);

    let entries = entries(&server, &["person"]);
    let expected = [
        "person.invite",
        "person.join",
        "person.change",
        "person.invite_again",
        "person.change_password",
        "person.remove",
    ];
    assert_eq!(actions(&entries), expected);
    for line in &entries {
        assert_eq!(line["subject_id"], id);
        assert_eq!(line["account_id"], account.as_str());
        assert_eq!(line["address"], "127.0.0.1");
        assert!(line["request_id"].is_string());
    }
    let actors = entries.iter().map(|it| it["actor"].as_str().unwrap());
    let by_person = [
        "operator", "person", "operator", "operator", "person", "operator",
    ];
    assert!(actors.eq(by_person));
    assert_eq!(entries[1]["person_id"], id);
    assert!(entries[0]["before"].is_null() && entries[5]["after"].is_null());
    assert_eq!(entries[0]["after"]["email"], "ada@example.com");
    assert_eq!(entries[1]["before"]["has_password"], false);
    assert_eq!(entries[1]["after"]["has_password"], true);
    assert_eq!(entries[2]["before"]["role"], "owner");
    assert_eq!(entries[2]["after"]["role"], "viewer");
    assert!(entries[3]["before"]["invitation_expires_at"].is_null());
    assert!(entries[3]["after"]["invitation_expires_at"].is_string());
    let text = json!(entries).to_string();
    let link = again["invitation_url"].as_str().unwrap();
    for secret in [&token, link.rsplit('/').next().unwrap(), PASSWORD, "argon2"] {
        assert!(!text.contains(secret), "{secret}");
    }
    audited(&server);
}

#[test]
fn signing_in_and_out_is_audited_and_a_failed_attempt_is_not() {
    let server = Server::start();
    let account = server.customer("1").account;
    let operator = server.operators_browser();
    let ada = server.person(&account, "ada@example.com", "owner");
    assert_eq!(server.sign_in("ada@example.com", "wrong").status, 401);
    ada.call(&server, "DELETE", "/session").expect(204);
    let again = Browser::of(&server.sign_in("ada@example.com", PASSWORD));
    again.call(&server, "DELETE", "/sessions").expect(204);
    operator.call(&server, "DELETE", "/sessions").expect(204);
    let entries = entries(&server, &["session"]);
    let logged: Vec<_> = entries
        .iter()
        .map(|it| {
            (
                it["action"].as_str().unwrap(),
                it["actor"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("session.begin", "operator"),
        // The browser that created the invitation.
        ("session.begin", "operator"),
        ("session.begin", "person"),
        ("session.end", "person"),
        ("session.begin", "person"),
        ("session.end_all", "person"),
        ("session.end_all", "operator"),
    ];
    assert_eq!(logged, expected);
    for line in &entries {
        let of_person = line["actor"] == "person";
        assert_eq!(line["account_id"].is_string(), of_person, "{line}");
        assert_eq!(line["subject_id"], line["person_id"]);
        assert!(line["before"].is_object() || line["after"].is_object());
    }
}

#[test]
fn changes_by_people_are_audited_with_their_names() {
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1");
    let account = &customer.account;
    let ada = server.person(account, "ada@example.com", "owner");
    let call =
        |method: &str, path: &str| ada.call(&server, method, &format!("/accounts/{account}{path}"));
    let key = call("POST", "/keys").json(&json!({"name": "website"}));
    let key = key.expect(201).json();
    let path = format!("/keys/{}", key["key_id"].as_str().unwrap());
    call("PATCH", &path)
        .json(&json!({"spend_limit_daily": "2"}))
        .expect(200);
    call("POST", &format!("{path}/rotate"))
        .json(&json!({"overlap_hours": 1}))
        .expect(200);
    call("DELETE", &path).expect(204);
    let hook = call("POST", "/webhooks").json(&json!({"url": "http://127.0.0.1:9/"}));
    let hook = hook.expect(201).json();
    let path = format!("/webhooks/{}", hook["webhook_id"].as_str().unwrap());
    call("DELETE", &path).expect(204);
    let entries = entries(&server, &["key", "webhook"]);
    let expected = [
        // The operator's key.
        "key.create",
        "key.create",
        "key.change",
        "key.rotate",
        "key.delete",
        "webhook.create",
        "webhook.delete",
    ];
    assert_eq!(actions(&entries), expected);
    let person = &entries[1]["person_id"];
    assert!(person.is_string());
    assert!(
        entries[1..]
            .iter()
            .all(|it| it["actor"] == "person" && it["person_id"] == *person)
    );
    // The panel shows their names.
    let list = server
        .operators_browser()
        .call(&server, "GET", "/audit?action=webhook");
    let shown = list.expect(200).json();
    assert_eq!(shown["data"][0]["person_email"], "ada@example.com");
    assert_eq!(shown["data"][0]["account_name"], "a customer");
    let other = server
        .operators_browser()
        .call(&server, "GET", "/audit?action=sabotage");
    other.invalid(&["action"]);
}
