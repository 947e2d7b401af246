//! Every documented answer occurs, down to the error codes.
//!
//! [`crate::support::contract`] checks the other direction in every test: each answer that occurs is documented.

mod batch_calls;
mod every_call;
mod single_calls;
mod tour;

use crate::support::contract::{Contract, resolve_ref};
use crate::support::{OneNode, Options, Origin, Server, origin, sample_images};
use batch_calls::batches;
use every_call::{after_storage_failure, documented_examples, early_checks, parameters};
use serde_json::json;
use single_calls::{generations, jobs, not_configured, operations};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tour::{Outcomes, Tour, describe};
use uuid::Uuid;

/// The code that only the panic handler answers with; another test covers it.
const PANIC_CODE: &str = "internal";

/// Only a failing bucket signer causes these.
const SIGNER_ERRORS: [&str; 3] = [
    "GET /api/v1/jobs/{job_id} storage_unavailable",
    "GET /admin/v1/jobs/{job_id} storage_unavailable",
    "GET /admin/v1/jobs storage_unavailable",
];

fn documented(contract: &Contract) -> Outcomes {
    let mut words = Outcomes::new();
    for call in contract.calls() {
        for (status, response) in call.operation["responses"].as_object().unwrap() {
            let response = resolve_ref(call.document, response);
            let schema = &response["content"]["application/problem+json"]["schema"];
            match schema["properties"]["code"]["enum"].as_array() {
                Some(codes) => words.extend(
                    codes
                        .iter()
                        .map(|code| describe(&call, code.as_str().unwrap())),
                ),
                None => {
                    words.insert(describe(&call, status));
                }
            }
        }
    }
    words
}

fn run_tour(
    options: Options,
    images: &str,
    seen: &mut Outcomes,
    steps: &[fn(&mut Tour<'_>)],
) -> Outcomes {
    let server = Server::with(options.one_node(OneNode::Rates));
    let contract = Contract::of(server.address).unwrap();
    let customer = server.customer("100.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let batch = server.submit(&customer, &[crate::support::batches::entry()]);
    server.batch_ended(&customer, &batch);
    let hook = json!({"url": "https://example.com/hook"});
    let path = format!("/accounts/{}/webhooks", customer.account);
    let hook = server.admin("POST", &path).json(&hook).expect(201).json();
    let hook = hook["webhook_id"].as_str().unwrap().to_owned();
    let somebody = json!({"email": "bob@example.com", "role": "viewer"});
    let path = format!("/accounts/{}/people", customer.account);
    let person = server.admin("POST", &path).json(&somebody);
    let person = person.expect(201).json();
    let delivery = server
        .admin("POST", &format!("/webhooks/{hook}/test"))
        .expect(202)
        .json();
    // A webhook accepts one test delivery per minute, and the tour makes each call once more.
    server.clock.advance(Duration::from_secs(60));
    let ids = BTreeMap::from([
        ("account_id", customer.account.clone()),
        ("key_id", customer.key_id.clone()),
        ("job_id", job),
        ("batch_id", batch["batch_id"].as_str().unwrap().to_owned()),
        ("webhook_id", hook),
        ("name", "builtin".into()),
        (
            "person_id",
            person["person_id"].as_str().unwrap().to_owned(),
        ),
        (
            "delivery_id",
            delivery["delivery_id"].as_str().unwrap().to_owned(),
        ),
        ("file", "none.png".to_owned()),
        ("taken_at", "2026-11-18T02:00:04.012Z".to_owned()),
    ]);
    let mut tour = Tour {
        server: &server,
        contract: &contract,
        seen,
        ids,
        customer,
        images: images.to_owned(),
    };
    for step in steps {
        step(&mut tour);
    }
    documented(&contract)
}

#[test]
fn all_documented_responses_are_served_and_all_served_responses_are_documented() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(2, 2)))]);
    let images = origin.url("/a.png");
    let bare = || Options::new().allow_loopback();
    let options = || {
        // Nothing listens there.
        let url = "http://127.0.0.1:9/";
        let secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
        bare()
            .set("operator.webhook_url", url)
            .set("operator.webhook_secret", secret)
    };
    let mut seen = Outcomes::new();
    run_tour(bare(), &images, &mut seen, &[not_configured]);
    let strict = options()
        .set("server.max_body_bytes", 32_768)
        .set("server.body_timeout_seconds", 1);
    run_tour(strict, &images, &mut seen, &[early_checks, parameters]);
    let steps: &[fn(&mut Tour<'_>)] = &[generations, jobs, operations];
    run_tour(options(), &images, &mut seen, steps);
    run_tour(options(), &images, &mut seen, &[batches]);
    let all = run_tour(
        options(),
        &images,
        &mut seen,
        &[documented_examples, after_storage_failure],
    );

    let excepted =
        |it: &&String| !it.ends_with(PANIC_CODE) && !SIGNER_ERRORS.contains(&it.as_str());
    let never: Vec<_> = all.difference(&seen).filter(excepted).collect();
    assert!(never.is_empty(), "documented, and never served: {never:#?}");
    let unknown: Vec<_> = seen.difference(&all).collect();
    assert!(
        unknown.is_empty(),
        "served, and not documented: {unknown:#?}"
    );
}

#[test]
fn an_undocumented_method_is_405_and_an_undocumented_path_is_404() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let contract = Contract::of(server.address).unwrap();
    let mut methods: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in contract.calls() {
        let here = methods.entry(call.template.clone()).or_default();
        here.insert(call.method.to_ascii_uppercase());
        if call.method == "get" && !call.template.starts_with("/admin/") {
            here.insert("HEAD".into());
        }
    }
    for (template, known) in methods {
        let path: String = template
            .replace("{file}", "a.png")
            .split('/')
            .map(|it| match it.starts_with('{') {
                true => format!("/{}", Uuid::nil()),
                false => format!("/{it}"),
            })
            .collect();
        let path = path.trim_start_matches('/');
        let token = if template.starts_with("/admin/") {
            crate::support::options::ADMIN_TOKEN
        } else {
            &customer.key
        };
        let allow = known.iter().cloned().collect::<Vec<_>>().join(", ");
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY",
        ] {
            let call = server.call(method, &format!("/{path}")).bearer(token);
            if known.contains(method) {
                assert_ne!(call.send().status, 405, "{method} {template}");
            } else {
                let answer = call.expect(405);
                assert_eq!(
                    answer.header("allow"),
                    Some(allow.as_str()),
                    "{method} {template}"
                );
            }
        }
    }
    server
        .native(&customer, "GET", "/openapi.yaml")
        .refused(404, "not_found");
    server
        .admin("GET", "/openapi.yaml")
        .refused(404, "not_found");
}
