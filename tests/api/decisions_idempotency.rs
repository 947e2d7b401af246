//! Decisions 1, `Idempotency-Key`.

use crate::support::http::{Request, Session};
use crate::support::raw::Wire;
use crate::support::{
    Behaviour, Origin, Server, fox, fox_with, options::Options, origin, sample_images,
};
use serde_json::json;
use std::collections::HashSet;
use std::time::Duration;

const PATH: &str = "/text-generations";
const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn a_replay_equals_the_first_response_except_for_its_header() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server
        .generation(&customer, PATH, &fox())
        .idempotent("order-1");
    let first = call.expect(202);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = call.expect(202);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    for name in ["location", "retry-after", "cache-control", "content-type"] {
        assert_eq!(again.header(name), first.header(name));
    }
    assert_eq!(again.body, first.body);
}

#[test]
fn an_equivalent_request_is_the_same_request() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |body: &str| {
        let call = server.native(&customer, "POST", PATH).text(body);
        call.idempotent("k").expect(202).job_id()
    };
    let first = call(r#"{"prompt":"a","aspect_ratio":"1:1"}"#);
    for same in [
        r#"{"aspect_ratio":"1:1","prompt":"a"}"#,
        "{ \"prompt\" : \"\\u0061\",\n\t\"aspect_ratio\":\"1:1\" }\r\n",
        r#"{"prompt":"a","aspect_ratio":"1:1","metadata":null,"callback_url":null}"#,
    ] {
        assert_eq!(call(same), first, "{same}");
    }
}

#[test]
fn another_request_under_the_same_key_is_422() {
    let server = Server::start();
    let customer = server.customer("10.00");
    server
        .generation(&customer, PATH, &fox())
        .idempotent("k")
        .expect(202);
    for change in [
        json!({"prompt": "another"}),
        json!({"aspect_ratio": "16:9"}),
        json!({"resolution": "2K"}),
        json!({"metadata": {}}),
    ] {
        server
            .generation(&customer, PATH, &fox_with(change))
            .idempotent("k")
            .refused(422, "idempotency_key_reused");
    }
    for path in ["/nb2/text-generations", "/nb/text-generations"] {
        let answer = server
            .generation(&customer, path, &fox())
            .idempotent("k")
            .refused(422, "idempotency_key_reused");
        assert_eq!(answer.faulty_fields(), ["Idempotency-Key"]);
    }
    let body = fox_with(json!({"input_images_urls": ["http://example.com/"]}));
    server
        .generation(&customer, "/url-generations", &body)
        .idempotent("k")
        .refused(422, "idempotency_key_reused");
    server.assert_settled();
    server.assert_money(&customer, "9.866", "0.00", "9.866");
}

#[test]
fn an_idempotency_key_is_scoped_to_the_account_and_not_to_the_api_key() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let colleague = server.another_key(&customer.account, json!({}));
    let stranger = server.customer("1.00");
    let call = |who| {
        server
            .generation(who, PATH, &fox())
            .idempotent("k")
            .expect(202)
    };
    let first = call(&customer).job_id();
    assert_eq!(call(&colleague).job_id(), first);
    let other = call(&stranger);
    assert_ne!(other.job_id(), first);
    assert_eq!(other.header("idempotent-replayed"), None);
    let unscoped = server.another_key(&customer.account, json!({"models": ["fast"]}));
    server
        .generation(&unscoped, PATH, &fox())
        .idempotent("k")
        .refused(403, "model_not_allowed");
}

#[test]
fn a_key_is_1_to_255_visible_ascii_characters() {
    let server = Server::start();
    let customer = server.customer("10.00");
    let most = "k".repeat(255);
    let quoted = format!("\"{most}\"");
    for good in ["1", "~!#$%&'()*+,-./:;<=>?@[\\]^_`{|}", &most, &quoted] {
        let body = fox_with(json!({"prompt": good}));
        let call = server.generation(&customer, PATH, &body).idempotent(good);
        // The last key is the one before it in quotation marks.
        let expected = if good == quoted { 422 } else { 202 };
        call.expect(expected);
    }
    let too_long = "k".repeat(256);
    let quoted_too_long = format!("\"{too_long}\"");
    for bad in [
        "",
        "\"\"",
        "two words",
        "a\tb",
        "schlüssel",
        &too_long,
        &quoted_too_long,
    ] {
        server
            .generation(&customer, PATH, &fox())
            .idempotent(bad)
            .invalid(&["Idempotency-Key"]);
    }
    server
        .generation(&customer, PATH, &fox())
        .idempotent("a")
        .idempotent("a")
        .invalid(&["Idempotency-Key"]);
}

#[test]
fn one_pair_of_quotation_marks_is_removed() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |key: &str| {
        let call = server.generation(&customer, PATH, &fox()).idempotent(key);
        call.expect(202).job_id()
    };
    let bare = call("8e03978e");
    assert_eq!(call("\"8e03978e\""), bare);
    assert_ne!(call("\"8e03978e"), bare);
}

#[test]
fn a_key_is_remembered_for_24_hours() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.generation(&customer, PATH, &fox()).idempotent("k");
    let first = call.expect(202).job_id();
    server.assert_settled();
    server.clock.advance(DAY - Duration::from_millis(1));
    assert_eq!(call.expect(202).job_id(), first);
    server.clock.advance(Duration::from_millis(1));
    let second = call.expect(202);
    assert_ne!(second.job_id(), first);
    assert_eq!(second.header("idempotent-replayed"), None);
    // After the clock is set back, the service still finds the current key.
    server.clock.set_back(DAY);
    assert_eq!(call.expect(202).job_id(), second.job_id());
    assert_eq!(server.assert_settled().ended_jobs, 2);
}

