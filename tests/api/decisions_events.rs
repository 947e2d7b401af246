//! Decisions 1, "Beyond the specification": the states of a job as server-sent events.

use crate::support::http::Request;
use crate::support::raw::Wire;
use crate::support::{Behaviour, Customer, OneNode, Server, options::Options, until};
use serde_json::{Value, json};

fn one_at_a_time() -> Options {
    Options::new().slots(1)
}

fn events(server: &Server, customer: &Customer, job: &str) -> Request {
    server.native(customer, "GET", &format!("/jobs/{job}/events"))
}

fn open_stream(server: &Server, request: &Request) -> Wire {
    let mut wire = Wire::open(server.address);
    wire.send(&request.wire());
    wire
}

/// Waits until this text has arrived; consumes nothing.
fn wait_for(wire: &mut Wire, text: &str) {
    while !wire.peek(text) {}
}

/// The ids and the jobs of the events.
fn parse_events(text: &str) -> Vec<(String, Value)> {
    let blocks = text.split("\n\n");
    let blocks = blocks.filter(|it| it.contains("data: ") && !it.contains("event: queue"));
    blocks
        .map(|block| {
            let field = |name: &str| {
                let mut lines = block.lines().filter_map(|line| line.strip_prefix(name));
                let value = lines.next().unwrap_or_else(|| panic!("{name} in {block}"));
                assert_eq!(lines.next(), None, "one line of {name}");
                value.to_owned()
            };
            assert_eq!(field("event: "), "status");
            let data: Value = serde_json::from_str(&field("data: ")).unwrap();
            (field("id: "), data)
        })
        .collect()
}

fn statuses(events: &[(String, Value)]) -> Vec<&str> {
    let statuses = events.iter().map(|(_, job)| job["status"].as_str());
    statuses.map(Option::unwrap).collect()
}

fn until_listeners(server: &Server, job: &str, count: usize) {
    let id = job.parse().unwrap();
    until("so many listen", || {
        server.inside().system.watchers(id) == count
    });
}

#[test]
fn each_state_is_sent_and_the_terminal_state_ends_the_stream() {
    let server = Server::with(one_at_a_time());
    server.generator.hold();
    let customer = server.customer("1.00");
    let first = server.create(&customer);
    server.job_once(&customer, &first, "processing");
    let job = server.create(&customer);
    server.assert_visible("each node knows that the first job runs", || {
        let mut calls = server.nodes();
        calls.all(|_| server.job(&customer, &job)["queue_position"] == 1)
    });
    let mut wire = open_stream(&server, &events(&server, &customer, &job));
    wait_for(&mut wire, "\"queued\"");
    server.generator.release_one();
    wait_for(&mut wire, "\"processing\"");
    server.generator.release_one();
    let answer = wire.answer_to("GET").unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let received = parse_events(&answer.text());
    assert_eq!(statuses(&received), ["queued", "processing", "done"]);
    let ids: Vec<&str> = received.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3"]);
    assert_eq!(received[0].1["queue_position"], 1);
    assert_eq!(
        received[2].1,
        server.job(&customer, &job),
        "the data is the Job"
    );
    until_listeners(&server, &job, 0);
}

#[test]
fn each_change_of_the_queue_position_is_sent() {
    let server = Server::with(one_at_a_time().one_node(OneNode::Estimates));
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let [first, second, job] = std::array::from_fn(|_| server.create(&customer));
    let mut wire = open_stream(&server, &events(&server, &customer, &job));
    wait_for(&mut wire, "\"queue_position\":3");
    server
        .native(&customer, "DELETE", &format!("/jobs/{first}"))
        .expect(200);
    let queue_event = |place| {
        format!(
            "event: queue\ndata: {{\"estimated_start_at\":null,\"job_id\":\"{job}\",\"queue_position\":{place}}}\n\n"
        )
    };
    wait_for(&mut wire, &queue_event(2));
    // A client that reconnects gets the position at once: queue events have no id to resume from.
    let resumed = events(&server, &customer, &job).header("Last-Event-ID", "1");
    let mut resumed = open_stream(&server, &resumed);
    wait_for(&mut resumed, &format!("retry: 2000\n\n{}", queue_event(2)));
    server
        .native(&customer, "DELETE", &format!("/jobs/{second}"))
        .expect(200);
    wait_for(&mut wire, &queue_event(1));
    server.generator.release_all();
    let text = wire.answer_to("GET").unwrap().text();
    assert_eq!(text.matches("event: queue").count(), 2, "each once: {text}");
    let states = parse_events(&text);
    assert_eq!(statuses(&states).first(), Some(&"queued"));
    assert_eq!(statuses(&states).last(), Some(&"done"));
}

