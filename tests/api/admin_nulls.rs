//! What `null` does in each field of a PATCH, as docs/operations.md lists it.

use crate::support::{Options, Server};
use serde_json::{Value, json};

/// Sends each field alone as `null`. Those in `removes` get this value, and the others stay as they are.
fn check(server: &Server, path: &str, removes: &Value, keeps: &[&str]) {
    let shown = || server.admin("GET", path).expect(200).json();
    let removed = removes.as_object().unwrap().iter();
    let kept = keeps.iter().map(|field| (*field, None));
    for (field, removed) in removed
        .map(|(field, it)| (field.as_str(), Some(it)))
        .chain(kept)
    {
        let mut expected = shown();
        if let Some(removed) = removed {
            assert_ne!(
                expected.get(field),
                Some(removed),
                "{field} has a value before"
            );
            expected[field] = removed.clone();
        }
        let change = server.admin("PATCH", path).json(&json!({field: null}));
        let mut changed = change.expect(200).json();
        // A value that the response omits.
        if removed == Some(&Value::Null) && changed.get(field).is_none() {
            changed[field] = Value::Null;
        }
        assert_eq!(changed, expected, "{path} {field}");
    }
}

#[test]
fn null_removes_what_can_be_absent_and_changes_nothing_else() {
    let server = Server::with(Options::new().allow_loopback());
    let account = server.customer("1.00").account;
    let limits = json!({
        "spend_per_day": "1.00", "spend_per_month": "2.00", "rate_limit": {"per_second": 1, "burst": 9},
        "max_concurrent": 3
    });
    let path = format!("/accounts/{account}");
    let change = json!({"low_balance": "0.50", "limits": limits, "active": false});
    server.admin("PATCH", &path).json(&change).expect(200);
    for field in limits.as_object().unwrap().keys() {
        let change = json!({"limits": {field: null}});
        let changed = server
            .admin("PATCH", &path)
            .json(&change)
            .expect(200)
            .json();
        assert_eq!(changed["limits"][field], Value::Null);
        server
            .admin("PATCH", &path)
            .json(&json!({"limits": limits}))
            .expect(200);
    }
    let removes = json!({"low_balance": null, "limits": null});
    check(&server, &path, &removes, &["name", "active"]);

    let keys = format!("/accounts/{account}/keys");
    let key = json!({
        "name": "ci", "models": ["pro"], "active": false, "expires_at": "2030-01-31T12:00:00Z",
        "spend_limit": "5.00", "spend_limit_daily": "1.00", "spend_limit_monthly": "2.00",
        "rate_limit": {"per_second": 5, "burst": 10}, "allowed_ips": ["10.0.0.0/8"], "max_concurrent": 4
    });
    let key = server.admin("POST", &keys).json(&key).expect(201).json();
    let path = format!("/keys/{}", key["key_id"].as_str().unwrap());
    let removes = json!({
        "models": ["fast", "quality", "pro"], "expires_at": null, "spend_limit": null,
        "spend_limit_daily": null, "spend_limit_monthly": null, "rate_limit": null, "allowed_ips": null,
        "max_concurrent": null
    });
    check(&server, &path, &removes, &["name", "active"]);

    let hooks = format!("/accounts/{account}/webhooks");
    let hook = json!({"url": "http://127.0.0.1:9/hook", "encoding": "utf8", "active": false});
    let hook = server.admin("POST", &hooks).json(&hook).expect(201).json();
    let path = format!("/webhooks/{}", hook["webhook_id"].as_str().unwrap());
    check(&server, &path, &json!({}), &["url", "encoding", "active"]);

    let people = format!("/accounts/{account}/people");
    let person = json!({"email": "ada@example.com", "role": "viewer"});
    let person = server
        .admin("POST", &people)
        .json(&person)
        .expect(201)
        .json();
    let path = format!("{people}/{}", person["person_id"].as_str().unwrap());
    let change = server.admin("PATCH", &path).json(&json!({"role": null}));
    change.expect(422);
}

#[test]
fn null_removes_the_reason_of_a_pause_and_resumes_nothing() {
    let server = Server::start();
    let patch = |change: &Value| {
        server
            .admin("PATCH", "/pause")
            .json(change)
            .expect(200)
            .json()
    };
    let pauses = patch(&json!({
        "project": true, "tiers": {"fast": true}, "backends": ["builtin"], "reason": "repair"
    }));
    for null in [
        "project",
        "tiers",
        "reasons",
        "backends",
        "backend_reasons",
        "resume_backends",
        "if_paused",
    ] {
        assert_eq!(patch(&json!({null: null})), pauses, "{null}");
    }
    assert_eq!(patch(&json!({"tiers": {"fast": null}})), pauses);
    let one = patch(&json!({"reasons": {"fast": null}}));
    assert_eq!(one["reasons"]["fast"], Value::Null);
    assert_eq!(one["reasons"]["project"], "repair");
    let none = patch(&json!({"project": true, "backends": ["builtin"], "reason": null}));
    assert_eq!(none.get("reasons"), None);
    assert_eq!(none["backend_reasons"]["builtin"], Value::Null);
}