#[test]
fn the_retention_of_idempotency_keys_is_configurable() {
    let server = Server::with(Options::new().set("idempotency.retention_hours", 1));
    let customer = server.customer("1.00");
    let call = server.generation(&customer, PATH, &fox()).idempotent("k");
    let first = call.expect(202).job_id();
    server.clock.advance(Duration::from_secs(3_599));
    assert_eq!(call.expect(202).job_id(), first);
    server.clock.advance(Duration::from_secs(1));
    assert_ne!(call.expect(202).job_id(), first);
}

#[test]
fn a_thousand_calls_at_once_make_one_job() {
    let server = Server::start();
    let customer = server.customer("200.00");
    let call = server.generation(&customer, PATH, &fox()).idempotent("k");
    // Five calls on each of 200 connections; the test reads no answer before it has sent all calls.
    let bytes = call.wire().repeat(5);
    let mut wires: Vec<Wire> = (0..200)
        .map(|_| Wire::begin(server.address, &bytes))
        .collect();
    let mut jobs = HashSet::new();
    let mut first_uses = 0;
    for wire in &mut wires {
        for _ in 0..5 {
            let answer = wire.answer_to("POST").unwrap();
            assert_eq!(answer.status, 202, "{}", answer.text());
            first_uses += usize::from(answer.header("idempotent-replayed").is_none());
            jobs.insert(answer.job_id());
        }
    }
    assert_eq!((jobs.len(), first_uses), (1, 1));
    server.assert_settled();
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "199.866", "0.00", "199.866");
}

#[test]
fn a_key_is_remembered_over_a_restart() {
    let server = Server::with(Options::new().on_disk());
    let customer = server.customer("1.00");
    let again = |server: &Server| {
        server
            .generation(&customer, PATH, &fox())
            .idempotent("k")
            .expect(202)
    };
    let first = again(&server).job_id();
    server.job_once(&customer, &first, "done");
    let server = server.restart();
    let replay = again(&server);
    assert_eq!(replay.job_id(), first);
    assert_eq!(replay.header("idempotent-replayed"), Some("true"));
    server.assert_settled();
    server.assert_money(&customer, "0.866", "0.00", "0.866");
}

#[test]
fn a_key_replays_an_ended_job_even_if_its_image_was_deleted() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let done = server
        .generation(&customer, PATH, &fox())
        .idempotent("done");
    let job = done.expect(202).job_id();
    server.job_once(&customer, &job, "done");
    std::fs::remove_dir_all(server.objects().join("results")).unwrap();
    assert_eq!(done.expect(202).job_id(), job);
    server.generator.behave(Behaviour::Break("no"));
    let failed = server
        .generation(&customer, PATH, &fox())
        .idempotent("failed");
    let job = failed.expect(202).job_id();
    server.job_once(&customer, &job, "failed");
    assert_eq!(failed.expect(202).job_id(), job);
}

/// Asserts that a call fails with `status`, and is accepted under the same key after `mend`.
fn assert_retry_accepted(call: &Request, status: u16, mend: impl FnOnce()) {
    assert_eq!(call.send().status, status);
    mend();
    let accepted = call.expect(202);
    assert_eq!(
        accepted.header("idempotent-replayed"),
        None,
        "after {status}"
    );
}

#[test]
fn a_call_that_is_not_accepted_does_not_use_the_key_up() {
    let origin = Origin::start([("/a.png", origin::bytes(sample_images::png(1, 1)))]);
    let options = Options::new()
        .allow_loopback()
        .set("jobs.max_live_per_account", 3);
    let server = Server::with(options);
    server.generator.hold();
    let customer = server.customer("0.00");
    let call = |key: &str| server.generation(&customer, PATH, &fox()).idempotent(key);
    let deposit = || {
        let path = format!("/accounts/{}/deposits", customer.account);
        let body = json!({"amount": "10.00"});
        server.admin("POST", &path).json(&body).expect(201);
    };
    assert_retry_accepted(&call("402"), 402, deposit);
    server.pause(&["project"]);
    assert_retry_accepted(&call("503"), 503, || server.pause(&[]));
    let bad = server
        .generation(&customer, PATH, &fox_with(json!({"prompt": ""})))
        .idempotent("422");
    bad.invalid(&["prompt"]);
    call("422").expect(202);
    assert_retry_accepted(&call("429"), 429, || {
        server.generator.release_all();
        server.assert_settled();
    });
    let body = fox_with(json!({"input_images_urls": [origin.url("/missing.png")]}));
    let fetch = |body| {
        server
            .generation(&customer, "/url-generations", body)
            .idempotent("fetch")
    };
    fetch(&body).invalid(&["input_images_urls[0]"]);
    let body = fox_with(json!({"input_images_urls": [origin.url("/a.png")]}));
    fetch(&body).expect(202);
    let key_path = format!("/keys/{}", customer.key_id);
    server
        .admin("PATCH", &key_path)
        .json(&json!({"models": ["fast"]}))
        .expect(200);
    assert_retry_accepted(&call("403"), 403, || {
        server
            .admin("PATCH", &key_path)
            .json(&json!({"models": null}))
            .expect(200);
    });
    server.assert_settled();
}

#[test]
fn lookups_ignore_the_header() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let mut session = Session::open(server.address);
    let look = server
        .native(&customer, "GET", "/balance")
        .idempotent("two words");
    assert_eq!(session.send(&look).status, 200);
    assert_eq!(session.send(&look).status, 200);
}