#[test]
fn an_event_id_of_another_job_neither_ends_the_stream_nor_hides_a_state() {
    let server = Server::with(one_at_a_time());
    server.generator.hold();
    let customer = server.customer("1.00");
    let running = server.create(&customer);
    server.job_once(&customer, &running, "processing");
    let queued = server.create(&customer);
    for (job, id, state) in [
        (&running, "3", "processing"),
        (&queued, "3", "queued"),
        (&queued, "2", "queued"),
    ] {
        let request = events(&server, &customer, job).header("Last-Event-ID", id);
        let mut wire = open_stream(&server, &request);
        wait_for(&mut wire, &format!("\"status\":\"{state}\""));
    }
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn progress_is_sent_if_the_backend_reports_it() {
    let server = Server::with(one_at_a_time().one_node(OneNode::Progress));
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    let mut wire = open_stream(&server, &events(&server, &customer, &job));
    wait_for(&mut wire, "\"processing\"");
    // The service sends the state before the run starts.
    until("the run begins", || server.generator.runs() == 1);
    let [order] = &server.generator.orders()[..] else {
        panic!("one run");
    };
    order.progress.report(0.25);
    wait_for(&mut wire, "\"progress\":0.25}\n\n");
    order.progress.report(0.999);
    wait_for(&mut wire, "\"progress\":1.0}\n\n");
    server.generator.release_all();
    let text = wire.answer_to("GET").unwrap().text();
    let received: Vec<&str> = text
        .split("\n\n")
        .filter(|it| it.contains("progress\":"))
        .collect();
    assert_eq!(received.len(), 2, "each once: {text}");
    for block in received {
        assert!(block.starts_with("event: progress\ndata: {"), "{block}");
        assert!(block.contains(&job) && !block.contains("id: "), "{block}");
    }
}

#[test]
fn the_state_of_an_ended_job_is_sent_at_once() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let done = server.create(&customer);
    server.job_once(&customer, &done, "done");
    server.generator.behave(Behaviour::Refuse("no foxes"));
    let failed = server.create(&customer);
    server.job_once(&customer, &failed, "failed");
    for (job, status) in [(&done, "done"), (&failed, "failed")] {
        let answer = events(&server, &customer, job).expect(200);
        assert_eq!(statuses(&parse_events(&answer.text())), [status]);
    }
}

#[test]
fn a_reconnecting_client_gets_only_new_events() {
    let server = Server::with(one_at_a_time());
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    let resumed = |id: &str| events(&server, &customer, &job).header("Last-Event-ID", id);
    let mut at_queued = open_stream(&server, &resumed("1"));
    wait_for(&mut at_queued, "\"processing\"");
    let mut at_processing = open_stream(&server, &resumed("2"));
    // The service sends a line at once, so that the client knows that it is connected.
    wait_for(&mut at_processing, "retry: 2000");
    until_listeners(&server, &job, 2);
    server.generator.release_all();
    let received = parse_events(&at_queued.answer_to("GET").unwrap().text());
    assert_eq!(statuses(&received), ["processing", "done"]);
    let received = parse_events(&at_processing.answer_to("GET").unwrap().text());
    assert_eq!(statuses(&received), ["done"]);
    // A client that has seen the end need not reconnect: 204 tells an EventSource to stop.
    let over = resumed("3").expect(204);
    assert!(over.body.is_empty());
    assert_eq!(over.header("cache-control"), Some("no-store"));
}

#[test]
fn an_unknown_event_id_is_ignored() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "done");
    let long = "9".repeat(5_000);
    for id in [
        "", "0", "4", "255", "256", "-1", "+", "two", "1.5", "\u{e9}", &long,
    ] {
        let answer = events(&server, &customer, &job)
            .header("Last-Event-ID", id)
            .expect(200);
        assert_eq!(statuses(&parse_events(&answer.text())), ["done"], "{id}");
    }
}

