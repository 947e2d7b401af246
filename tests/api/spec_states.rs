//! Specification, "States and transitions".

use crate::support::options::Options;
use crate::support::{Behaviour, Server, clock, fox};
use std::time::Duration;

#[test]
fn accepted_request_becomes_queued() {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let answer = server.generate(&customer, "/text-generations", &fox());
    assert_eq!(
        (answer.status, &answer.json()["status"]),
        (202, &"queued".into())
    );
    let job = server.job(&customer, &answer.job_id());
    assert_eq!(job["status"], "queued");
    assert_eq!(job["created_at"], clock::START);
    for empty in ["started_at", "finished_at", "result", "error"] {
        assert!(job[empty].is_null(), "{empty}: {job}");
    }
    server.assert_money(&customer, "1.00", "0.268", "0.732");
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn a_request_without_enough_funds_becomes_nothing() {
    let server = Server::start();
    let customer = server.customer("0.13");
    server
        .generation(&customer, "/text-generations", &fox())
        .refused(402, "insufficient_balance");
    server.assert_money(&customer, "0.13", "0.00", "0.13");
    assert_eq!(server.assert_settled().ended_jobs, 0);
}

#[test]
fn queued_job_picked_up_becomes_processing() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let seen = server.job_once(&customer, &job, "processing");
    assert_eq!(seen["started_at"], clock::START);
    for empty in ["finished_at", "result", "error"] {
        assert!(seen[empty].is_null(), "{empty}: {seen}");
    }
    server.assert_money(&customer, "1.00", "0.134", "0.866");
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
}

#[test]
fn processing_that_completes_becomes_done() {
    let server = Server::start();
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    server.clock.advance(Duration::from_millis(1_500));
    server.generator.release_all();
    let seen = server.job_once(&customer, &job, "done");
    assert_eq!(seen["created_at"], clock::START);
    assert_eq!(seen["started_at"], clock::START);
    assert_eq!(seen["finished_at"], "2026-11-18T11:06:41.501Z");
    assert!(seen["error"].is_null());
    let url = seen["result"]["image_url"].as_str().unwrap();
    let target = url.split_once(&server.address.to_string()).unwrap().1;
    let image = server.get(target).expect(200);
    assert_eq!(image.body, crate::support::sample_images::tiny_png());
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.assert_settled();
}

#[test]
fn processing_that_fails_becomes_failed() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for (behaviour, reason) in [
        (
            Behaviour::Refuse("the prompt is about nothing"),
            "the prompt is about nothing",
        ),
        (Behaviour::Block("violence"), "blocked for safety: violence"),
        (
            Behaviour::Transient("the image generator is busy"),
            "the image generator is busy",
        ),
        (Behaviour::Break("no model is loaded"), "no model is loaded"),
        (Behaviour::Garbage, "did not return a valid image"),
        (Behaviour::Panic, "failed unexpectedly"),
    ] {
        server.generator.behave(behaviour);
        let job = server.create(&customer);
        let seen = server.job_once(&customer, &job, "failed");
        let error = seen["error"].as_str().unwrap();
        assert!(error.contains(reason), "{error}");
        assert!(error.is_ascii());
        assert!(seen["result"].is_null());
        for moment in ["created_at", "started_at", "finished_at"] {
            assert_eq!(seen[moment], clock::START, "{moment}");
        }
        server.assert_money(&customer, "1.00", "0.00", "1.00");
    }
    assert_eq!(server.assert_settled().ended_jobs, 6);
    server.generator.behave(Behaviour::Succeed);
    server.assert_well();
}

#[test]
fn done_and_failed_are_terminal() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let done = server.create(&customer);
    server.job_once(&customer, &done, "done");
    server.generator.behave(Behaviour::Refuse("no"));
    let failed = server.create(&customer);
    server.job_once(&customer, &failed, "failed");
    for job in [&done, &failed] {
        let before = server.job(&customer, job);
        server
            .native(&customer, "DELETE", &format!("/jobs/{job}"))
            .refused(409, "conflict");
        let mut after = server.job(&customer, job);
        after["result"] = before["result"].clone();
        assert_eq!(after, before);
    }
    server.assert_money(&customer, "0.866", "0.00", "0.866");
    server.assert_settled();
}
