//! `Idempotency-Key` in the synchronous APIs.

use crate::fixture::{ResponseAssertions, asking, fox, image, with_image};
use crate::support::late_commits::LateCommits;
use crate::support::nodes::two_nodes;
use crate::support::raw::Wire;
use crate::support::{Behaviour, Options, Server, fox as native_fox, until};
use serde_json::json;

#[test]
fn a_repeat_gets_the_same_image_and_is_charged_once() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.gemini(&customer, "fast", &fox()).idempotent("k");
    let first = call.expect(200);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = call.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    server.pause(&["project"]);
    assert_eq!(call.expect(200).body, first.body, "also while paused");
    assert_eq!(server.generator.runs(), 1);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn two_concurrent_calls_wait_for_one_job() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let call = server.gemini(&customer, "fast", &with_image(&image(9, 9)));
    let call = call.idempotent("k");
    let calls = [(); 4].map(|()| server.in_background(call.clone()));
    server.until_running(1);
    server.generator.release_all();
    let bodies = calls.map(|call| call.join().unwrap().body);
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    assert_eq!(server.generator.runs(), 1);
    server.assert_settled();
    let inputs = || {
        server
            .objects_left()
            .iter()
            .filter(|it| it.starts_with("inputs"))
            .count()
    };
    until("no input is left", || inputs() == 0);
}

/// The first call is accepted after the second one has looked for its key, and uses up the balance.
#[test]
fn a_call_is_not_refused_by_the_reservation_of_the_first_call_with_its_key() {
    let records = LateCommits::in_memory();
    let server = Server::with(Options::new().behind(&records));
    let of_openai = json!({"model": "fast", "prompt": "a fox"});
    for is_gemini in [true, false] {
        let customer = server.customer("0.039");
        let call = match is_gemini {
            true => server.gemini(&customer, "fast", &fox()),
            false => server.openai(&customer, &of_openai),
        };
        let call = call.idempotent("k");
        records.gate.hold();
        let first = server.in_background(call.clone());
        until("the first call is decided", || records.gate.held() > 0);
        records.release_before_read_of(&customer.account);
        let second = server.in_background(call);
        until("the second call waits for a decision or has ended", || {
            server.inside().system.accounts().in_flight() == 2
                || records.gate.held() == 0
                || second.is_finished()
        });
        records.gate.open();
        let [first, second] = [first, second].map(|call| call.join().unwrap());
        assert_eq!(first.status, 200, "{}", first.text());
        assert_eq!(second.status, 200, "{}", second.text());
        assert_eq!(second.header("idempotent-replayed"), Some("true"));
    }
    assert_eq!(server.generator.runs(), 2);
    server.assert_settled();
}

#[test]
fn another_request_under_the_same_key_is_refused() {
    let server = Server::start();
    let customer = server.customer("9.00");
    let (one, other) = (image(9, 9), image(9, 8));
    let first = server.gemini(&customer, "fast", &with_image(&one));
    first.idempotent("k").expect(200);
    // The same image in the other base64 alphabet and without padding is the same request.
    let same = one.replace('+', "-").replace('/', "_").replace('=', "");
    let same = server.gemini(&customer, "gemini-2.5-flash-image", &with_image(&same));
    same.idempotent("k").expect(200);
    for call in [
        server.gemini(&customer, "fast", &with_image(&other)),
        server.gemini(&customer, "fast", &asking("make it blue")),
        server.gemini(&customer, "pro", &with_image(&one)),
    ] {
        let said = call.idempotent("k").send();
        let said = said.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(said.contains("Idempotency-Key"), "{said}");
    }
    server
        .generation(&customer, "/nb/text-generations", &native_fox())
        .idempotent("k")
        .refused(422, "idempotency_key_reused");
    assert_eq!(server.generator.runs(), 1);
}

#[test]
fn a_repeat_of_a_failure_returns_the_same_error() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.behave(Behaviour::Refuse("not that"));
    let call = server.gemini(&customer, "fast", &fox()).idempotent("k");
    let first = call.send().assert_google_error(400, "INVALID_ARGUMENT");
    server.generator.behave(Behaviour::Succeed);
    let again = call.send().assert_google_error(400, "INVALID_ARGUMENT");
    assert_eq!(first, again);
    assert_eq!(server.generator.runs(), 1);
}

/// The first request got no result that a repeat should return.
#[test]
fn a_repeat_after_a_temporary_failure_creates_a_new_job() {
    let server = Server::with(Options::new().set("jobs.timeout_seconds", 1));
    let customer = server.customer("1.00");
    let call = server.gemini(&customer, "fast", &fox()).idempotent("k");
    let of_openai = json!({"model": "fast", "prompt": "a fox"});
    let of_openai = server.openai(&customer, &of_openai).idempotent("o");
    server
        .generator
        .behave(Behaviour::Transient("connection refused"));
    call.send().assert_google_error(503, "UNAVAILABLE");
    of_openai.expect(503);
    server.generator.hold();
    call.send().assert_google_error(504, "DEADLINE_EXCEEDED");
    server.generator.release_all();
    server.generator.behave(Behaviour::Succeed);
    let first = call.expect(200);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = call.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.body, first.body);
    of_openai.expect(200);
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn a_key_whose_caller_disconnected_before_the_start_of_the_job_is_reusable() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &asking("another")));
    server.until_running(1);
    let call = server.gemini(&customer, "fast", &fox()).idempotent("k");
    let mut wire = Wire::open(server.address);
    wire.send(&call.wire());
    server.until_live(2);
    drop(wire);
    server.until_live(1);
    server.generator.release_all();
    call.expect(200).image();
    first.join().unwrap().image();
    server.assert_money(&customer, "0.922", "0.00", "0.922");
}

/// No SDK repeats a call whose job was canceled.
#[test]
fn a_repeat_that_waits_at_another_node_is_told_to_repeat_if_the_first_node_stops() {
    let options = Options::new().set("server.shutdown_grace_seconds", 20);
    let [one, other] = two_nodes(options.slots(1));
    let customer = one.customer("1.00");
    one.generator.hold();
    let running = other.in_background(other.gemini(&customer, "fast", &asking("another")));
    other.until_running(1);
    let call = |at: &Server| at.gemini(&customer, "fast", &fox()).idempotent("k");
    let first = one.in_background(call(&one));
    one.until_live(2);
    let repeat = other.in_background(call(&other));
    until("both calls wait there", || other.watchers() == 2);
    let stopping = std::thread::spawn(move || one.stop());
    first
        .join()
        .unwrap()
        .assert_google_error(503, "UNAVAILABLE");
    let repeat = repeat.join().unwrap();
    repeat.assert_google_error(503, "UNAVAILABLE");
    assert!(repeat.header("retry-after").is_some());
    other.generator.release_all();
    call(&other).expect(200).image();
    running.join().unwrap().image();
    stopping.join().unwrap();
    other.assert_money(&customer, "0.922", "0.00", "0.922");
    other.assert_settled();
}

#[test]
fn an_invalid_idempotency_key_is_rejected() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for bad in ["", "a b", &"x".repeat(256)] {
        let answer = server
            .gemini(&customer, "fast", &fox())
            .idempotent(bad)
            .send();
        let said = answer.assert_google_error(400, "INVALID_ARGUMENT");
        assert!(said.starts_with("Idempotency-Key"), "{said}");
    }
    let several = server.openai(&customer, &json!({"prompt": "a fox", "n": 3}));
    let several = several.idempotent("k");
    let first = several.expect(200);
    assert_eq!(several.expect(200).json()["data"], first.json()["data"]);
    assert_eq!(server.generator.runs(), 3);
}
