//! Decisions 12: the price of a batch, and the permission to submit one.

use crate::support::batches::{batch_of, entry, entry_with};
use crate::support::http::all_at_once;
use crate::support::{OneNode, Options, Server, until};
use serde_json::{Value, json};

#[test]
fn the_sum_of_the_prices_is_reserved_completely_or_not_at_all() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("0.117");
    let call = |count: usize| server.batch_call(&customer, &batch_of(&vec![entry(); count]));
    let refused = call(4).refused(402, "insufficient_balance");
    assert!(refused.text().contains("0.156"), "{}", refused.text());
    server.assert_money(&customer, "0.117", "0.00", "0.117");
    call(2).expect(202);
    server.assert_money(&customer, "0.117", "0.078", "0.039");
    call(2).refused(402, "insufficient_balance");
    call(1).expect(202);
    server.assert_money(&customer, "0.117", "0.117", "0.00");
    server.generator.release_all();
    server.assert_settled();
    server.assert_money(&customer, "0.00", "0.00", "0.00");
}

#[test]
fn concurrent_batches_never_reserve_more_than_the_balance() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("3.90");
    let call = server.batch_call(&customer, &batch_of(&vec![entry(); 30]));
    let answers = all_at_once(&vec![call; 8]);
    let accepted = answers.iter().filter(|it| it.status == 202).count();
    assert_eq!(accepted, 3);
    let mut others = answers.iter().filter(|it| ![202, 402].contains(&it.status));
    assert_eq!(others.next().map(|it| (it.status, it.text())), None);
    server.assert_money(&customer, "3.90", "3.51", "0.39");
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn charged_is_the_sum_of_the_prices_of_the_done_jobs() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let pro = |resolution| entry_with(json!({"model": "pro", "resolution": resolution}));
    // Jobs of one model run in the order of the requests.
    let requests = [pro("1K"), pro("4K"), pro("1K")];
    let batch = server.submit(&customer, &requests);
    server.generator.release_one();
    until("one is done", || {
        server.batch(&customer, &batch)["counts"]["done"] == 1
    });
    assert_eq!(server.batch(&customer, &batch)["charged"], "0.134");
    server.generator.release_one();
    until("two are done", || {
        server.batch(&customer, &batch)["counts"]["done"] == 2
    });
    server
        .generator
        .behave(crate::support::Behaviour::Refuse("no foxes"));
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(ended["counts"]["failed"], 1);
    assert_eq!(
        (&ended["price"], &ended["charged"]),
        (&json!("0.508"), &json!("0.374"))
    );
    let listed = server.native(&customer, "GET", "/batches").expect(200);
    assert_eq!(listed.json()["data"], json!([ended]));
    let of_account = format!("/accounts/{}/batches", customer.account);
    let listed = server.admin("GET", &of_account).expect(200).json();
    assert_eq!(listed["data"][0]["charged"], "0.374");
    server.assert_settled();
    server.assert_money(&customer, "0.626", "0.00", "0.626");
}