#[test]
fn a_listener_that_disconnects_is_removed() {
    let server = Server::with(one_at_a_time());
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let request = events(&server, &customer, &job);
    let mut wires: Vec<Wire> = (0..20).map(|_| open_stream(&server, &request)).collect();
    wires.iter_mut().for_each(|wire| wait_for(wire, "data: "));
    until_listeners(&server, &job, 20);
    for (at, wire) in wires.into_iter().enumerate() {
        if at % 2 == 0 {
            wire.reset()
        } else {
            drop(wire)
        }
    }
    until_listeners(&server, &job, 0);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn a_graceful_shutdown_ends_the_streams() {
    let server = Server::with(one_at_a_time().set("server.shutdown_grace_seconds", 30));
    server.generator.hold();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    server.job_once(&customer, &job, "processing");
    let mut wire = open_stream(&server, &events(&server, &customer, &job));
    wait_for(&mut wire, "data: ");
    let generator = server.generator.clone();
    let stopping = std::thread::spawn(move || server.stop());
    // The run is held until the stream has ended, so the end of the job cannot be what ends the stream.
    let received = parse_events(&wire.answer_to("GET").unwrap().text());
    assert_eq!(statuses(&received), ["processing"]);
    generator.release_all();
    stopping.join().unwrap();
}

#[test]
fn a_key_that_is_no_longer_accepted_gets_no_further_event() {
    let server = Server::with(one_at_a_time());
    server.generator.hold();
    let [first, second] = std::array::from_fn(|_| server.customer("1.00"));
    let running = server.create(&first);
    server.job_once(&first, &running, "processing");
    let key = |account: &Customer, shape| server.another_key(&account.account, shape);
    let keys = [
        ("DELETE", "", json!(null), key(&first, json!({}))),
        (
            "PATCH",
            "",
            json!({"active": false}),
            key(&first, json!({})),
        ),
        (
            "PATCH",
            "",
            json!({"allowed_ips": ["192.0.2.0/24"]}),
            key(&first, json!({})),
        ),
        (
            "POST",
            "/rotate",
            json!({"overlap_hours": 0}),
            key(&first, json!({})),
        ),
    ];
    let expiring = key(&first, json!({"expires_at": "2026-11-18T12:00:00Z"}));
    let listen = |by: &Customer, job: &str| {
        let mut wire = open_stream(&server, &events(&server, by, job));
        wait_for(&mut wire, "\"queued\"");
        wire
    };
    let job = server.create(&first);
    let mut refused: Vec<Wire> = keys.iter().map(|it| listen(&it.3, &job)).collect();
    refused.push(listen(&expiring, &job));
    let of_inactive = server.create(&second);
    refused.push(listen(&second, &of_inactive));
    let mut accepted = listen(&first, &job);
    for (method, path, body, key) in &keys {
        let path = format!("/keys/{}{path}", key.key_id);
        let call = server.admin(method, &path);
        let call = if body.is_null() {
            call
        } else {
            call.json(body)
        };
        assert!(call.send().status < 300, "{method} {path}");
    }
    let path = format!("/accounts/{}", second.account);
    let inactive = json!({"active": false});
    server.admin("PATCH", &path).json(&inactive).expect(200);
    server
        .clock
        .advance(std::time::Duration::from_secs(2 * 86_400));
    server.generator.release_all();
    for (at, wire) in refused.iter_mut().enumerate() {
        let received = parse_events(&wire.answer_to("GET").unwrap().text());
        assert_eq!(statuses(&received), ["queued"], "stream {at}");
    }
    let received = parse_events(&accepted.answer_to("GET").unwrap().text());
    assert_eq!(statuses(&received).last(), Some(&"done"));
    // A client that reconnects gets the reason.
    events(&server, &keys[0].3, &job).refused(401, "unauthorized");
    events(&server, &keys[2].3, &job).refused(403, "address_not_allowed");
}

#[test]
fn a_foreign_job_has_no_events() {
    let server = Server::start();
    let (owner, other) = (server.customer("1.00"), server.customer("1.00"));
    let job = server.create(&owner);
    events(&server, &other, &job).refused(404, "not_found");
    events(&server, &other, "nothing").refused(404, "not_found");
    server
        .get(&format!("/api/v1/jobs/{job}/events"))
        .refused(401, "unauthorized");
    server
        .native(&owner, "POST", &format!("/jobs/{job}/events"))
        .refused(405, "method_not_allowed");
    let head = server
        .native(&owner, "HEAD", &format!("/jobs/{job}/events"))
        .expect(200);
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
}
