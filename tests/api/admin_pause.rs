//! Pauses of the project and of single models, and the reasons that rejected callers see.

use crate::support::{Customer, Options, Server, fox};
use serde_json::{Value, json};

fn put(server: &Server, body: Value) -> Value {
    server.admin("PUT", "/pause").json(&body).expect(200).json()
}

/// The detail that a call on a path gets while it is paused.
fn pause_detail(server: &Server, customer: &Customer, path: &str) -> String {
    let refused = server
        .generation(customer, path, &fox())
        .refused(503, "paused");
    assert_eq!(refused.header("retry-after"), Some("30"));
    refused.json()["detail"].as_str().unwrap().to_owned()
}

const FAST: &str = "/nb/text-generations";
const PRO: &str = "/text-generations";

#[test]
fn a_pause_reason_is_returned_to_callers() {
    let server = Server::start();
    let customer = server.customer("9.00");
    let body = json!({"tiers": {"fast": true, "pro": true}, "reasons": {"fast": "new weights until 14:00"}});
    let shown = put(&server, body);
    let expected = json!({
        "project": false, "tiers": {"fast": true, "quality": false, "pro": true},
        "reasons": {"project": null, "fast": "new weights until 14:00", "quality": null, "pro": null}
    });
    assert_eq!(shown, expected);
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), expected);
    assert_eq!(
        pause_detail(&server, &customer, FAST),
        "the fast model is paused (new weights until 14:00); try again later with the same Idempotency-Key"
    );
    assert_eq!(
        pause_detail(&server, &customer, PRO),
        "the pro model is paused; try again later with the same Idempotency-Key"
    );
}

/// The page sends the idempotency key.
#[test]
fn a_person_is_not_told_to_repeat_the_idempotency_key() {
    let server = Server::start();
    let customer = server.customer("9.00");
    server.pause(&["pro"]);
    let browser = server.operators_browser();
    let form = "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n";
    let form = format!("{form}{}\r\n--b--\r\n", fox());
    let path = format!("/accounts/{}/generations/pro", customer.account);
    let call = browser.call(&server, "POST", &path);
    let call = call.bytes("multipart/form-data; boundary=b", form.as_bytes());
    let refused = call.refused(503, "paused").json();
    assert_eq!(
        refused["detail"],
        "the pro model is paused; try again later"
    );
}

#[test]
fn a_common_reason_applies_to_all_switches_without_a_separate_reason() {
    let server = Server::start();
    let customer = server.customer("9.00");
    let tiers = json!({"fast": true, "pro": true});
    let body = json!({"tiers": tiers, "reason": "moving house", "reasons": {"pro": null}});
    let shown = put(&server, body);
    assert_eq!(shown["reasons"]["fast"], "moving house");
    assert!(shown["reasons"]["pro"].is_null() && shown["reasons"]["project"].is_null());
    put(
        &server,
        json!({"project": true, "tiers": tiers, "reason": "power cut"}),
    );
    for path in [FAST, PRO, "/nb2/text-generations"] {
        assert!(
            pause_detail(&server, &customer, path).contains("the service is paused (power cut)")
        );
    }
}

#[test]
fn a_switch_keeps_its_reason_only_while_it_stays_paused() {
    let server = Server::start();
    put(
        &server,
        json!({"tiers": {"fast": true}, "reason": "repair"}),
    );
    let more = put(&server, json!({"tiers": {"fast": true, "pro": true}}));
    assert_eq!(more["reasons"]["fast"], "repair");
    assert!(more["reasons"]["pro"].is_null());
    let cleared = put(
        &server,
        json!({"tiers": {"fast": true}, "reasons": {"fast": null}}),
    );
    assert!(cleared.get("reasons").is_none());
    put(
        &server,
        json!({"tiers": {"fast": true}, "reason": "repair"}),
    );
    put(&server, json!({}));
    let again = put(&server, json!({"tiers": {"fast": true}}));
    let plain = json!({"project": false, "tiers": {"fast": true, "quality": false, "pro": false}});
    assert_eq!(again, plain);
}

#[test]
fn reasons_survive_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let customer = server.customer("9.00");
    let before = put(
        &server,
        json!({"tiers": {"fast": true}, "reason": "repair"}),
    );
    let server = server.restart();
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), before);
    assert!(pause_detail(&server, &customer, FAST).contains("repair"));
}

#[test]
fn a_reason_is_a_short_line_of_text() {
    let server = Server::start();
    for bad in [json!(""), json!("x".repeat(201)), json!("a\nb"), json!(7)] {
        let body = json!({"project": true, "reason": bad});
        server
            .admin("PUT", "/pause")
            .json(&body)
            .invalid(&["reason"]);
        let body = json!({"project": true, "reasons": {"project": bad, "turbo": "x"}});
        server
            .admin("PUT", "/pause")
            .json(&body)
            .invalid(&["reasons.project", "reasons.turbo"]);
    }
    let body = json!({"reasons": "because"});
    server
        .admin("PUT", "/pause")
        .json(&body)
        .invalid(&["reasons"]);
    let none = server.admin("GET", "/pause").expect(200).json();
    assert_eq!(none["project"], false);
    put(&server, json!({"project": true, "reason": "é".repeat(200)}));
}

#[test]
fn the_model_list_contains_the_reasons_of_pauses() {
    let server = Server::start();
    let customer = server.customer("9.00");
    let paused_reasons = || {
        let models = server
            .native(&customer, "GET", "/models")
            .expect(200)
            .json();
        let reason = |at: usize| models["data"][at].get("paused_reason").cloned();
        [reason(0), reason(1), reason(2)]
    };
    put(
        &server,
        json!({"tiers": {"fast": true, "pro": true}, "reasons": {"fast": "repair"}}),
    );
    assert_eq!(paused_reasons(), [Some("repair".into()), None, None]);
    put(&server, json!({"project": true, "reason": "moving house"}));
    assert_eq!(
        paused_reasons(),
        [(); 3].map(|()| Some("moving house".into()))
    );
}

#[test]
fn changing_one_pause_switch_does_not_change_the_others() {
    let server = Server::start();
    put(
        &server,
        json!({"tiers": {"fast": true}, "reason": "new weights"}),
    );
    let patch = |body: Value| {
        let change = server.admin("PATCH", "/pause").json(&body);
        change.expect(200).json()
    };
    let both = patch(json!({"tiers": {"pro": true}, "reason": "repair"}));
    let paused = json!({"fast": true, "quality": false, "pro": true});
    assert_eq!(both["tiers"], paused);
    assert_eq!(both["reasons"]["fast"], "new weights");
    assert_eq!(both["reasons"]["pro"], "repair");
    let rest = patch(json!({"tiers": {"fast": false}}));
    assert_eq!(rest["tiers"]["fast"], false);
    assert_eq!(rest["reasons"]["pro"], "repair");
    assert!(rest["reasons"]["fast"].is_null());
    assert_eq!(patch(json!({})), rest);
}
