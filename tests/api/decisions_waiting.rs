//! Decisions 1, "Beyond the specification": lookups with a long poll.

use crate::support::batches::entry;
use crate::support::raw::Wire;
use crate::support::{
    Customer, Server,
    options::{OneNode, Options},
    until,
};
use serde_json::json;

fn one_at_a_time() -> Server {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    server
}

fn processing_job(server: &Server, customer: &Customer) -> String {
    let job = server.create(customer);
    server.job_once(customer, &job, "processing");
    job
}

fn until_waiting(server: &Server, job: &str, count: usize) {
    let id = job.parse().unwrap();
    until("the lookups wait", || {
        server.inside().system.watchers(id) == count
    });
}

#[test]
fn the_response_is_sent_as_soon_as_the_job_is_terminal() {
    let server = one_at_a_time();
    let customer = server.customer("1.00");
    let job = processing_job(&server, &customer);
    let path = format!("/jobs/{job}?wait=60");
    let mut wire = Wire::open(server.address);
    wire.send(&server.native(&customer, "GET", &path).wire());
    until_waiting(&server, &job, 1);
    server.generator.release_all();
    let answer = wire.answer_to("GET").unwrap();
    assert_eq!(
        (answer.status, answer.json()["status"].as_str()),
        (200, Some("done"))
    );
    assert!(answer.json()["result"]["image_url"].is_string());
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("preference-applied"), None);
    until_waiting(&server, &job, 0);
}

#[test]
fn the_prefer_header_of_rfc_7240_is_applied_and_confirmed() {
    let server = one_at_a_time();
    let customer = server.customer("1.00");
    let job = processing_job(&server, &customer);
    let path = format!("/jobs/{job}");
    let lookup = server.native(&customer, "GET", &path);
    let mut wire = Wire::open(server.address);
    wire.send(
        &lookup
            .clone()
            .header("Prefer", "respond-async, wait=99")
            .wire(),
    );
    until_waiting(&server, &job, 1);
    server.generator.release_all();
    let answer = wire.answer_to("GET").unwrap();
    assert_eq!(answer.json()["status"], "done");
    assert_eq!(answer.header("preference-applied"), Some("wait=60"));
    // A terminal job is answered at once, whatever the wait.
    let answer = lookup.clone().header("Prefer", "wait=30").expect(200);
    assert_eq!(answer.header("preference-applied"), Some("wait=30"));
    // The service ignores preferences that are not for waiting.
    for odd in ["wait", "wait=soon", "wait=-1", "handling=strict"] {
        let answer = lookup.clone().header("Prefer", odd).expect(200);
        assert_eq!(answer.header("preference-applied"), None, "{odd}");
    }
}

#[test]
fn the_current_state_is_returned_after_the_timeout() {
    let server = one_at_a_time();
    let customer = server.customer("1.00");
    let job = processing_job(&server, &customer);
    for (path, headers) in [
        ("?wait=0", &[][..]),
        ("?wait=1", &[]),
        ("", &[("Prefer", "wait=0")]),
    ] {
        let mut lookup = server.native(&customer, "GET", &format!("/jobs/{job}{path}"));
        for (name, value) in headers {
            lookup = lookup.header(name, value);
        }
        assert_eq!(lookup.expect(200).json()["status"], "processing");
    }
    // The parameter takes precedence over the header.
    let path = format!("/jobs/{job}?wait=0");
    let lookup = server
        .native(&customer, "GET", &path)
        .header("Prefer", "wait=60");
    assert_eq!(lookup.expect(200).header("preference-applied"), None);
    until_waiting(&server, &job, 0);
    server.generator.release_all();
}

#[test]
fn a_cancellation_ends_the_wait() {
    let server = one_at_a_time();
    let customer = server.customer("1.00");
    processing_job(&server, &customer);
    let queued = server.create(&customer);
    let mut wire = Wire::open(server.address);
    let path = format!("/jobs/{queued}?wait=60");
    wire.send(&server.native(&customer, "GET", &path).wire());
    until_waiting(&server, &queued, 1);
    let path = format!("/jobs/{queued}");
    server.native(&customer, "DELETE", &path).expect(200);
    let answer = wire.answer_to("GET").unwrap().json();
    assert_eq!(
        (&answer["status"], &answer["error"]),
        (&"failed".into(), &"canceled".into())
    );
    server.generator.release_all();
}

