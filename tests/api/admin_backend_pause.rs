//! Pauses of backends: jobs move to the other backend of the model, or wait.

use crate::support::options::OneNode;
use crate::support::{Options, Server, fox, until};
use serde_json::{Value, json};

const FAST: &str = "/nb/text-generations";

/// The model `fast` has the scripted generator, and after it the real built-in one.
fn two() -> Options {
    let backend = |name: &str| toml::Table::from_iter([("name".to_owned(), name.into())]);
    Options::new()
        .one_node(OneNode::Figures)
        .set("backends.second.kind", "procedural")
        .set(
            "tiers.fast.backends",
            vec![backend("builtin"), backend("second")],
        )
}

fn patch(server: &Server, body: Value) -> Value {
    let change = server.admin("PATCH", "/pause").json(&body);
    change.expect(200).json()
}

/// By backend: whether it is paused, and the reason.
fn shown(server: &Server) -> Value {
    let stats = server.admin("GET", "/stats").expect(200).json();
    let backends = stats["backends"].as_array().unwrap().iter();
    let of = |it: &Value| {
        let name = it["name"].as_str().unwrap().to_owned();
        (name, json!([it["paused"], it["paused_reason"]]))
    };
    Value::Object(backends.map(of).collect())
}

#[test]
fn jobs_move_to_the_other_backend_and_wait_if_there_is_none() {
    let server = Server::with(two());
    let customer = server.customer("9.00");
    let create = || {
        let call = server.generation(&customer, FAST, &fox());
        call.expect(202).job_id()
    };
    let first = create();
    server.job_once(&customer, &first, "done");
    assert_eq!(server.generator.runs(), 1);
    let paused = patch(
        &server,
        json!({"backends": ["builtin"], "reason": "new driver"}),
    );
    assert_eq!(paused["backends"], json!(["builtin"]));
    let expected = json!({"builtin": [true, "new driver"], "second": [false, null]});
    assert_eq!(shown(&server), expected);
    let moved = create();
    server.job_once(&customer, &moved, "done");
    assert_eq!(server.generator.runs(), 1, "it got no attempt");
    let both = patch(&server, json!({"backends": ["second"]}));
    assert_eq!(both["backends"], json!(["builtin", "second"]));
    let waiting = create();
    let job = server.job(&customer, &waiting);
    assert_eq!(job["status"], "queued");
    assert_eq!(job["estimated_start_at"], Value::Null);
    assert_eq!(job["queue_position"], 1);
    let status = server.get("/status").expect(200).json();
    assert_eq!(status["status"], "limited", "{status}");
    let fast = &status["models"][0];
    assert_eq!(fast["wait_seconds"], Value::Null);
    // Callers do not see the pause.
    assert_eq!(fast["reason"], "no backend is available; new jobs wait");
    let works = server.admin("POST", "/backends/builtin/test");
    assert_eq!(works.json(&json!({})).expect(200).json()["ok"], true);
    assert_eq!(server.job(&customer, &waiting)["status"], "queued");
    let one = patch(&server, json!({"resume_backends": ["builtin"]}));
    assert_eq!(one["backends"], json!(["second"]));
    server.job_once(&customer, &waiting, "done");
    assert_eq!(server.generator.runs(), 2);
    server.assert_settled();
}

#[test]
fn what_a_paused_backend_runs_ends_normally() {
    let server = Server::with(two());
    let customer = server.customer("9.00");
    server.generator.hold();
    let call = server.generation(&customer, FAST, &fox());
    let running = call.expect(202).job_id();
    until("it runs", || server.generator.runs() == 1);
    patch(&server, json!({"backends": ["builtin", "second"]}));
    let call = server.generation(&customer, FAST, &fox());
    let waiting = call.expect(202).job_id();
    server.generator.release_all();
    server.job_once(&customer, &running, "done");
    assert_eq!(server.job(&customer, &waiting)["status"], "queued");
    assert_eq!(server.generator.runs(), 1);
    patch(&server, json!({"resume_backends": ["builtin", "second"]}));
    server.job_once(&customer, &waiting, "done");
}

