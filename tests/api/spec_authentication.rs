//! Specification, "Authentication".

use crate::support::{ENDPOINTS, Server, fox, fox_with};
use serde_json::json;

#[test]
fn rule_1_every_call_sends_a_bearer_key() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let mut calls: Vec<(&str, String)> = ENDPOINTS
        .iter()
        .map(|(path, _, _)| ("POST", path.to_string()))
        .collect();
    calls.push(("GET", "/balance".into()));
    calls.push(("GET", format!("/jobs/{job}")));
    calls.push(("DELETE", format!("/jobs/{job}")));
    for (method, path) in calls {
        server
            .call(method, &format!("/api/v1{path}"))
            .json(&fox())
            .refused(401, "unauthorized");
    }
    server.native(&customer, "GET", "/balance").expect(200);
    server.assert_money(&customer, "0.866", "0.00", "0.866");
}

#[test]
fn rule_2_a_missing_invalid_or_inactive_key_is_401() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.get("/api/v1/balance").refused(401, "unauthorized");
    let (whole, last) = customer.key.split_at(customer.key.len() - 1);
    let mistyped = format!("{whole}{}", if last == "x" { "y" } else { "x" });
    let never_issued = tintype_storage::domain::api_key::text(&[9; 32]);
    for wrong in ["", "x", &mistyped, &never_issued, &customer.key_id] {
        server
            .get("/api/v1/balance")
            .bearer(wrong)
            .refused(401, "unauthorized");
    }
    let path = format!("/keys/{}", customer.key_id);
    server
        .admin("PATCH", &path)
        .json(&json!({"active": false}))
        .expect(200);
    let answer = server
        .native(&customer, "GET", "/balance")
        .refused(401, "unauthorized");
    assert!(answer.text().contains("inactive"));
    server
        .admin("PATCH", &path)
        .json(&json!({"active": true}))
        .expect(200);
    server.native(&customer, "GET", "/balance").expect(200);
}

#[test]
fn rule_3_a_model_outside_the_keys_scope_is_403() {
    let server = Server::start();
    for (allowed, only) in [("fast", "fast"), ("quality", "quality"), ("pro", "pro")] {
        let customer = server.customer_with("10.00", json!({"models": [only]}));
        for (path, tier, takes_images) in ENDPOINTS {
            let mut call = server.generation(&customer, path, &fox());
            if tier == allowed && takes_images {
                call.invalid(&["input_images_urls"]);
            } else if tier == allowed {
                call.expect(202);
            } else {
                call.refused(403, "model_not_allowed");
                // The key is checked first, so the invalid body does not matter.
                call = server.native(&customer, "POST", path).text("{");
                call.refused(403, "model_not_allowed");
            }
        }
    }
    server.assert_settled();
}

#[test]
fn rule_4_a_replayed_idempotency_key_returns_the_original_job() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (round, (path, ..)) in ENDPOINTS.iter().filter(|(.., images)| !images).enumerate() {
        let call = server
            .generation(&customer, path, &fox_with(json!({"prompt": path})))
            .idempotent(&format!("order-{round}"));
        let first = call.expect(202);
        let again = call.expect(202);
        assert_eq!(again.json(), first.json());
        server.job_once(&customer, &first.job_id(), "done");
        assert_eq!(call.expect(202).job_id(), first.job_id());
        assert_eq!(server.generator.runs(), round + 1);
    }
    // 1.00 minus one job on each of the three models.
    server.assert_money(&customer, "0.76", "0.00", "0.76");
    assert_eq!(server.assert_settled().ended_jobs, 3);
}

#[test]
fn rule_7_api_keys_and_the_operator_token_are_not_interchangeable() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .get("/admin/v1/accounts")
        .bearer(&customer.key)
        .refused(401, "unauthorized");
    server
        .get("/api/v1/balance")
        .bearer(crate::support::options::ADMIN_TOKEN)
        .refused(401, "unauthorized");
}
