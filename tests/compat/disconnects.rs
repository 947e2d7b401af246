//! Callers that disconnect while they wait.

use crate::fixture::{ResponseAssertions, fox, image, with_image};
use crate::support::raw::Wire;
use crate::support::{
    Behaviour, Customer, OneNode, Options, Origin, Server, origin, sample_images, until,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use tintype_storage::domain::ids::KeyId;

fn one_node() -> Server {
    Server::with(Options::new().one_node(OneNode::Repeats))
}

fn one_slot() -> Server {
    Server::with(Options::new().slots(1).one_node(OneNode::Repeats))
}

/// Sends a request and does not read the response.
fn send_without_reading(server: &Server, customer: &Customer, method: &str, body: &Value) -> Wire {
    let request = server
        .post(&format!("/v1beta/models/fast:{method}"))
        .header("x-goog-api-key", &customer.key)
        .json(body);
    let mut wire = Wire::open(server.address);
    wire.send(&request.wire());
    wire
}

/// Waits until the server has noticed that the caller of a waiting call has gone.
fn until_abandoned(server: &Server, customer: &Customer) {
    let key = KeyId(customer.key_id.parse().unwrap());
    let (compat, now) = (&server.instance().compat, server.inside().now());
    until("the server has noticed it", || {
        // Before the call waits for its job, nothing watches the job either.
        compat.recent_calls.has_earlier(key, None, now) && server.watchers() == 0
    });
}

#[test]
fn a_disconnect_before_the_job_starts_cancels_it_and_releases_its_price() {
    for (how, method) in [
        ("close", "generateContent"),
        ("reset", "generateContent"),
        ("close", "streamGenerateContent?alt=sse"),
    ] {
        let server = one_slot();
        let customer = server.customer("1.00");
        server.generator.hold();
        let first = server.in_background(server.gemini(&customer, "fast", &fox()));
        server.until_running(1);
        let body = with_image(&image(9, 9));
        let wire = send_without_reading(&server, &customer, method, &body);
        server.until_live(2);
        server.assert_money(&customer, "1.00", "0.078", "0.922");
        match how {
            "reset" => wire.reset(),
            _ => drop(wire),
        }
        server.until_live(1);
        server.assert_money(&customer, "1.00", "0.039", "0.961");
        let key = KeyId(customer.key_id.parse().unwrap());
        let (compat, now) = (&server.instance().compat, server.inside().now());
        until("no repeat finds it", || {
            !compat.recent_calls.has_earlier(key, None, now)
        });
        server.generator.release_all();
        first.join().unwrap().image();
        assert_eq!(server.generator.runs(), 1);
        server.assert_settled();
        let left = || {
            server
                .objects_left()
                .iter()
                .any(|key| key.starts_with("inputs"))
        };
        until("its input is gone", || !left());
    }
}

#[test]
fn a_disconnect_after_the_job_started_finishes_keeps_and_charges_it() {
    let server = one_slot();
    let customer = server.customer("1.00");
    server.generator.hold();
    let wire = send_without_reading(&server, &customer, "generateContent", &fox());
    server.until_running(1);
    drop(wire);
    server.generator.release_all();
    server.until_live(0);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
    let kept = server.objects_left();
    assert!(
        kept.iter().any(|key| key.starts_with("results")),
        "{kept:?}"
    );
}

/// Some clients retry automatically when a connection breaks.
#[test]
fn an_identical_request_gets_the_image_of_the_first() {
    let server = one_slot();
    let customer = server.customer("1.00");
    server.generator.hold();
    let body = with_image(&image(9, 9));
    let wire = send_without_reading(&server, &customer, "generateContent", &body);
    server.until_running(1);
    drop(wire);
    until_abandoned(&server, &customer);
    let back = server.in_background(server.gemini(&customer, "fast", &body));
    until("it waits again", || server.watchers() == 1);
    server.generator.release_all();
    let answer = back.join().unwrap();
    answer.image();
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    // After the response was delivered, an identical request creates a new job.
    server.gemini(&customer, "fast", &body).expect(200);
    assert_eq!(server.generator.runs(), 2);
    server.assert_settled();
}

#[test]
fn no_other_key_and_no_other_request_gets_it() {
    let server = one_node();
    let customer = server.customer("1.00");
    let other_key = server.another_key(&customer.account, serde_json::json!({}));
    server.generator.hold();
    let wire = send_without_reading(&server, &customer, "generateContent", &fox());
    server.until_running(1);
    drop(wire);
    until_abandoned(&server, &customer);
    server.generator.release_all();
    server.until_live(0);
    server.gemini(&other_key, "fast", &fox()).expect(200);
    let other = crate::fixture::asking("another fox");
    server.gemini(&customer, "fast", &other).expect(200);
    server.gemini(&customer, "pro", &fox()).expect(200);
    assert_eq!(server.generator.runs(), 4);
    let answer = server.gemini(&customer, "gemini-2.5-flash-image", &fox());
    let answer = answer.expect(200);
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.generator.runs(), 4);
    server.assert_settled();
}