#[test]
fn a_pause_of_a_backend_survives_a_restart() {
    let server = Server::with(two().on_disk());
    let customer = server.customer("9.00");
    let body = json!({"backends": ["builtin", "second"], "reason": "repair"});
    patch(&server, body);
    let call = server.generation(&customer, FAST, &fox());
    let waiting = call.expect(202).job_id();
    let server = server.restart();
    let expected = json!({"builtin": [true, "repair"], "second": [true, "repair"]});
    assert_eq!(shown(&server), expected);
    assert_eq!(server.job(&customer, &waiting)["status"], "queued");
    patch(&server, json!({"resume_backends": ["builtin"]}));
    server.job_once(&customer, &waiting, "done");
    assert_eq!(server.generator.runs(), 1);
}

#[test]
fn a_name_that_the_configuration_lost_is_ignored_and_cleared() {
    let server = Server::with(two().on_disk());
    let body = json!({"backends": ["builtin", "second"], "reason": "repair"});
    patch(&server, body);
    let options = server.stop();
    let options = options.unset(&["backends.second.kind", "tiers.fast.backends"]);
    let server = Server::with(options);
    let known = server.admin("GET", "/pause").expect(200).json();
    assert_eq!(known["backends"], json!(["builtin"]));
    // Its name is still accepted, because a command may repeat the last state.
    let kept = patch(&server, json!({"backends": ["builtin", "second"]}));
    assert_eq!(kept["backends"], json!(["builtin"]));
    assert_eq!(shown(&server), json!({"builtin": [true, "repair"]}));
    let unknown = json!({"resume_backends": ["second"]});
    let call = server.admin("PATCH", "/pause").json(&unknown);
    call.invalid(&["resume_backends[0]"]);
}

#[test]
fn an_unknown_backend_is_refused_with_the_known_ones() {
    let server = Server::with(two());
    for method in ["PUT", "PATCH"] {
        let body = json!({
            "tiers": {"fast": true}, "backends": ["gpu", "builtin"],
            "resume_backends": ["builtin", "third"]
        });
        let call = server.admin(method, "/pause").json(&body);
        let refused = call.invalid(&["backends[0]", "resume_backends[0]", "resume_backends[1]"]);
        let message = refused.json()["errors"][0]["message"].clone();
        assert_eq!(
            message,
            "backend `gpu` is not defined; defined: builtin, second"
        );
    }
    for bad in [json!("builtin"), json!({"builtin": true}), json!(7)] {
        let call = server
            .admin("PATCH", "/pause")
            .json(&json!({"backends": bad}));
        call.invalid(&["backends"]);
    }
    let call = server.admin("PATCH", "/pause");
    call.json(&json!({"backends": [7]}))
        .invalid(&["backends[0]"]);
    let none = server.admin("GET", "/pause").expect(200).json();
    assert_eq!(none["tiers"]["fast"], false);
    assert!(none.get("backends").is_none());
}

#[test]
fn patch_keeps_other_pauses_and_put_with_a_list_resumes_them() {
    let server = Server::with(two());
    patch(&server, json!({"backends": ["builtin"], "reason": "a"}));
    patch(&server, json!({"tiers": {"pro": true}, "reason": "b"}));
    let both = patch(&server, json!({"backends": ["second", "builtin"]}));
    assert_eq!(both["tiers"]["pro"], true);
    assert_eq!(both["reasons"]["pro"], "b");
    let expected = json!({"builtin": [true, "a"], "second": [true, null]});
    assert_eq!(shown(&server), expected, "without a reason, it stays");
    let put = |body: Value| server.admin("PUT", "/pause").json(&body).expect(200).json();
    assert_eq!(put(both.clone()), both, "an answer can be sent again");
    let one = put(json!({"backends": ["second"], "reason": "c"}));
    assert_eq!(one["tiers"]["pro"], false);
    let expected = json!({"builtin": [false, null], "second": [true, "c"]});
    assert_eq!(shown(&server), expected);
    // A program that does not know of backends sends no list.
    let models = json!({"project": false, "tiers": {"fast": false}, "reason": "d"});
    assert_eq!(put(models)["backends"], json!(["second"]));
    assert_eq!(shown(&server), expected);
    put(json!({"backends": []}));
    assert!(!shown(&server).to_string().contains("true"));
    let entries = server
        .admin("GET", "/audit?action=pause")
        .expect(200)
        .json();
    let newest = &entries["data"][1];
    assert_eq!(newest["after"]["backends"], json!(["second"]));
    assert_eq!(newest["after"]["backend_reasons"], json!({"second": "c"}));
    assert_eq!(newest["before"]["backends"], json!(["builtin", "second"]));
}

