//! The answers of the batch calls that need a history.

use super::tour::Tour;
use crate::support::batches::{batch_of, entry, entry_with};
use serde_json::{Value, json};
use std::fs;

/// Answers that depend on the key, the money, the pauses and the end of a batch.
pub fn batches(tour: &mut Tour<'_>) {
    let server = tour.server;
    let customer = tour.customer.clone();
    let body = batch_of(&[entry(), entry()]);
    let of = |key: &str| server.post("/api/v1/batches").json(&body).bearer(key);
    let poor = server.customer("0.01");
    tour.assert_answer(of(&poor.key), "insufficient_balance");
    let capped = server.another_key(&customer.account, json!({"spend_limit": "0.05"}));
    tour.assert_answer(of(&capped.key), "key_limit_reached");
    let bounded = server.customer("1.00");
    let limits = json!({"limits": {"spend_per_day": "0.05"}});
    let path = format!("/accounts/{}", bounded.account);
    server.admin("PATCH", &path).json(&limits).expect(200);
    tour.assert_answer(of(&bounded.key), "account_limit_reached");
    let scoped = server.another_key(&customer.account, json!({"models": ["pro"]}));
    tour.assert_answer(of(&scoped.key), "model_not_allowed");
    server.pause(&["project"]);
    tour.assert_answer(of(&customer.key), "paused");
    server.pause(&[]);
    tour.assert_answer(of(&customer.key).idempotent("b"), "202");
    tour.assert_answer(of(&customer.key).idempotent("b"), "202");
    let other = server.batch_call(&customer, &batch_of(&[entry()]));
    tour.assert_answer(other.idempotent("b"), "idempotency_key_reused");
    let dry = server.native(&customer, "POST", "/batches?dry_run=true");
    tour.assert_answer(dry.json(&body), "200");

    let path = |batch: &Value| format!("/batches/{}", batch["batch_id"].as_str().unwrap());
    let ended = server.submit(&customer, &[entry()]);
    server.batch_ended(&customer, &ended);
    let of_batch = |method: &str, batch: &Value| server.native(&customer, method, &path(batch));
    tour.assert_answer(of_batch("DELETE", &ended), "conflict");
    tour.assert_answer(of_batch("GET", &ended), "200");
    server.generator.hold();
    let large = json!({
        "requests": [entry(), entry_with(json!({"prompt": "x".repeat(8_000)}))],
        "metadata": {"m": "x".repeat(8_000)},
    });
    let kept = server.batch_call(&customer, &large).expect(202).json();
    let canceled = server.submit(&customer, &[entry()]);
    tour.assert_answer(of_batch("DELETE", &canceled), "200");
    let place = server.objects();
    fs::rename(&place, place.with_extension("aside")).unwrap();
    fs::write(&place, "in the way").unwrap();
    tour.assert_answer(server.batch_call(&customer, &large), "storage_unavailable");
    tour.assert_answer(of_batch("GET", &kept), "200");
    tour.assert_answer(of_batch("DELETE", &kept), "200");
    fs::remove_file(&place).unwrap();
    fs::rename(place.with_extension("aside"), &place).unwrap();
    server.generator.release_all();
    server.assert_settled();
}