#[test]
fn a_disconnect_within_the_body_leaves_nothing() {
    let server = one_node();
    let customer = server.customer("1.00");
    // More than one part of an upload, so that the object store has received data.
    let large = STANDARD.encode(sample_images::heavy_png(12_000_000));
    let request = server.gemini(&customer, "fast", &with_image(&large));
    let bytes = request.wire();
    let inputs = || server.objects_left().len();
    for share in [2, 3, 5] {
        let mut wire = Wire::open(server.address);
        wire.send(&bytes[..bytes.len() * (share - 1) / share]);
        until("some of it has reached the store", || inputs() > 0);
        drop(wire);
        until("nothing is left", || inputs() == 0);
    }
    server.gemini(&customer, "fast", &fox()).expect(200);
    assert_eq!(server.generator.runs(), 1);
}

/// The image is larger than the buffers between client and server.
#[test]
fn an_identical_request_after_a_disconnect_within_the_response_gets_the_image() {
    let server = one_node();
    let image = sample_images::heavy_png(30_000_000);
    server.generator.behave(Behaviour::Show(image.clone()));
    for method in ["generateContent", "streamGenerateContent?alt=sse"] {
        // The balance covers exactly one image, so a second job would be refused.
        let customer = server.customer("0.039");
        let before = server.generator.runs();
        let mut wire = send_without_reading(&server, &customer, method, &fox());
        until("the answer has begun", || wire.peek("inlineData"));
        server.until_live(0);
        drop(wire);
        let has_left = || {
            let key = KeyId(customer.key_id.parse().unwrap());
            let inside = server.inside();
            let compat = &server.instance().compat;
            compat.recent_calls.has_earlier(key, None, inside.now())
        };
        until("it is noticed", has_left);
        server.pause(&["project"]);
        let back = server.gemini(&customer, "fast", &fox()).expect(200);
        assert_eq!(back.header("idempotent-replayed"), Some("true"));
        assert!(back.image() == image, "the same image");
        server.pause(&[]);
        assert_eq!(server.generator.runs(), before + 1);
        server.assert_money(&customer, "0.00", "0.00", "0.00");
        let more = server.gemini(&customer, "fast", &fox()).send();
        more.assert_google_error(429, "RESOURCE_EXHAUSTED");
    }
    server.assert_settled();
}

/// Creates a job whose caller disconnects; returns the path of its image.
fn disconnect_from_job(server: &Server, customer: &Customer) -> PathBuf {
    let runs = server.generator.runs();
    server.generator.hold();
    let wire = send_without_reading(server, customer, "generateContent", &fox());
    server.until_running(runs + 1);
    drop(wire);
    until_abandoned(server, customer);
    server.generator.release_all();
    server.until_live(0);
    let job = server.generator.orders()[runs].job;
    server.objects().join(server.result_key(&job.to_string()))
}

#[test]
fn an_unreadable_image_is_not_charged_twice() {
    let server = one_node();
    let customer = server.customer("0.039");
    let path = disconnect_from_job(&server, &customer);
    let aside = path.with_extension("aside");
    std::fs::rename(&path, &aside).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    for _ in 0..2 {
        let answer = server.gemini(&customer, "fast", &fox()).send();
        let said = answer.assert_google_error(503, "UNAVAILABLE");
        assert!(said.contains("the identical request"), "{said}");
        assert!(!said.contains("Idempotency-Key"), "none was sent: {said}");
    }
    std::fs::rename(&aside, &path).unwrap();
    let answer = server.gemini(&customer, "fast", &fox()).expect(200);
    answer.image();
    assert_eq!(answer.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "0.00", "0.00", "0.00");
    server.assert_settled();
}

#[test]
fn an_identical_request_for_a_deleted_image_generates_it_again() {
    let server = one_node();
    let customer = server.customer("1.00");
    std::fs::remove_file(disconnect_from_job(&server, &customer)).unwrap();
    let call = server.gemini(&customer, "fast", &fox());
    call.send().assert_google_error(404, "NOT_FOUND");
    call.expect(200).image();
    assert_eq!(server.generator.runs(), 2);
}

