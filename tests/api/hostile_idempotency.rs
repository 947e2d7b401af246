//! Hostile idempotency, 48 to 56.

use crate::support::batches::{batch_of, entry, entry_with};
use crate::support::http::{Request, all_at_once};
use crate::support::late_commits::LateCommits;
use crate::support::{Behaviour, Options, Server, fox, fox_with, merge, until};
use serde_json::json;
use std::collections::HashSet;
use std::thread;
use std::time::Duration;

const PATH: &str = "/text-generations";

#[test]
fn hostile_48_concurrent_calls_with_one_key_from_eight_api_keys_create_one_job_on_disk() {
    let server = Server::with(Options::new().on_disk());
    let customer = server.customer("100.00");
    let calls: Vec<_> = (0..8)
        .map(|_| server.another_key(&customer.account, json!({})))
        .map(|it| server.generation(&it, PATH, &fox()).idempotent("k"))
        .collect();
    let calls: Vec<_> = calls.iter().cycle().take(120).cloned().collect();
    let answers = all_at_once(&calls);
    assert!(answers.iter().all(|it| it.status == 202));
    let jobs: HashSet<String> = answers.iter().map(|it| it.job_id()).collect();
    let first_uses = answers
        .iter()
        .filter(|it| it.header("idempotent-replayed").is_none())
        .count();
    assert_eq!((jobs.len(), first_uses), (1, 1));
    assert_eq!(server.assert_settled().ended_jobs, 1);
    server.assert_money(&customer, "99.866", "0.00", "99.866");
}

#[test]
fn hostile_48_concurrent_calls_with_one_key_and_a_large_prompt_create_one_job() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("100.00");
    let body = fox_with(json!({"prompt": "x".repeat(32_768)}));
    let call = server.generation(&customer, PATH, &body).idempotent("k");
    let answers = all_at_once(&vec![call; 60]);
    let jobs: HashSet<String> = answers.iter().map(|it| it.job_id()).collect();
    assert_eq!(jobs.len(), 1);
    // The service removes the stored prompts of all replays before it answers them.
    assert_eq!(server.objects_left().len(), 1);
    server.generator.release_all();
    assert_eq!(server.assert_settled().ended_jobs, 1);
    assert_eq!(server.generator.orders()[0].prompt.len(), 32_768);
}

/// The first call is accepted after the second one has looked for its key, and uses up the balance before the second one is checked
/// against it. A text of this size is checked before it is stored.
#[test]
fn hostile_48_a_call_is_not_refused_by_the_reservation_of_the_first_call_with_its_key() {
    let records = LateCommits::in_memory();
    let server = Server::with(Options::new().behind(&records));
    let customer = server.customer("0.134");
    let body = fox_with(json!({"prompt": "x".repeat(6_000)}));
    let call = server.generation(&customer, PATH, &body).idempotent("k");
    records.gate.hold();
    let first = thread::spawn({
        let call = call.clone();
        move || call.expect(202).job_id()
    });
    until("the first call is decided", || records.gate.held() > 0);
    records.release_before_read_of(&customer.account);
    let second = call.expect(202);
    assert_eq!(second.header("idempotent-replayed"), Some("true"));
    assert_eq!(second.job_id(), first.join().unwrap());
    assert_eq!(server.assert_settled().ended_jobs, 1);
}

#[test]
fn hostile_49_concurrent_calls_with_one_key_and_different_bodies_create_one_job() {
    let server = Server::start();
    let customer = server.customer("100.00");
    let calls: Vec<_> = (0..100)
        .map(|at| fox_with(json!({"prompt": format!("prompt {}", at % 10)})))
        .map(|body| server.generation(&customer, PATH, &body).idempotent("k"))
        .collect();
    let answers = all_at_once(&calls);
    let accepted: Vec<_> = answers.iter().filter(|it| it.status == 202).collect();
    let jobs: HashSet<String> = accepted.iter().map(|it| it.job_id()).collect();
    assert_eq!((accepted.len(), jobs.len()), (10, 1));
    for answer in answers.iter().filter(|it| it.status != 202) {
        answer.assert_problem(422, "idempotency_key_reused");
    }
    assert_eq!(server.assert_settled().ended_jobs, 1);
}