#[test]
fn reasons_that_no_record_can_hold_are_refused() {
    let names: Vec<String> = (0..20).map(|at| format!("gpu{at}")).collect();
    let procedural = |options: Options, name: &String| {
        options.set(&format!("backends.{name}.kind"), "procedural")
    };
    let server = Server::with(names.iter().fold(two(), procedural));
    let body = json!({"backends": names, "reason": "🚧".repeat(200)});
    let call = server.admin("PATCH", "/pause").json(&body);
    call.invalid(&["backends"]);
    // An entry of the audit log has all reasons, before and after the change.
    for sign in ["🚧", "🚦"] {
        let reason = sign.repeat(200);
        let tiers = json!({"fast": true, "quality": true, "pro": true});
        patch(
            &server,
            json!({"project": true, "tiers": tiers, "reason": reason}),
        );
    }
    for sign in ["\"", "x", "🚧"] {
        let reason = sign.repeat(150 / sign.len().max(2));
        patch(&server, json!({"backends": names, "reason": reason}));
    }
}

#[test]
fn a_new_reason_does_not_pause_what_another_operator_has_resumed() {
    let server = Server::with(two());
    let change_reason = |body: Value| {
        let call = server.admin("PATCH", "/pause").json(&body);
        let refused = call.expect(409).json();
        assert_eq!(refused["code"], "conflict");
        refused["detail"].as_str().unwrap().to_owned()
    };
    let of_backend =
        json!({"backends": ["second", "builtin"], "reason": "new driver", "if_paused": true});
    let of_model =
        json!({"tiers": {"pro": true}, "reasons": {"pro": "new weights"}, "if_paused": true});
    patch(
        &server,
        json!({"backends": ["builtin", "second"], "tiers": {"pro": true}}),
    );
    for body in [&of_backend, &of_model] {
        patch(&server, body.clone());
    }
    let pauses = patch(
        &server,
        json!({"resume_backends": ["builtin"], "tiers": {"pro": false}}),
    );
    let refused = change_reason(of_backend);
    assert!(
        refused.contains("the backend builtin is no longer paused"),
        "{refused}"
    );
    let refused = change_reason(of_model);
    assert!(
        refused.contains("the model pro is no longer paused"),
        "{refused}"
    );
    let of_service = json!({"project": true, "reason": "repair", "if_paused": true});
    let refused = change_reason(of_service);
    assert!(
        refused.contains("the service is no longer paused"),
        "{refused}"
    );
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), pauses);
}

#[test]
fn the_switches_show_why_a_backend_is_paused() {
    let server = Server::with(two());
    patch(
        &server,
        json!({"backends": ["second"], "reason": "new driver"}),
    );
    let both = patch(&server, json!({"backends": ["builtin"]}));
    let expected = json!({"builtin": null, "second": "new driver"});
    assert_eq!(both["backend_reasons"], expected);
    assert_eq!(server.admin("GET", "/pause").expect(200).json(), both);
    let put = |body: &Value| server.admin("PUT", "/pause").json(body).expect(200).json();
    // A response can be changed and sent, without a look at the reasons of backends that it resumes.
    let mut one = both.clone();
    one["backends"] = json!(["second"]);
    let one = put(&one);
    assert_eq!(one["backend_reasons"], json!({"second": "new driver"}));
    let again = put(&both);
    assert_eq!(again, both);
    // An entry of its own goes before `reason`, and no entry keeps nothing from it.
    let body = json!({"backends": ["builtin", "second"], "reason": "repair", "backend_reasons": {"second": null}});
    let changed = patch(&server, body);
    let expected = json!({"builtin": "repair", "second": null});
    assert_eq!(changed["backend_reasons"], expected);
    for (reasons, fault) in [
        (json!({"builtin": 7}), "backend_reasons.builtin"),
        (json!({"builtin": ""}), "backend_reasons.builtin"),
        (json!(["builtin"]), "backend_reasons"),
    ] {
        let body = json!({"backends": ["builtin"], "backend_reasons": reasons});
        server
            .admin("PATCH", "/pause")
            .json(&body)
            .invalid(&[fault]);
    }
    let resumed = patch(&server, json!({"resume_backends": ["builtin", "second"]}));
    assert_eq!(resumed.get("backend_reasons"), None);
}