/// The first job has reserved the balance, and a pause may have started since. A repeated request gets the image anyway.
#[test]
fn an_identical_request_needs_neither_balance_nor_an_unpaused_server() {
    for (body, is_openai) in [
        (with_image(&image(9, 9)), false),
        (json!({"model": "fast", "prompt": "a fox"}), true),
        (json!({"model": "fast", "prompt": "a fox", "n": 2}), true),
    ] {
        let server = one_node();
        let count = body["n"].as_u64().unwrap_or(1) as usize;
        let customer = server.customer(if count == 2 { "0.078" } else { "0.039" });
        let call = match is_openai {
            true => server.openai(&customer, &body),
            false => server.gemini(&customer, "fast", &body),
        };
        server.generator.hold();
        let mut wire = Wire::open(server.address);
        wire.send(&call.wire());
        server.until_running(count);
        drop(wire);
        until_abandoned(&server, &customer);
        server.pause(&["project"]);
        let back = server.in_background(call.clone());
        until("it waits again", || server.watchers() == count);
        server.generator.release_all();
        let answer = back.join().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("idempotent-replayed"), Some("true"));
        assert_eq!(server.generator.runs(), count);
        server.assert_money(&customer, "0.00", "0.00", "0.00");
        server.assert_settled();
    }
}

#[test]
fn a_disconnect_while_an_input_is_fetched_creates_no_job() {
    let asked = Arc::new(AtomicBool::new(false));
    let (go, gate) = mpsc::channel::<()>();
    let (told, gate) = (Arc::clone(&asked), Mutex::new(gate));
    let slow: origin::Serve = Arc::new(move |stream| {
        told.store(true, Ordering::SeqCst);
        let _ = gate.lock().unwrap().recv();
        origin::reply(stream, "200 OK", "", &sample_images::png(9, 9));
    });
    let origin = Origin::start([("/a.png", slow)]);
    let server = Server::with(Options::new().one_node(OneNode::Repeats).allow_loopback());
    let customer = server.customer("1.00");
    let body = json!({"contents": [{"parts": [
        {"text": "a"}, {"fileData": {"fileUri": origin.url("/a.png")}},
    ]}]});
    let wire = send_without_reading(&server, &customer, "generateContent", &body);
    until("the input is asked for", || asked.load(Ordering::SeqCst));
    drop(wire);
    // A timeout of the caller also ends the fetch.
    let call = server.gemini(&customer, "fast", &body);
    let answer = call.header("X-Server-Timeout", "0.2").send();
    let said = answer.assert_google_error(504, "DEADLINE_EXCEEDED");
    assert_eq!(
        said,
        "the job was not accepted in time; nothing was charged"
    );
    drop(go);
    // Once another request is complete, the canceled one would have created its job too.
    server.gemini(&customer, "fast", &body).expect(200);
    assert_eq!(server.generator.runs(), 1);
    server.assert_settled();
    until("no input is left", || {
        let left = server.objects_left();
        !left.iter().any(|key| key.starts_with("inputs"))
    });
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

/// The first caller has left, and another one waits for the queued job.
#[test]
fn an_identical_request_waits_for_a_queued_job_that_another_caller_keeps() {
    let server = one_slot();
    let customer = server.customer("1.00");
    server.generator.hold();
    let other = crate::fixture::asking("another fox");
    let running = server.in_background(server.gemini(&customer, "fast", &other));
    server.until_running(1);
    let leaving = send_without_reading(&server, &customer, "generateContent", &fox());
    until("it waits", || server.watchers() == 2);
    let jobs = server.native(&customer, "GET", "/jobs?status=queued");
    let job = jobs.expect(200).json()["data"][0]["job_id"].clone();
    let job = job.as_str().expect("a job").to_owned();
    let mut lookup = Wire::open(server.address);
    let path = format!("/jobs/{job}?wait=60");
    lookup.send(&server.native(&customer, "GET", &path).wire());
    until("both wait", || server.watchers() == 3);
    drop(leaving);
    until("one has gone", || server.watchers() == 2);
    let again = server.in_background(server.gemini(&customer, "fast", &fox()));
    until("the repeat waits", || server.watchers() == 3);
    server.generator.release_all();
    running.join().unwrap().image();
    let again = again.join().unwrap();
    assert_eq!(again.json()["responseId"], job.as_str());
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn a_job_with_another_waiting_caller_is_not_canceled() {
    let server = one_slot();
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let named = |server: &Server| server.gemini(&customer, "fast", &fox()).idempotent("k");
    let mut leaving = Wire::open(server.address);
    leaving.send(&named(&server).wire());
    server.until_live(2);
    let staying = server.in_background(named(&server));
    until("both wait", || server.watchers() == 3);
    drop(leaving);
    until("one has gone", || server.watchers() == 2);
    server.generator.release_all();
    first.join().unwrap().image();
    staying.join().unwrap().image();
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}