#[test]
fn a_job_that_fails_is_not_charged() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server
        .generator
        .behave(crate::support::Behaviour::Refuse("no foxes"));
    let batch = server.submit(&customer, &[entry(), entry()]);
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(ended["counts"]["failed"], 2);
    assert_eq!(ended["charged"], "0.00");
    server.assert_settled();
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn price_factor_is_the_proportion_and_prices_are_rounded_up() {
    let server = Server::with(Options::new().set("batches.price_factor", "0.333333"));
    let customer = server.customer("1.00");
    // 0.039 and 0.101 times the factor, each rounded up to six decimals.
    let requests = [
        entry(),
        entry_with(json!({"model": "quality", "resolution": "2K"})),
    ];
    let dry = server.native(&customer, "POST", "/batches?dry_run=true");
    let estimate = dry.json(&batch_of(&requests)).expect(200).json();
    assert_eq!(estimate["price"], "0.046667");
    let batch = server.submit(&customer, &requests);
    assert_eq!(batch["price"], "0.046667");
    assert_eq!(server.batch_ended(&customer, &batch)["charged"], "0.046667");
    let id = batch["batch_id"].as_str().unwrap();
    let jobs = server.native(&customer, "GET", &format!("/jobs?batch_id={id}"));
    let jobs = jobs.expect(200).json();
    let prices: Vec<&Value> = jobs["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["price"])
        .collect();
    assert_eq!(prices, ["0.033667", "0.013"]);
    server.assert_settled();
    server.assert_money(&customer, "0.953333", "0.00", "0.953333");
    // The price of a single call is unchanged.
    server.create(&customer);
    server.assert_settled();
    server.assert_money(&customer, "0.819333", "0.00", "0.819333");
}

#[test]
fn the_spend_limit_of_a_key_applies_to_the_whole_batch() {
    let server = Server::start();
    server.generator.hold();
    let key = server.customer_with("100.00", json!({"spend_limit": "0.10"}));
    let call = |count: usize| server.batch_call(&key, &batch_of(&vec![entry(); count]));
    call(3).refused(402, "key_limit_reached");
    call(2).expect(202);
    call(1).refused(402, "key_limit_reached");
    server.assert_money(&key, "100.00", "0.078", "99.922");
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn the_scope_of_a_key_applies_to_the_whole_batch() {
    let server = Server::start();
    let key = server.customer_with("100.00", json!({"models": ["fast"]}));
    let pro = entry_with(json!({"model": "pro"}));
    let call = |requests: &[Value]| server.batch_call(&key, &batch_of(requests));
    call(&[entry(), pro.clone()]).refused(403, "model_not_allowed");
    // The permission check precedes the validation of the body.
    let faulty = entry_with(json!({"prompt": ""}));
    call(&[faulty, pro]).refused(403, "model_not_allowed");
    server.assert_money(&key, "100.00", "0.00", "100.00");
    let batch = server.submit(&key, &[entry()]);
    server.batch_ended(&key, &batch);
    server.assert_settled();
}

#[test]
fn a_paused_model_refuses_the_whole_batch() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.pause(&["pro"]);
    let mixed = batch_of(&[entry(), entry_with(json!({"model": "pro"}))]);
    server.batch_call(&customer, &mixed).refused(503, "paused");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    let batch = server.submit(&customer, &[entry()]);
    server.batch_ended(&customer, &batch);
    server.assert_settled();
}

#[test]
fn a_batch_counts_as_one_call_and_each_of_its_jobs_as_a_live_job() {
    let server = Server::with(
        Options::new()
            .one_node(OneNode::Rates)
            .set("jobs.max_live_per_account", 10),
    );
    server.generator.hold();
    let limited = json!({"rate_limit": {"per_second": 1, "burst": 2}});
    let key = server.customer_with("100.00", limited);
    let call = |count: usize| server.batch_call(&key, &batch_of(&vec![entry(); count]));
    call(8).expect(202);
    call(1).expect(202);
    call(1).refused(429, "rate_limited");
    let other = server.another_key(&key.account, json!({}));
    let call = |count: usize| server.batch_call(&other, &batch_of(&vec![entry(); count]));
    call(2).refused(429, "rate_limited");
    call(1).expect(202);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn texts_too_large_for_a_record_are_stored_and_removed_if_the_batch_is_rejected() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let large =
        entry_with(json!({"prompt": "x".repeat(20_000), "metadata": {"m": "y".repeat(9_000)}}));
    let urls: Vec<String> = (0..14)
        .map(|at| format!("http://127.0.0.1:1/{at}/{}", "z".repeat(1_900)))
        .collect();
    let with_urls = entry_with(json!({"input_images_urls": urls}));
    let mut body = batch_of(&vec![large.clone(); 26]);
    server
        .batch_call(&customer, &body)
        .refused(402, "insufficient_balance");
    assert_eq!(server.objects_left(), Vec::<String>::new());
    body["requests"] = json!([large, with_urls, entry()]);
    body["metadata"] = json!({"m": "y".repeat(9_000)});
    let call = server.batch_call(&customer, &body).idempotent("k");
    let batch = call.expect(202).json();
    assert_eq!(batch["metadata"], body["metadata"]);
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(ended["counts"]["done"], 2, "{ended}");
    assert_eq!(
        server
            .generator
            .orders()
            .iter()
            .filter(|it| it.prompt.len() == 20_000)
            .count(),
        1
    );
    let before = server.objects_left();
    let again = call.expect(202);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.objects_left(), before);
    server.assert_settled();
}
