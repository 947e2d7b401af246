//! Deadlines of requests.

use crate::fixture::{ResponseAssertions, fox};
use crate::support::raw::Wire;
use crate::support::{OneNode, Options, Server, fox as native_fox, until};
use serde_json::json;
use tintype_storage::domain::pause::Pause;
use tintype_storage::engine::Wait as _;
use tintype_storage::testing::stalled::StalledEngine;

#[test]
fn after_the_deadline_a_running_job_continues_and_the_error_names_it() {
    let options = Options::new().one_node(OneNode::Repeats);
    let server = Server::with(options.set("compat.timeout_seconds", 1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let answer = server.gemini(&customer, "fast", &fox()).send();
    let said = answer.assert_google_error(504, "DEADLINE_EXCEEDED");
    let job = said.rsplit('/').next().expect("a job").to_owned();
    assert_eq!(server.job(&customer, &job)["status"], "processing");
    server.generator.release_all();
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    let again = server.gemini(&customer, "fast", &fox()).expect(200);
    assert_eq!(again.json()["responseId"], job.as_str(), "a repeat gets it");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn after_the_deadline_a_queued_job_is_canceled() {
    let options = Options::new().set("compat.timeout_seconds", 1).slots(1);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let answer = server.gemini(&customer, "fast", &fox()).send();
    let said = answer.assert_google_error(504, "DEADLINE_EXCEEDED");
    assert!(said.contains("nothing was charged"), "{said}");
    first.join().unwrap();
    server.until_live(1);
    server.generator.release_all();
    server.until_live(0);
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

/// A long poll keeps the job, even after the long poll has ended, and a repeat gets it.
#[test]
fn after_the_deadline_a_job_with_another_watcher_continues_and_the_error_says_so() {
    let options = Options::new().slots(1).one_node(OneNode::Repeats);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.generation(&customer, "/nb/text-generations", &native_fox());
    first.expect(202);
    server.until_running(1);
    let call = server.gemini(&customer, "fast", &fox());
    let late = call.clone().header("X-Server-Timeout", "2");
    let late = server.in_background(late);
    server.until_live(2);
    let mut waiting = None;
    until("the second job is found", || {
        let store = &server.inside().store;
        let found = store
            .each_live_job(|job| {
                if job.state.as_str() == "queued" {
                    waiting = Some(job.id.to_string());
                }
                Ok(())
            })
            .wait();
        found.unwrap();
        waiting.is_some()
    });
    let job = waiting.unwrap();
    let mut lookup = Wire::open(server.address);
    let path = format!("/jobs/{job}?wait=60");
    lookup.send(&server.native(&customer, "GET", &path).wire());
    until("both watch", || server.watchers() == 2);
    let said = late.join().unwrap();
    let said = said.assert_google_error(504, "DEADLINE_EXCEEDED");
    assert!(said.contains("continues") && said.ends_with(&job), "{said}");
    drop(lookup);
    until("nobody watches", || server.watchers() == 0);
    let again = server.in_background(call);
    until("a repeat waits for it", || server.watchers() == 1);
    server.generator.release_all();
    let again = again.join().unwrap();
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["responseId"], job.as_str());
    server.job_once(&customer, &job, "done");
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    server.assert_settled();
}

#[test]
fn a_shorter_timeout_of_the_caller_wins() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let call = server.gemini(&customer, "fast", &fox());
    let answer = call.clone().header("X-Server-Timeout", "0.2").send();
    answer.assert_google_error(504, "DEADLINE_EXCEEDED");
    server.generator.release_all();
    for ignored in ["", "-1", "0", "soon", "1e999", "NaN"] {
        let answer = call.clone().header("X-Server-Timeout", ignored).send();
        answer.image();
    }
}

#[test]
fn a_shorter_read_timeout_of_the_caller_wins_unless_the_response_is_a_stream() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |stream| {
        let body = json!({"model": "fast", "prompt": "a fox", "stream": stream});
        let call = server.openai(&customer, &body);
        call.header("X-Stainless-Read-Timeout", "0.001")
    };
    server.generator.hold();
    let late = call(false).send();
    late.assert_openai_error(504, "server_error", Some("timeout"));
    server.generator.release_all();
    call(true).expect(200);
}

/// The caller would repeat a refused request, and pay for two images.
#[test]
fn a_graceful_shutdown_does_not_refuse_the_caller_of_a_job_that_begins() {
    let engine = StalledEngine::in_memory();
    let options = Options::new().set("server.shutdown_grace_seconds", 20);
    let server = Server::with(options.behind(&engine));
    let customer = server.customer("1.00");
    let core = server.instance().core.clone();
    let pause = |project| {
        let pause = Pause {
            project,
            ..Pause::default()
        };
        core.system.accounts().publish_pause(pause);
    };
    engine.hold();
    let call = server.in_background(server.gemini(&customer, "fast", &fox()));
    until("the job is accepted", || engine.held() > 0);
    pause(true);
    engine.open();
    until("its caller waits", || server.watchers() == 1);
    engine.hold();
    pause(false);
    until("its run begins", || engine.held() > 0);
    core.stopping.send_replace(true);
    until("its caller knows of the stop", || server.watchers() == 0);
    engine.open();
    call.join().unwrap().image();
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn a_graceful_shutdown_refuses_waiting_callers_and_cancels_queued_jobs() {
    let options = Options::new()
        .on_disk()
        .set("server.shutdown_grace_seconds", 20)
        .slots(1);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    server.generator.hold();
    let running = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let waiting = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_live(2);
    let generator = server.generator.clone();
    let stopping = std::thread::spawn(move || server.stop());
    let answer = waiting.join().unwrap();
    answer.assert_google_error(503, "UNAVAILABLE");
    generator.release_all();
    running.join().unwrap().image();
    let server = Server::with(stopping.join().unwrap());
    until("nothing is live", || {
        server.inside().system.queue().live() == 0
    });
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}
