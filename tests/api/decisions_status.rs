//! Decisions 14: `GET /status`, and the estimated start of a queued job.

use crate::support::clock::START;
use crate::support::http::Request;
use crate::support::poll::until;
use crate::support::{Behaviour, OneNode, Server, options::Options};
use serde_json::{Value, json};
use std::time::Duration;

fn one_at_a_time() -> Server {
    let server = Server::with(Options::new().slots(1).one_node(OneNode::Estimates));
    server.generator.hold();
    server
}

fn status(server: &Server) -> Value {
    let answer = Request::new(server.address, "GET", "/status").expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    answer.json()
}

fn model(status: &Value, id: &str) -> Value {
    let models = status["models"].as_array().expect("models");
    let found = models.iter().find(|it| it["id"] == id);
    found.expect("the model").clone()
}

#[test]
fn decisions_14_the_status_shows_pauses_and_their_reasons() {
    let server = Server::start();
    let up = status(&server);
    assert_eq!((&up["status"], &up["at"]), (&json!("up"), &json!(START)));
    let fast = json!({"id": "fast", "paused": false, "reason": null, "wait_seconds": 0});
    assert_eq!(model(&up, "fast"), fast);
    let body =
        json!({"project": false, "tiers": {"pro": true}, "reasons": {"pro": "new hardware"}});
    server.admin("PUT", "/pause").json(&body).expect(200);
    let limited = status(&server);
    assert_eq!(limited["status"], "limited");
    let pro = json!({"id": "pro", "paused": true, "reason": "new hardware", "wait_seconds": null});
    assert_eq!(model(&limited, "pro"), pro);
    assert_eq!(model(&limited, "fast"), fast);
    server
        .admin("PUT", "/pause")
        .json(&json!({"project": true}))
        .expect(200);
    assert_eq!(status(&server)["status"], "paused");
}

#[test]
fn decisions_14_browsers_get_the_status_as_a_page() {
    let server = Server::start();
    let get = |path: &str| Request::new(server.address, "GET", path);
    let page = get("/status")
        .header("Accept", "text/html,*/*;q=0.8")
        .expect(200);
    assert!(page.text().contains("<title>Tintype: status</title>"));
    assert_eq!(page.header("vary"), Some("Accept"));
    for part in ["status.js", "status.css", "dom.js", "base.css", "icon.svg"] {
        get(&format!("/status/assets/{part}")).expect(200);
    }
    get("/status/assets/panel.js").refused(404, "not_found");
    let post = Request::new(server.address, "POST", "/status");
    assert_eq!(
        post.refused(405, "method_not_allowed").header("allow"),
        Some("GET, HEAD")
    );
}

#[test]
fn decisions_14_a_queued_job_has_an_estimated_start() {
    let server = one_at_a_time();
    let customer = server.customer("10.00");
    let first = server.create(&customer);
    let running = server.job_once(&customer, &first, "processing");
    let jobs = [first, server.create(&customer), server.create(&customer)];
    assert_eq!(running["estimated_start_at"], Value::Null);
    // The first job found an idle backend, and still runs.
    server.clock.advance(Duration::from_secs(60));
    let starts = |at: usize| server.job(&customer, &jobs[at])["estimated_start_at"].clone();
    assert_eq!([starts(1), starts(2)], [Value::Null, Value::Null]);
    assert_eq!(model(&status(&server), "pro")["wait_seconds"], Value::Null);
    // It has ended after a minute.
    server.generator.release_one();
    server.job_once(&customer, &jobs[0], "done");
    server.job_once(&customer, &jobs[1], "processing");
    let began = chrono::DateTime::parse_from_rfc3339(START).expect("a moment");
    // The ids of the first jobs are some milliseconds ahead of the clock, and the pace is counted from them.
    let is_in_two_minutes = |start: Value| {
        let start = chrono::DateTime::parse_from_rfc3339(start.as_str()?).ok()?;
        let millis = (start - began).num_milliseconds();
        Some((119_980..=120_000).contains(&millis))
    };
    assert_eq!(is_in_two_minutes(starts(2)), Some(true));
    assert_eq!(model(&status(&server), "pro")["wait_seconds"], 119);
    server.pause(&["pro"]);
    assert_eq!(starts(2), Value::Null, "nothing begins");
    server.pause(&[]);
    assert_eq!(is_in_two_minutes(starts(2)), Some(true));
    server.clock.advance(Duration::from_secs(600));
    assert_eq!(starts(2), Value::Null, "none has begun in the last minutes");
    assert_eq!(model(&status(&server), "pro")["wait_seconds"], Value::Null);
    server.generator.release_all();
    let done = server.job_once(&customer, &jobs[2], "done");
    assert_eq!(done["estimated_start_at"], Value::Null);
}

#[test]
fn decisions_14_no_job_waits_only_while_a_backend_is_idle() {
    let server = one_at_a_time();
    let customer = server.customer("10.00");
    assert_eq!(model(&status(&server), "pro")["wait_seconds"], 0);
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    assert_eq!(model(&status(&server), "pro")["wait_seconds"], Value::Null);
    server.generator.release_all();
    server.job_once(&customer, &running, "done");
    until("the slot is free", || {
        model(&status(&server), "pro")["wait_seconds"] == 0
    });
}

#[test]
fn decisions_14_the_status_shows_a_full_queue() {
    let full = Options::new()
        .slots(1)
        .set("jobs.max_live", 1)
        .one_node(OneNode::Estimates);
    let server = Server::with(full);
    server.generator.hold();
    let customer = server.customer("10.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let limited = status(&server);
    assert_eq!(limited["status"], "limited");
    let pro =
        json!({"id": "pro", "paused": false, "reason": "the queue is full", "wait_seconds": null});
    assert_eq!(model(&limited, "pro"), pro);
}

#[test]
fn decisions_14_no_start_is_estimated_while_no_backend_is_in_service() {
    let server = Server::with(Options::new().slots(8).one_node(OneNode::Figures));
    let customer = server.customer("10.00");
    server.generator.behave(Behaviour::Unreachable);
    for _ in 0..4 {
        let failed = server.create(&customer);
        server.job_once(&customer, &failed, "failed");
    }
    // The fifth failure opens the circuit breaker.
    let probe = server.create(&customer);
    until("the breaker is open", || {
        let stats = server.admin("GET", "/stats").expect(200).json();
        ["down", "probing"].contains(&stats["backends"][0]["health"].as_str().unwrap())
    });
    let queued = server.create(&customer);
    let job = server.job(&customer, &queued);
    assert_eq!(job["status"], "queued");
    assert_eq!(job["estimated_start_at"], Value::Null);
    let limited = status(&server);
    assert_eq!(limited["status"], "limited");
    let reason = "no backend is available; new jobs wait";
    let pro = json!({"id": "pro", "paused": false, "reason": reason, "wait_seconds": null});
    assert_eq!(model(&limited, "pro"), pro);
    server.generator.behave(Behaviour::Succeed);
    // A passed test ends the cool-down of the breaker.
    server.admin("POST", "/backends/builtin/test").expect(200);
    for job in [probe, queued] {
        server.job_once(&customer, &job, "done");
    }
    until("jobs start again", || status(&server)["status"] == "up");
    let pro = json!({"id": "pro", "paused": false, "reason": null, "wait_seconds": 0});
    assert_eq!(model(&status(&server), "pro"), pro);
}