#[test]
fn a_client_that_disconnects_leaves_no_watcher() {
    let server = one_at_a_time();
    let customer = server.customer("1.00");
    let job = processing_job(&server, &customer);
    let request = server
        .native(&customer, "GET", &format!("/jobs/{job}?wait=60"))
        .wire();
    let wires: Vec<Wire> = (0..20)
        .map(|_| Wire::begin(server.address, &request))
        .collect();
    until_waiting(&server, &job, 20);
    for (at, wire) in wires.into_iter().enumerate() {
        if at % 2 == 0 {
            wire.reset()
        } else {
            drop(wire)
        }
    }
    until_waiting(&server, &job, 0);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn the_waiting_calls_of_an_account_are_bounded() {
    let options = Options::new().slots(1).one_node(OneNode::Connections);
    let server = Server::with(options.set("limits.waiting_calls_per_account", 3));
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = processing_job(&server, &customer);
    let request =
        json!({"requests": [{"model": "fast", "prompt": "a fox", "aspect_ratio": "1:1"}]});
    let batch = server.native(&customer, "POST", "/batches").json(&request);
    let batch = batch.expect(202).json()["batch_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let lookup = format!("/jobs/{job}?wait=60");
    let events = format!("/jobs/{job}/events");
    let call = |path: &str| server.native(&customer, "GET", path);
    let open = |path: &&String| {
        let mut wire = Wire::open(server.address);
        wire.send(&call(path).wire());
        wire
    };
    let mut wires: Vec<Wire> = [&lookup, &lookup, &events].iter().map(open).collect();
    until_waiting(&server, &job, 3);
    for path in [&lookup, &events, &format!("/batches/{batch}?wait=60")] {
        let refused = call(path).refused(429, "rate_limited");
        assert_eq!(refused.header("retry-after"), Some("5"));
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains("has 3 calls waiting"), "{detail}");
    }
    // Calls that do not wait, and other accounts, are not bounded.
    call(&format!("/jobs/{job}")).expect(200);
    call(&format!("/jobs/{job}?wait=0")).expect(200);
    let other = server.customer("1.00");
    let theirs = server.create(&other);
    server
        .native(&other, "GET", &format!("/jobs/{theirs}?wait=1"))
        .expect(200);
    wires.remove(0).reset();
    until("the first call has ended", || {
        call(&format!("/jobs/{job}?wait=1")).send().status == 200
    });
    server.generator.release_all();
}

#[test]
fn a_graceful_shutdown_ends_the_wait() {
    let server = Server::with(
        Options::new()
            .slots(1)
            .set("server.shutdown_grace_seconds", 30),
    );
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = processing_job(&server, &customer);
    let mut wire = Wire::open(server.address);
    let path = format!("/jobs/{job}?wait=60");
    wire.send(&server.native(&customer, "GET", &path).wire());
    until_waiting(&server, &job, 1);
    let generator = server.generator.clone();
    let stopping = std::thread::spawn(move || server.stop());
    // The run is held until the answer arrives, so the end of the job cannot be what ends the wait.
    assert_eq!(
        wire.answer_to("GET").unwrap().json()["status"],
        "processing"
    );
    generator.release_all();
    stopping.join().unwrap();
}

#[test]
fn a_key_that_is_revoked_during_the_wait_gets_no_answer() {
    let server = one_at_a_time();
    let customer = server.customer("1.00");
    let batch = server.submit(&customer, &[entry()]);
    let batch = batch["batch_id"].as_str().unwrap();
    let listed = server.native(&customer, "GET", "/jobs").expect(200).json();
    let job = listed["data"][0]["job_id"].as_str().unwrap();
    let limited = json!({"rate_limit": {"per_second": 10, "burst": 10}});
    let revoked = server.another_key(&customer.account, limited);
    let paths = [
        format!("/jobs/{job}?wait=60"),
        format!("/batches/{batch}?wait=60"),
    ];
    let mut wires = paths.map(|path| {
        let mut wire = Wire::open(server.address);
        wire.send(&server.native(&revoked, "GET", &path).wire());
        wire
    });
    until_waiting(&server, job, 2);
    let path = format!("/keys/{}", revoked.key_id);
    server.admin("DELETE", &path).expect(204);
    server.generator.release_all();
    for wire in &mut wires {
        let answer = wire.answer_to("GET").unwrap();
        assert_eq!(answer.status, 401);
        assert_eq!(answer.json()["code"], "unauthorized");
        assert_eq!(answer.header("ratelimit"), None);
    }
}

#[test]
fn a_bad_wait_is_422_by_its_name() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let long = format!("wait={}", "6".repeat(500));
    for query in [
        "wait=",
        "wait=61",
        "wait=-1",
        "wait=%2B1",
        "wait=1.5",
        "wait=1e1",
        "wait=ten",
        "wait=%201",
        "wait=1&wait=1",
        "wait=%EF%BC%91",
        "wait=%00",
        &long,
    ] {
        let path = format!("/jobs/{job}?{query}");
        server.native(&customer, "GET", &path).invalid(&["wait"]);
    }
    // A foreign job is indistinguishable from one that does not exist.
    let other = server.customer("1.00");
    for query in ["wait=1", "wait=x"] {
        let path = format!("/jobs/{job}?{query}");
        server
            .native(&other, "GET", &path)
            .refused(404, "not_found");
    }
}
