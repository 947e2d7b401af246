//! Decisions 12: the form and the submission of a batch.

use crate::support::batches::{batch_of, entry, entry_with};
use crate::support::{Customer, Options, Server};
use serde_json::{Value, json};
use std::fs;

const NDJSON: &str = "application/x-ndjson";

fn stalled_server() -> (Server, Customer) {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("100.00");
    (server, customer)
}

/// Asserts that the service has stored nothing.
fn assert_untouched(server: &Server, customer: &Customer) {
    server.assert_money(customer, "100.00", "0.00", "100.00");
    let batches = server
        .native(customer, "GET", "/batches")
        .expect(200)
        .json();
    assert_eq!(batches["data"], json!([]));
    assert_eq!(server.objects_left(), Vec::<String>::new());
}

#[test]
fn many_requests_in_one_call_become_a_batch_of_jobs() {
    let (server, customer) = stalled_server();
    let body = json!({
        "requests": [
            entry_with(json!({"custom_id": "first"})),
            entry_with(json!({"model": "pro", "resolution": "4K", "metadata": {"sku": 1}})),
            entry_with(json!({"model": "quality", "aspect_ratio": "16:9"})),
        ],
        "metadata": {"catalogue": "autumn", "_own": 1},
    });
    let answer = server.batch_call(&customer, &body).expect(202);
    let batch = answer.json();
    let id = batch["batch_id"].as_str().unwrap();
    let location = answer.header("location").unwrap();
    assert!(location.starts_with("http://"), "{location}");
    assert!(location.ends_with(&format!("/api/v1/batches/{id}")));
    assert_eq!(answer.header("idempotent-replayed"), None);
    assert_eq!(batch["price"], "0.346");
    assert_eq!(batch["charged"], "0.00");
    assert_eq!(batch["metadata"], json!({"catalogue": "autumn", "_own": 1}));
    assert_eq!(
        batch["results_url"],
        format!("/api/v1/batches/{id}/results")
    );
    assert_eq!(batch["status"], "in_progress");
    assert_eq!(batch["ended_at"], Value::Null);
    assert_eq!(batch["counts"]["total"], 3);
    let jobs = server.native(&customer, "GET", &format!("/jobs?batch_id={id}"));
    let jobs = jobs.expect(200).json();
    let listed: Vec<_> = jobs["data"].as_array().unwrap().iter().rev().collect();
    let of = |name: &str| listed.iter().map(|it| it[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("custom_id"), ["first", "1", "2"]);
    assert_eq!(of("tier"), ["fast", "pro", "quality"]);
    assert_eq!(of("resolution"), ["1K", "4K", "1K"]);
    assert_eq!(of("aspect_ratio"), ["1:1", "1:1", "16:9"]);
    assert_eq!(of("price"), ["0.039", "0.24", "0.067"]);
    assert!(of("batch_id").iter().all(|it| it == id));
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn one_request_per_line_creates_the_same_batch() {
    let (server, customer) = stalled_server();
    let lines = format!("{}\n{}", entry_with(json!({"custom_id": "a"})), entry());
    for text in [lines.clone(), format!("\n{lines}\r\n\n")] {
        let call = server.native(&customer, "POST", "/batches");
        let batch = call.bytes(NDJSON, text.as_bytes()).expect(202).json();
        assert_eq!(batch["counts"]["total"], 2);
        assert_eq!(batch["metadata"], Value::Null);
        let results = server.results(&customer, &batch);
        assert_eq!(results[0]["custom_id"], "a");
        assert_eq!(results[1]["custom_id"], "1");
    }
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn every_fault_is_reported_with_the_index_of_its_request() {
    let (server, customer) = stalled_server();
    let requests = [
        entry(),
        json!({"model": "fast", "prompt": "", "aspect_ratio": "1:4", "resolution": "2K"}),
        json!([1]),
        entry_with(json!({"model": "huge", "prompt": 7})),
        entry_with(json!({"aspectRatio": "1:1", "custom_id": ""})),
        entry_with(json!({"custom_id": "x".repeat(65)})),
        entry_with(json!({"model": "pro", "input_images_urls": ["ftp://a/", 3]})),
        entry_with(json!({"callback_url": "https://example.com/"})),
        json!({}),
        entry_with(json!({"metadata": [], "custom_id": "same"})),
        entry_with(json!({"custom_id": "same"})),
        entry_with(json!({"aspect_ratio": "auto"})),
        entry_with(json!({"model": "x", "aspect_ratio": "zzz", "resolution": 5})),
        entry_with(json!({"model": 5, "aspect_ratio": "auto", "resolution": "3K"})),
    ];
    let mut body = batch_of(&requests);
    body["metadata"] = json!("text");
    body["callback_url"] = json!(7);
    body["extra"] = json!(1);
    let call = server.batch_call(&customer, &body).idempotent("two words");
    call.header("Cancel-After", "30s").invalid(&[
        "requests[1].prompt",
        "requests[1].aspect_ratio",
        "requests[1].resolution",
        "requests[2]",
        "requests[3].model",
        "requests[3].prompt",
        "requests[4].aspectRatio",
        "requests[4].custom_id",
        "requests[5].custom_id",
        "requests[6].input_images_urls[0]",
        "requests[6].input_images_urls[1]",
        "requests[7].callback_url",
        "requests[8].model",
        "requests[8].prompt",
        "requests[8].aspect_ratio",
        "requests[9].metadata",
        "requests[10].custom_id",
        "requests[11].aspect_ratio",
        "requests[12].model",
        "requests[12].aspect_ratio",
        "requests[12].resolution",
        "requests[13].model",
        "requests[13].resolution",
        "metadata",
        "callback_url",
        "extra",
        "Idempotency-Key",
        "Cancel-After",
    ]);
    assert_untouched(&server, &customer);
}

#[test]
fn faults_of_lines_have_the_same_names_and_contain_the_line_number() {
    let (server, customer) = stalled_server();
    let text = format!(
        "{}\n\n{{\"model\": \n{}",
        entry(),
        entry_with(json!({"prompt": ""}))
    );
    let call = server.native(&customer, "POST", "/batches");
    let answer = call
        .bytes(NDJSON, text.as_bytes())
        .invalid(&["requests[1]", "requests[2].prompt"]);
    let errors = answer.json()["errors"].clone();
    for (error, line) in errors.as_array().unwrap().iter().zip([3, 4]) {
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("on line {line}: ")),
            "{message}"
        );
    }
    assert_untouched(&server, &customer);
}

#[test]
fn a_hundred_faults_are_listed_and_the_others_counted() {
    let (server, customer) = stalled_server();
    let requests = vec![entry_with(json!({"prompt": ""})); 1_000];
    let call = server.batch_call(&customer, &batch_of(&requests));
    let errors = call.refused(422, "validation_failed").json()["errors"].clone();
    let errors = errors.as_array().unwrap();
    assert_eq!(errors.len(), 101);
    assert_eq!(errors[99]["field"], "requests[99].prompt");
    let rest = json!({"field": "body", "message": "has 900 more errors that are not listed"});
    assert_eq!(errors[100], rest);
}

#[test]
fn custom_id_has_1_to_64_characters_and_is_unique_also_among_the_defaults() {
    let (server, customer) = stalled_server();
    let named = |name: &str| entry_with(json!({ "custom_id": name }));
    let batch = server.submit(&customer, &[named("😀"), named(&"é".repeat(64)), entry()]);
    let results = server.results(&customer, &batch);
    let ids: Vec<&Value> = results.iter().map(|it| &it["custom_id"]).collect();
    assert_eq!(ids, [&json!("😀"), &json!("é".repeat(64)), &json!("2")]);
    let call = |requests: &[Value]| server.batch_call(&customer, &batch_of(requests));
    call(&[named("1"), entry()]).invalid(&["requests[0].custom_id"]);
    call(&[entry(), named("0")]).invalid(&["requests[1].custom_id"]);
    call(&[named("a"), entry(), named("a")]).invalid(&["requests[2].custom_id"]);
    call(&[named("1"), named("0")]).expect(202);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn a_batch_has_1_to_max_requests() {
    let server = Server::with(Options::new().set("batches.max_requests", 3));
    server.generator.hold();
    let customer = server.customer("100.00");
    let call = |count: usize| server.batch_call(&customer, &batch_of(&vec![entry(); count]));
    call(0).invalid(&["requests"]);
    call(4).invalid(&["requests"]);
    let lines = |text: &str| {
        let call = server.native(&customer, "POST", "/batches");
        call.bytes(NDJSON, text.as_bytes())
    };
    lines("").invalid(&["requests"]);
    lines(&format!("{}\n", entry()).repeat(4)).invalid(&["requests"]);
    for body in [
        "",
        "[]",
        "{",
        "{\"requests\": {}}",
        "{\"requests\": null}",
        "{}",
    ] {
        let answer = server.native(&customer, "POST", "/batches").text(body);
        answer.refused(422, "validation_failed");
    }
    assert_untouched(&server, &customer);
    call(3).expect(202);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn ten_thousand_requests_fit_and_16_mib_do() {
    let server = Server::with(Options::new().set("jobs.max_live_per_account", 10_000));
    server.generator.hold();
    let customer = server.customer("1000.00");
    let batch = server.submit(&customer, &vec![entry(); 10_000]);
    assert_eq!(batch["counts"]["total"], 10_000);
    assert_eq!(batch["price"], "390.00");
    let one_more = server.batch_call(&customer, &batch_of(&[entry()]));
    one_more.refused(429, "rate_limited");
    // The service rejects a body one byte over the limit, with or without a declared length.
    let too_long = vec![b' '; (16 << 20) + 1];
    let call = server.native(&customer, "POST", "/batches");
    call.bytes("application/json", &too_long)
        .refused(413, "payload_too_large");
    let mut longest = batch_of(&vec![entry(); 10_001]).to_string().into_bytes();
    longest.resize(16 << 20, b' ');
    let call = server.native(&customer, "POST", "/batches");
    call.bytes("application/json", &longest)
        .invalid(&["requests"]);
    let path = format!("/batches/{}", batch["batch_id"].as_str().unwrap());
    server.native(&customer, "DELETE", &path).expect(200);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn other_types_and_encodings_are_415() {
    let (server, customer) = stalled_server();
    let text = batch_of(&[entry()]).to_string();
    for media in [
        "text/plain",
        "application/xml",
        "application/x-ndjson; charset=latin1",
    ] {
        let call = server.native(&customer, "POST", "/batches");
        call.header("Cancel-After", "30s")
            .bytes(media, text.as_bytes())
            .refused(415, "unsupported_media_type");
    }
    let call = server.native(&customer, "POST", "/batches").text(&text);
    call.header("Content-Encoding", "gzip")
        .refused(415, "unsupported_media_type");
    assert_untouched(&server, &customer);
}

#[test]
fn dry_run_makes_every_check_and_stores_nothing() {
    let (server, customer) = stalled_server();
    let dry = |body: &Value| {
        let call = server.native(&customer, "POST", "/batches?dry_run=true");
        call.json(body)
    };
    let answer = dry(&batch_of(&[entry(), entry_with(json!({"model": "pro"}))])).expect(200);
    let expected = json!({"price": "0.173", "requests": 2, "available": "100.00"});
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("location"), None);
    dry(&batch_of(&[entry_with(json!({"prompt": ""}))])).invalid(&["requests[0].prompt"]);
    let mut named = batch_of(&[entry()]);
    named["callback_url"] = json!("https://example.com/");
    dry(&named).invalid(&["callback_url"]);
    dry(&batch_of(&vec![entry(); 2_565])).refused(402, "insufficient_balance");
    server.pause(&["fast"]);
    dry(&batch_of(&[entry()])).refused(503, "paused");
    server.pause(&[]);
    let misspelt = server.native(&customer, "POST", "/batches?dryrun=true");
    misspelt.json(&batch_of(&[entry()])).invalid(&["dryrun"]);
    // A dry run does not use up its idempotency key.
    let first = dry(&batch_of(&[entry()])).idempotent("k");
    first.expect(200);
    assert_untouched(&server, &customer);
    let call = server.batch_call(&customer, &batch_of(&[entry()]));
    let accepted = call.idempotent("k").expect(202);
    assert_eq!(accepted.header("idempotent-replayed"), None);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn an_idempotency_key_makes_one_batch() {
    let (server, customer) = stalled_server();
    let body = batch_of(&[entry_with(json!({"custom_id": "0"})), entry()]);
    let call = server.batch_call(&customer, &body).idempotent("k");
    let first = call.expect(202).json();
    // A repeat that differs only in spelling is a replay, also as NDJSON, while paused, and from an account without money.
    server.pause(&["project"]);
    let again = call.expect(202);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["batch_id"], first["batch_id"]);
    let lines = format!("{}\n{}\n", entry(), entry());
    let call = server.native(&customer, "POST", "/batches").idempotent("k");
    let as_lines = call.bytes(NDJSON, lines.as_bytes()).expect(202);
    assert_eq!(as_lines.json()["batch_id"], first["batch_id"]);
    server.pause(&[]);
    for other in [
        batch_of(&[entry()]),
        batch_of(&[entry(), entry_with(json!({"custom_id": "x"}))]),
        batch_of(&[entry(), entry_with(json!({"prompt": "an owl"}))]),
        json!({"requests": [entry(), entry()], "metadata": {"a": 1}}),
    ] {
        let call = server.batch_call(&customer, &other).idempotent("k");
        call.refused(422, "idempotency_key_reused");
    }
    // Single calls share their keys with batches.
    let single = |key| {
        let path = "/nb/text-generations";
        let call = server.generation(&customer, path, &crate::support::fox());
        call.idempotent(key)
    };
    single("k").refused(422, "idempotency_key_reused");
    single("single").expect(202);
    for path in ["/batches", "/batches?dry_run=true"] {
        let call = server.native(&customer, "POST", path).json(&body);
        let call = call.idempotent("single");
        call.refused(422, "idempotency_key_reused");
    }
    let path = "/nb/text-generations?dry_run=true";
    let dry = server.generation(&customer, path, &crate::support::fox());
    let dry = dry.idempotent("k");
    dry.refused(422, "idempotency_key_reused");
    server.assert_money(&customer, "100.00", "0.117", "99.883");
    server.generator.release_all();
    server.assert_settled();
}

/// Long metadata is in the object store, and the caller knows it.
#[test]
fn decisions_1_an_accepted_batch_is_answered_without_a_read_of_the_object_store() {
    let (server, customer) = stalled_server();
    let mut body = batch_of(&[entry()]);
    body["metadata"] = json!({"m": "x".repeat(8_000)});
    let call = server.batch_call(&customer, &body).idempotent("large");
    let batch = call.expect(202).json();
    let place = server.objects();
    fs::rename(&place, place.with_extension("aside")).unwrap();
    fs::write(&place, "in the way").unwrap();
    let replayed = call.expect(202).json();
    assert_eq!(replayed["batch_id"], batch["batch_id"]);
    assert_eq!(replayed["metadata"], body["metadata"]);
    let id = batch["batch_id"].as_str().unwrap();
    let shown = server.native(&customer, "GET", &format!("/batches/{id}"));
    assert_eq!(shown.expect(200).json()["metadata"], Value::Null);
    let browser = server.operators_browser();
    let path = format!("/accounts/{}/batches/{id}", customer.account);
    for method in ["GET", "DELETE"] {
        browser.call(&server, method, &path).expect(200);
    }
    let canceled = server.native(&customer, "DELETE", &format!("/batches/{id}"));
    assert_eq!(canceled.expect(200).json()["status"], "canceling");
    fs::remove_file(&place).unwrap();
    fs::rename(place.with_extension("aside"), &place).unwrap();
    assert_eq!(shown.expect(200).json()["metadata"], body["metadata"]);
    server.generator.release_all();
    server.assert_settled();
}