#[test]
fn hostile_49_integers_of_metadata_differ_in_any_digit() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let with_order = |order: u64| json!({"metadata": {"orders": [{"id": order}]}});
    let single = |query: &str, order| {
        let path = format!("{PATH}{query}");
        server.generation(&customer, &path, &fox_with(with_order(order)))
    };
    let of_request = |query: &str, order| {
        let call = server.native(&customer, "POST", &format!("/batches{query}"));
        call.json(&batch_of(&[entry_with(with_order(order))]))
    };
    let of_batch = |query: &str, order| {
        let mut body = batch_of(&[entry()]);
        merge(&mut body, with_order(order));
        let call = server.native(&customer, "POST", &format!("/batches{query}"));
        call.json(&body)
    };
    let check = |key: &str, call: &dyn Fn(&str, u64) -> Request| {
        // Each pair is one double.
        for (order, other) in [
            (1_311_768_467_463_790_320, 1_311_768_467_463_790_321),
            (9_007_199_254_740_992, 9_007_199_254_740_993),
        ] {
            let key = format!("{key}-{order}");
            call("", order).idempotent(&key).expect(202);
            let again = call("", order).idempotent(&key).expect(202);
            assert_eq!(again.header("idempotent-replayed"), Some("true"), "{key}");
            call("?dry_run=true", order).idempotent(&key).expect(200);
            for query in ["", "?dry_run=true"] {
                let call = call(query, other).idempotent(&key);
                call.refused(422, "idempotency_key_reused");
            }
        }
    };
    check("single", &single);
    check("request", &of_request);
    check("batch", &of_batch);
    assert_eq!(server.assert_settled().ended_jobs, 6);
}

#[test]
fn hostile_50_concurrent_calls_with_one_key_create_one_job_for_each_account() {
    let server = Server::start();
    let customers: Vec<_> = (0..10).map(|_| server.customer("1.00")).collect();
    let paths = [PATH, "/nb2/text-generations", "/nb/text-generations"];
    let calls: Vec<_> = customers
        .iter()
        .flat_map(|it| paths.map(|path| server.generation(it, path, &fox()).idempotent("k")))
        .collect();
    let answers = all_at_once(&calls);
    let accepted: HashSet<String> = answers
        .iter()
        .filter(|it| it.status == 202)
        .map(|it| it.job_id())
        .collect();
    // One of the three endpoints of each account, whichever came first.
    assert_eq!(accepted.len(), 10);
    assert_eq!(answers.iter().filter(|it| it.status == 202).count(), 10);
    assert_eq!(server.assert_settled().ended_jobs, 10);
}

#[test]
fn hostile_51_sizes_characters_and_two_headers() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = server.generation(&customer, PATH, &fox());
    for bad in [
        "",
        " ",
        "\"",
        "\"\"",
        "é",
        "a b",
        &"x".repeat(256),
        &"x".repeat(65_536),
    ] {
        let answer = call.clone().idempotent(bad).send();
        if bad == "\"" {
            assert_eq!(answer.status, 202);
            continue;
        }
        answer.assert_problem(422, "validation_failed");
        assert_eq!(answer.faulty_fields(), ["Idempotency-Key"]);
    }
    // A control character is not valid in any header value (RFC 9110, section 5.5).
    call.clone().idempotent("a\u{7f}").expect(400);
    for (one, other) in [("a", "a"), ("a", "b"), ("", "a")] {
        call.clone()
            .idempotent(one)
            .idempotent(other)
            .invalid(&["Idempotency-Key"]);
    }
    call.idempotent(&"x".repeat(255)).expect(202);
    assert_eq!(server.assert_settled().ended_jobs, 2);
    server.assert_well();
}

