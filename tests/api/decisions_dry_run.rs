//! Decisions 1, "Beyond the specification": `?dry_run=true` on the generation calls.

use crate::support::batches::{batch_of, entry};
use crate::support::sample_images::png;
use crate::support::{
    Customer, ENDPOINTS, Origin, Server, fox, fox_with, options::Options, origin,
};
use serde_json::{Value, json};

const TEXT: &str = "/text-generations?dry_run=true";
const IMAGE: &str = "/url-generations?dry_run=true";

/// Asserts that the service has stored nothing.
fn assert_untouched(server: &Server, customer: &Customer, balance: &str) {
    server.assert_money(customer, balance, "0.00", balance);
    let jobs = server.native(customer, "GET", "/jobs").expect(200).json();
    assert_eq!(jobs["data"], json!([]));
    assert_eq!(server.objects_left(), Vec::<String>::new());
    assert_eq!(server.generator.runs(), 0);
}

#[test]
fn all_six_calls_report_what_they_would_generate_and_charge() {
    let origin = Origin::start([("/in.png", origin::bytes(png(4, 4)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    for (path, tier, with_inputs) in ENDPOINTS {
        let mut body = fox_with(json!({"aspect_ratio": "3:2"}));
        if with_inputs {
            body["input_images_urls"] = json!([origin.url("/in.png")]);
        }
        let (resolution, price) = match tier {
            "fast" => ("1K", "0.039"),
            "quality" => ("2K", "0.101"),
            _ => ("2K", "0.134"),
        };
        if tier != "fast" {
            body["resolution"] = json!("2K");
        }
        let answer = server
            .generation(&customer, &format!("{path}?dry_run=true"), &body)
            .expect(200);
        let mode = if with_inputs {
            "image-to-image"
        } else {
            "text-to-image"
        };
        let expected = json!({
            "price": price, "tier": tier, "mode": mode, "aspect_ratio": "3:2", "resolution": resolution,
            "available": "1.00",
        });
        assert_eq!(answer.json(), expected);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("location"), None);
    }
    assert_untouched(&server, &customer, "1.00");
    assert_eq!(origin.accepted(), 3, "inputs are fetched");
}

#[test]
fn auto_is_resolved_from_the_fetched_input() {
    let origin = Origin::start([("/wide.png", origin::bytes(png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let body =
        fox_with(json!({"aspect_ratio": "auto", "input_images_urls": [origin.url("/wide.png")]}));
    let answer = server.generation(&customer, IMAGE, &body).expect(200);
    assert_eq!(answer.json()["aspect_ratio"], "16:9");
    assert_untouched(&server, &customer, "1.00");
}

#[test]
fn every_check_is_made_in_its_order() {
    let server = Server::with(Options::new().set("jobs.max_live_per_account", 1));
    let customer = server.customer("1.00");
    let call = |body: &Value| server.generation(&customer, TEXT, body);
    call(&fox_with(json!({"prompt": "", "extra": 1}))).invalid(&["prompt", "extra"]);
    call(&fox())
        .idempotent("two words")
        .invalid(&["Idempotency-Key"]);
    call(&fox_with(json!({"callback_url": "https://example.com/"}))).invalid(&["callback_url"]);
    server
        .native(&customer, "POST", TEXT)
        .bytes("text/plain", b"x")
        .refused(415, "unsupported_media_type");
    server
        .post(&format!("/api/v1{TEXT}"))
        .json(&fox())
        .refused(401, "unauthorized");
    let scoped = server.another_key(&customer.account, json!({"models": ["fast"]}));
    server
        .generation(&scoped, TEXT, &fox())
        .refused(403, "model_not_allowed");
    let capped = server.another_key(&customer.account, json!({"spend_limit": "0.13"}));
    server
        .generation(&capped, TEXT, &fox())
        .refused(402, "key_limit_reached");
    let poor = server.customer("0.133");
    server
        .generation(&poor, TEXT, &fox())
        .refused(402, "insufficient_balance");
    let unfetchable = fox_with(json!({"input_images_urls": ["http://127.0.0.1:1/"]}));
    server
        .generation(&customer, IMAGE, &unfetchable)
        .invalid(&["input_images_urls[0]"]);
    server.pause(&["pro"]);
    call(&fox()).refused(503, "paused");
    server.pause(&[]);
    assert_untouched(&server, &customer, "1.00");
    server.generator.hold();
    server.create(&customer);
    call(&fox()).refused(429, "rate_limited");
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn a_large_request_leaves_no_object_behind() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let body = fox_with(json!({"prompt": "x".repeat(30_000)}));
    server.generation(&customer, TEXT, &body).expect(200);
    assert_untouched(&server, &customer, "1.00");
}

#[test]
fn idempotency_keys_are_neither_used_up_nor_replayed() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let dry = server
        .generation(&customer, TEXT, &fox_with(json!({"prompt": "another"})))
        .idempotent("k");
    dry.expect(200);
    let call = server
        .generation(&customer, "/text-generations", &fox())
        .idempotent("k");
    let answer = call.expect(202);
    assert_eq!(answer.header("idempotent-replayed"), None);
    server.job_once(&customer, &answer.job_id(), "done");
    // As the real call.
    dry.refused(422, "idempotency_key_reused");
    let same = server.generation(&customer, TEXT, &fox()).idempotent("k");
    let same = same.expect(200);
    assert_eq!(same.header("idempotent-replayed"), None);
    assert_eq!(same.json()["available"], "0.866");
    let keyed_batch = |key: &str, query: &str, requests: &[Value]| {
        let call = server.native(&customer, "POST", &format!("/batches{query}"));
        call.json(&batch_of(requests)).idempotent(key)
    };
    let of_job = keyed_batch("k", "?dry_run=true", &[entry()]);
    of_job.refused(422, "idempotency_key_reused");
    let batch = |query: &str, requests: &[Value]| keyed_batch("b", query, requests);
    batch("", &[entry()]).expect(202);
    batch("?dry_run=true", &[entry()]).expect(200);
    let other = batch("?dry_run=true", &[entry(), entry()]);
    other.refused(422, "idempotency_key_reused");
    // A used key is found before a pause.
    server.pause(&["project"]);
    for call in [dry, batch("", &[entry(), entry()]), other] {
        call.refused(422, "idempotency_key_reused");
    }
}

#[test]
fn dry_run_false_equals_a_missing_parameter() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let path = "/text-generations?dry_run=false";
    let job = server
        .generation(&customer, path, &fox())
        .expect(202)
        .job_id();
    server.job_once(&customer, &job, "done");
}

#[test]
fn any_other_parameter_or_value_is_422_and_costs_nothing() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (query, fields) in [
        ("dry_run", &["dry_run"][..]),
        ("dry_run=", &["dry_run"]),
        ("dry_run=1", &["dry_run"]),
        ("dry_run=True", &["dry_run"]),
        ("dry_run=true%20", &["dry_run"]),
        ("dry_run=yes", &["dry_run"]),
        ("dry_run=true&dry_run=true", &["dry_run"]),
        ("dryrun=true", &["dryrun"]),
        ("dry-run=true", &["dry-run"]),
        ("DRY_RUN=true", &["DRY_RUN"]),
        ("wait=5", &["wait"]),
        ("dry_run=true&wait=5", &["wait"]),
        ("dry_run=x&a=1&b=2", &["dry_run", "a", "b"]),
        ("=", &["\"\""]),
    ] {
        for path in ["/text-generations", "/nb/url-generations"] {
            let mut body = fox();
            if path.contains("url") {
                body["input_images_urls"] = json!(["https://example.com/a.png"]);
            }
            server
                .generation(&customer, &format!("{path}?{query}"), &body)
                .invalid(fields);
        }
    }
    // One answer reports it together with the faults of the body.
    let body = fox_with(json!({"aspect_ratio": "5:3"}));
    server
        .generation(&customer, "/text-generations?dry=1", &body)
        .invalid(&["aspect_ratio", "dry"]);
    let many: Vec<String> = (0..900).map(|at| format!("x{at}=1")).collect();
    let path = format!("/text-generations?{}", many.join("&"));
    let answer = server
        .generation(&customer, &path, &fox())
        .refused(422, "validation_failed");
    assert!(answer.body.len() < 10_000);
    assert_untouched(&server, &customer, "1.00");
}
