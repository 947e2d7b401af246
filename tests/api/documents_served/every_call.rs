//! The answers that every call gives under the same conditions.

use super::tour::{Access, Tour, access_of, lists_code, outcome};
use crate::support::http::Request;
use crate::support::raw::Wire;
use serde_json::json;
use std::collections::BTreeSet;

/// Answers that depend only on credentials, body, ids and query.
pub fn early_checks(tour: &mut Tour<'_>) {
    let server = tour.server;
    let elsewhere = server.another_key(
        &tour.customer.account,
        json!({"allowed_ips": ["192.0.2.1"]}),
    );
    let limited = json!({"rate_limit": {"per_second": 1, "burst": 1}});
    let limited = server.another_key(&tour.customer.account, limited);
    server.native(&limited, "GET", "/balance").expect(200);
    let contract = tour.contract;
    for call in contract.calls() {
        let has_body = call.operation.get("requestBody").is_some();
        if access_of(&call) != Access::Anyone {
            tour.assert_answer(tour.without_credentials(&call, false), "unauthorized");
        }
        if access_of(&call) == Access::Client {
            tour.assert_answer(
                tour.without_credentials(&call, false)
                    .bearer(&elsewhere.key),
                "address_not_allowed",
            );
            tour.assert_answer(
                tour.without_credentials(&call, false).bearer(&limited.key),
                "rate_limited",
            );
        }
        let path = tour.path(&call.template, false);
        let bare = |path: &str| server.call(&call.method.to_ascii_uppercase(), path);
        let key = tour.customer.key.clone();
        if has_body {
            let empty = tour.with(&call, bare(&path), &key);
            tour.assert_answer(
                empty.clone().bytes("text/plain", b"{}"),
                "unsupported_media_type",
            );
            // A batch has a separate limit.
            let is_batch = call.template.ends_with("/batches");
            let too_long = if is_batch { (16 << 20) + 1 } else { 40_000 };
            tour.assert_answer(
                empty.clone().text(&" ".repeat(too_long)),
                "payload_too_large",
            );
            tour.assert_answer(empty.text("[]"), "validation_failed");
        } else if lists_code(&call, "validation_failed") && access_of(&call) != Access::Anyone {
            let no_list = ["/{job_id}", "/{batch_id}", "/image", "/content", "/export"];
            let query = if no_list.iter().any(|it| call.template.ends_with(it)) {
                "wait=x&account_id=x&recorded=x"
            } else {
                "limit=0"
            };
            tour.assert_answer(
                tour.with(&call, bare(&format!("{path}?{query}")), &key),
                "validation_failed",
            );
        }
        if call.template.contains('{') && access_of(&call) != Access::Anyone {
            let strange = tour.without_credentials(&call, true);
            tour.assert_answer(tour.with(&call, strange, &key), "not_found");
        }
    }
    slow_bodies(tour);
}

/// The documented parameters of a list are those that its error message lists, so an added filter must be documented as well.
pub fn parameters(tour: &mut Tour<'_>) {
    let (contract, server) = (tour.contract, tour.server);
    let mut lists = 0;
    for call in contract.calls() {
        let parameters = call.operation["parameters"].as_array();
        let parameters = parameters.into_iter().flatten();
        let told: BTreeSet<String> = parameters
            .filter(|it| it["in"] == "query")
            .map(|it| {
                let name = it["name"].as_str().unwrap();
                let is_deep = it["style"] == "deepObject";
                format!("{name}{}", if is_deep { "[]" } else { "" })
            })
            .collect();
        if !told.contains("cursor") {
            continue;
        }
        lists += 1;
        let target = format!("{}?nonsense=1", tour.path(&call.template, false));
        let bare = server.call(&call.method.to_ascii_uppercase(), &target);
        let asked = tour.with(&call, bare, &tour.customer.key);
        let answer = tour.assert_answer(asked, "validation_failed").json();
        let message = answer["errors"][0]["message"].as_str().unwrap();
        let (_, known) = message.split_once("the parameters are ").unwrap();
        let known: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
        assert_eq!(told, known, "{}", call.template);
    }
    assert!(lists >= 9, "{lists}");
}

/// Sends the heads of all calls at once without a body; the server waits a second for each body.
pub fn slow_bodies(tour: &mut Tour<'_>) {
    let contract = tour.contract;
    let calls: Vec<_> = contract
        .calls()
        .into_iter()
        .filter(|it| it.operation.get("requestBody").is_some())
        .collect();
    let requests: Vec<Request> = calls
        .iter()
        .map(|call| {
            let bare = tour.server.call(
                &call.method.to_ascii_uppercase(),
                &tour.path(&call.template, false),
            );
            let typed = bare
                .header("Content-Type", "application/json")
                .header("Content-Length", "2");
            tour.with(call, typed, &tour.customer.key)
        })
        .collect();
    let mut wires: Vec<Wire> = requests
        .iter()
        .map(|_| Wire::open(tour.server.address))
        .collect();
    for (wire, request) in wires.iter_mut().zip(&requests) {
        wire.send(&request.wire());
    }
    for (wire, request) in wires.iter_mut().zip(&requests) {
        let answer = wire.answer_to(request.method()).unwrap();
        assert_eq!(outcome(&answer), "request_timeout", "{}", request.target());
        tour.record(request, &answer);
    }
}

/// Makes every call once more with its documented example.
pub fn documented_examples(tour: &mut Tour<'_>) {
    let contract = tour.contract;
    for call in contract
        .calls()
        .into_iter()
        .filter(|it| it.method != "delete")
    {
        let operation = &call.operation["operationId"];
        // The preconditions of these calls no longer hold after the steps above.
        if ["downloadImage", "redeliver"]
            .iter()
            .any(|it| operation == it)
        {
            continue;
        }
        let answer = tour.send(tour.valid_request(&call));
        assert!(answer.status < 300, "{operation}: {}", answer.text());
        if operation.as_str().unwrap().ends_with("Document") {
            let again = tour
                .valid_request(&call)
                .header("If-None-Match", answer.header("etag").unwrap());
            tour.assert_answer(again, "304");
        }
    }
}

/// After a storage failure every call gives the same answer.
pub fn after_storage_failure(tour: &mut Tour<'_>) {
    tour.server.inside().fail_stop.trip("a test");
    let contract = tour.contract;
    for call in contract.calls() {
        tour.assert_answer(tour.valid_request(&call), "overloaded");
    }
}