#[test]
fn hostile_52_many_rejected_calls_do_not_use_up_their_key() {
    let server = Server::start();
    let customer = server.customer("0.00");
    let call = server.generation(&customer, PATH, &fox()).idempotent("k");
    for answer in all_at_once(&vec![call.clone(); 50]) {
        answer.assert_problem(402, "insufficient_balance");
    }
    server.pause(&["pro"]);
    call.refused(503, "paused");
    server.pause(&[]);
    let path = format!("/accounts/{}/deposits", customer.account);
    server
        .admin("POST", &path)
        .json(&json!({"amount": "1"}))
        .expect(201);
    let job = call.expect(202).job_id();
    server.job_once(&customer, &job, "done");
    assert_eq!(call.expect(202).job_id(), job);
    server.assert_money(&customer, "0.866", "0.00", "0.866");
}

#[test]
fn hostile_53_replay_after_a_restart_in_every_state() {
    let options = Options::new().on_disk().slots(1);
    let mut server = Server::with(options);
    server.generator.hold();
    let customer = server.customer("1.00");
    let call = |server: &Server, key: &str| {
        let call = server.generation(&customer, PATH, &fox()).idempotent(key);
        call.expect(202).job_id()
    };
    let jobs = [call(&server, "first"), call(&server, "second")];
    server.job_once(&customer, &jobs[0], "processing");
    for _ in 0..2 {
        server = server.restart();
        assert_eq!([call(&server, "first"), call(&server, "second")], jobs);
    }
    server.generator.release_all();
    server.assert_settled();
    server = server.restart();
    assert_eq!([call(&server, "first"), call(&server, "second")], jobs);
    assert_eq!(server.assert_settled().ended_jobs, 2);
}

#[test]
fn hostile_54_a_key_expires_at_the_end_of_its_window_even_if_the_clock_is_set_back() {
    let server = Server::with(Options::new().set("idempotency.retention_hours", 1));
    let customer = server.customer("10.00");
    let call = server.generation(&customer, PATH, &fox()).idempotent("k");
    let hour = Duration::from_secs(3_600);
    let first = call.expect(202).job_id();
    server.clock.set_back(hour);
    assert_eq!(call.expect(202).job_id(), first);
    server.clock.advance(2 * hour - Duration::from_millis(1));
    assert_eq!(call.expect(202).job_id(), first);
    server.clock.advance(Duration::from_millis(1));
    // At the expiry, at the same moment: one new job.
    let again: HashSet<String> = all_at_once(&vec![call; 40])
        .iter()
        .map(|it| it.job_id())
        .collect();
    assert_eq!(again.len(), 1);
    assert!(!again.contains(&first));
    assert_eq!(server.assert_settled().ended_jobs, 2);
}

#[test]
fn hostile_55_many_keys() {
    let server = Server::start();
    let customer = server.customer("1000.00");
    let mut session = crate::support::http::Session::open(server.address);
    let mut send = |at: usize| {
        let call = server.generation(&customer, "/nb/text-generations", &fox());
        session
            .send(&call.idempotent(&format!("key-{at}")))
            .job_id()
    };
    let jobs: Vec<String> = (0..1_500).map(&mut send).collect();
    let unique: HashSet<&String> = jobs.iter().collect();
    assert_eq!(unique.len(), jobs.len());
    for at in (0..1_500).step_by(97) {
        assert_eq!(send(at), jobs[at]);
    }
    assert_eq!(server.assert_settled().ended_jobs, 1_500);
}

#[test]
fn hostile_56_an_ended_job_is_replayed_even_if_its_image_is_deleted() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (key, behaviour, status) in [
        ("d", Behaviour::Succeed, "done"),
        ("f", Behaviour::Refuse("no"), "failed"),
    ] {
        server.generator.behave(behaviour);
        let call = server.generation(&customer, PATH, &fox()).idempotent(key);
        let job = call.expect(202).job_id();
        server.job_once(&customer, &job, status);
        let _ = std::fs::remove_dir_all(server.objects().join("results"));
        let replay = call.expect(202);
        // A replay shows the answer to the new job, regardless of the job's current state.
        assert_eq!(
            (replay.job_id(), &replay.json()["status"]),
            (job, &"queued".into())
        );
    }
    server.assert_settled();
}
