//! Guesses at tokens and passwords are slowed down and logged, and never lock a caller out.

use crate::support::options::ADMIN_TOKEN;
use crate::support::panel::PASSWORD;
use crate::support::process::Process;
use crate::support::{Answer, OneNode, Options, Server};
use serde_json::json;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Number of failures that the server answers without delay.
const UNDELAYED_FAILURES: usize = 10;
const SECOND: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends each call from its own thread; the receiver yields the answers as they arrive.
fn send_in_threads(
    calls: impl IntoIterator<Item = crate::support::http::Request>,
) -> Receiver<Answer> {
    let (sender, answers) = mpsc::channel();
    for call in calls {
        let sender = sender.clone();
        thread::spawn(move || drop(sender.send(call.send())));
    }
    answers
}

fn one_node() -> Server {
    Server::with(Options::new().one_node(OneNode::Attempts))
}

/// Asserts that one answer arrives per second of the server's clock, which only this function advances.
fn assert_one_answer_a_second(server: &Server, answers: &Receiver<Answer>, count: usize) {
    for _ in 0..count {
        assert!(answers.try_recv().is_err(), "it waits");
        // The server may release the next answer a moment after the clock has advanced.
        let answer = (0..).find_map(|_| {
            server.clock.advance(SECOND);
            answers.recv_timeout(Duration::from_millis(300)).ok()
        });
        answer.unwrap().assert_problem(401, "unauthorized");
    }
}

#[test]
fn wrong_admin_tokens_are_delayed_and_the_right_one_is_not() {
    let server = one_node();
    let wrong = || server.get("/admin/v1/accounts").bearer("not the token");
    for _ in 0..UNDELAYED_FAILURES {
        wrong().refused(401, "unauthorized");
    }
    let in_panel = json!({"token": "not the token"});
    let in_panel = server.panel("POST", "/session/operator").json(&in_panel);
    let slowed = send_in_threads([wrong(), wrong(), in_panel]);
    server.admin("GET", "/accounts").expect(200);
    let token = json!({"token": ADMIN_TOKEN});
    let sign_in = server.panel("POST", "/session/operator").json(&token);
    sign_in.expect(201);
    // A call without a token is not a guess.
    server
        .get("/admin/v1/accounts")
        .refused(401, "unauthorized");
    assert_one_answer_a_second(&server, &slowed, 3);
    server.clock.advance(Duration::from_secs(900));
    wrong().refused(401, "unauthorized");
    server.assert_well();
}

#[test]
fn wrong_passwords_are_delayed_and_the_right_one_is_not() {
    let server = one_node();
    let account = server.customer("1").account;
    server.person(&account, "ada@example.com", "owner");
    let guess = |password: &str| {
        let body = json!({"email": "ada@example.com", "password": password});
        server.panel("POST", "/session").json(&body)
    };
    for _ in 0..UNDELAYED_FAILURES {
        guess("wrong").refused(401, "unauthorized");
    }
    let slowed = send_in_threads([guess("wrong"), guess("wrong too")]);
    guess(PASSWORD).expect(201);
    assert_one_answer_a_second(&server, &slowed, 2);
    guess(PASSWORD).expect(201);
}

#[test]
fn clients_are_distinguished_by_the_header_of_a_trusted_proxy_only() {
    let listed = Options::new().set("server.trusted_proxies", vec!["127.0.0.1"]);
    let server = Server::with(listed.one_node(OneNode::Attempts));
    let guess = |server: &Server, from: u8| {
        let call = server.panel("POST", "/session/operator");
        let call = call.header("X-Forwarded-For", &format!("192.0.2.{from}"));
        call.json(&json!({"token": "a guess"}))
    };
    for _ in 0..UNDELAYED_FAILURES {
        guess(&server, 7).refused(401, "unauthorized");
    }
    let slowed = send_in_threads([guess(&server, 7)]);
    for other in 8..100 {
        guess(&server, other).refused(401, "unauthorized");
    }
    assert_one_answer_a_second(&server, &slowed, 1);
    let server = one_node();
    for other in 0..UNDELAYED_FAILURES {
        guess(&server, other as u8).refused(401, "unauthorized");
    }
    let slowed = send_in_threads([guess(&server, 99)]);
    server.admin("GET", "/accounts").expect(200);
    assert_one_answer_a_second(&server, &slowed, 1);
}

#[test]
fn a_graceful_shutdown_does_not_wait_for_delayed_responses() {
    let server = one_node();
    let wrong = || server.get("/admin/v1/accounts").bearer("not the token");
    for _ in 0..UNDELAYED_FAILURES {
        wrong().send();
    }
    let slowed = send_in_threads([wrong(), wrong()]);
    server.stop();
    for _ in 0..2 {
        // Either an answer or a refused connection from the closed listener.
        let _ = slowed.recv_timeout(PATIENCE);
    }
}

#[test]
fn bodies_of_sign_ins_are_small() {
    let server = one_node();
    let long = "x".repeat(9_000);
    for (path, field) in [("/session", "password"), ("/session/operator", "token")] {
        let call = server.panel("POST", path).json(&json!({field: long}));
        call.refused(413, "payload_too_large");
    }
}

#[test]
fn failures_and_unlisted_proxies_are_logged_with_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path(), &[]);
    for _ in 0..UNDELAYED_FAILURES {
        let guess = process
            .call("GET", "/admin/v1/accounts")
            .bearer("guessed-token");
        guess
            .header("X-Forwarded-For", "203.0.113.9")
            .refused(401, "unauthorized");
    }
    for _ in 0..50 {
        let mut wire = crate::support::Wire::open(process.address);
        wire.send(b"not http at all\r\n\r\n");
        wire.answers();
    }
    let log = process.terminate().log;
    let lines = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    let failed = lines("failed operator token");
    assert!(
        (1..UNDELAYED_FAILURES).contains(&failed),
        "{failed} lines, at most one a second: {log}"
    );
    let first = log
        .lines()
        .find(|line| line.contains("failed operator token"));
    let first = first.unwrap();
    assert!(
        first.contains("WARN") && first.contains("127.0.0.1") && first.contains("request_id="),
        "{first}"
    );
    assert!(!log.contains("guessed-token"), "{log}");
    assert_eq!(lines("X-Forwarded-For"), 1, "{log}");
    assert_eq!(lines("ERROR") + lines("stream error"), 0, "{log}");
}
