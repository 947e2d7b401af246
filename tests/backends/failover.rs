//! Failover when a backend dies: other backends finish all jobs, each job is charged once, and none is lost.

use crate::service::{LEFT, backend, ended, gemini_image, image_of, make, openai_image, pro};
use crate::stub::{Reply, Stub};
use crate::support::sample_images::png;
use crate::support::{Customer, OneNode, Options, Server, fox, until};
use serde_json::{Value, json};

const JOBS: usize = 200;

fn two(first: &Stub, second: &Stub, change: impl FnOnce(Options) -> Options) -> Server {
    let options = Options::new().one_node(OneNode::Figures);
    let options = backend(options, "first", "gemini", first);
    let options = backend(options, "second", "openai", second);
    Server::with(change(pro(options, &["first", "second"])))
}

/// The operator's view of a backend.
fn backend_stats(server: &Server, name: &str) -> Value {
    let stats = server.admin("GET", "/stats").expect(200).json();
    let all = stats["backends"].as_array().expect("backends").clone();
    let of = all.into_iter().find(|it| it["name"] == name);
    of.expect("a backend")
}

fn charges(server: &Server, customer: &Customer) -> Vec<Value> {
    let mut charges = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!(
            "/accounts/{}/transactions?limit=100{cursor}",
            customer.account
        );
        let page = server.admin("GET", &path).expect(200).json();
        let entries = page["data"].as_array().unwrap().iter();
        charges.extend(entries.filter(|it| it["kind"] == "charge").cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return charges,
        }
    }
}

#[test]
fn two_hundred_jobs_survive_the_failure_of_their_backend() {
    // A quarter of the jobs finishes; the next ones are running when the backend dies.
    let mut replies = vec![image_of("gemini"); JOBS / 4];
    replies.push(image_of("gemini").held());
    let mut first = Stub::answering(replies);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |it| {
        it.on_disk()
            .set("backends.first.concurrency", 8)
            .set("backends.second.concurrency", 8)
    });
    let customer = server.customer("100.00");
    let jobs: Vec<String> = (0..JOBS)
        .map(|_| {
            let answer = server.generation(&customer, "/text-generations", &fox());
            answer.expect(202).job_id()
        })
        .collect();
    until("its places are full", || first.running() == 8);
    first.kill();
    for id in &jobs {
        let job = ended(&server, &customer, id);
        assert_eq!(job["status"], "done", "{job}");
    }
    assert_eq!(first.seen().len(), JOBS / 4 + 8);
    assert_eq!(second.seen().len(), JOBS - JOBS / 4);
    // 200 times 0.134.
    server.assert_money(&customer, "73.20", "0.00", "73.20");
    let mut charged: Vec<String> = charges(&server, &customer)
        .iter()
        .map(|it| it["job_id"].as_str().unwrap().to_owned())
        .collect();
    charged.sort();
    let mut expected = jobs.clone();
    expected.sort();
    assert_eq!(charged, expected, "each is charged exactly once");
    assert_eq!(server.objects_left().len(), JOBS, "one image each");
    server.assert_settled();
}

#[test]
fn a_backend_that_keeps_failing_is_skipped() {
    let failing = Reply::typed("500 Internal Server Error", "text/plain", "no");
    let first = Stub::answering([failing]);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |it| it);
    let customer = server.customer("10.00");
    for _ in 0..8 {
        assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    }
    assert_eq!((first.seen().len(), second.seen().len()), (5, 8));
    let (first, second) = (
        backend_stats(&server, "first"),
        backend_stats(&server, "second"),
    );
    assert_eq!(
        (&first["health"], &second["health"]),
        (&json!("down"), &json!("up"))
    );
    let left = first["probe_in_seconds"].as_u64().expect("a time");
    assert!(left <= 10, "{first}");
    assert_eq!(second["probe_in_seconds"], Value::Null);
}

#[test]
fn a_backend_that_is_being_probed_is_reported_as_probing() {
    let failing = Reply::typed("500 Internal Server Error", "text/plain", "no");
    let mut replies = vec![failing; 5];
    replies.push(image_of("gemini").held());
    let first = Stub::answering(replies);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |it| it);
    let customer = server.customer("100.00");
    for _ in 0..5 {
        assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    }
    assert_eq!(backend_stats(&server, "first")["health"], "down");
    // Ten seconds later the next job probes the backend.
    until("its time has come", || {
        backend_stats(&server, "first")["probe_in_seconds"] == 0
    });
    let mut probe = None;
    until("it is tried out", || {
        let answer = server.generation(&customer, "/text-generations", &fox());
        let id = answer.expect(202).job_id();
        until("it is under way or over", || {
            first.running() == 1 || server.job(&customer, &id)["status"] == "done"
        });
        probe = Some(id);
        first.running() == 1
    });
    assert_eq!(backend_stats(&server, "first")["health"], "probing");
    first.release();
    let done = ended(&server, &customer, &probe.expect("a job"));
    assert_eq!(done["status"], "done");
    until("it is up again", || {
        backend_stats(&server, "first")["health"] == "up"
    });
}

#[test]
fn a_setup_error_of_one_backend_fails_over_to_the_next() {
    let refused = json!({"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}});
    let first = Stub::answering([Reply::error("403 Forbidden", &refused)]);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |it| it);
    let customer = server.customer("10.00");
    assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    assert_eq!((first.seen().len(), second.seen().len()), (1, 1));
}

#[test]
fn an_invalid_image_fails_over_to_the_next_backend() {
    let first = Stub::answering([gemini_image(b"no image")]);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |it| it);
    let customer = server.customer("10.00");
    assert_eq!(make(&server, &customer, json!({}))["status"], "done");
}

#[test]
fn a_rejection_of_the_request_does_not_fail_over() {
    let refused = json!({"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}});
    let first = Stub::answering([Reply::error("400 Bad Request", &refused)]);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |it| it);
    let customer = server.customer("10.00");
    let job = make(&server, &customer, json!({}));
    assert_eq!(job["error"], "the image generator refused the request: bad");
    assert_eq!(second.seen().len(), 0);
}

#[test]
fn the_late_response_of_an_abandoned_try_is_neither_stored_nor_charged() {
    let slow = Stub::answering([image_of("gemini").held()]);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&slow, &second, |it| {
        it.set("backends.first.timeout_seconds", 1)
    });
    let customer = server.customer("10.00");
    let job = make(&server, &customer, json!({}));
    assert_eq!(job["status"], "done");
    until("the late answer was sent", || slow.late_answers() == 1);
    server.assert_money(&customer, LEFT, "0.00", LEFT);
    assert_eq!(charges(&server, &customer).len(), 1);
    assert_eq!(server.objects_left().len(), 1);
    server.assert_settled();
}

#[test]
fn weights_distribute_the_jobs() {
    let first = Stub::answering([image_of("gemini")]);
    let second = Stub::answering([image_of("openai")]);
    let server = two(&first, &second, |options| {
        let entry = |name: &str, weight: i64| {
            let name = ("name".to_owned(), toml::Value::from(name));
            let weight = ("weight".to_owned(), toml::Value::from(weight));
            toml::Value::Table([name, weight].into_iter().collect())
        };
        options.set(
            "tiers.pro.backends",
            vec![entry("first", 3), entry("second", 1)],
        )
    });
    let customer = server.customer("10.00");
    for _ in 0..8 {
        assert_eq!(make(&server, &customer, json!({}))["status"], "done");
    }
    assert_eq!((first.seen().len(), second.seen().len()), (6, 2));
}

#[test]
fn the_operator_sees_why_a_job_failed_and_the_caller_does_not() {
    let server = Server::with(pro(
        Options::new()
            .one_node(OneNode::Figures)
            .set("backends.gone.kind", "openai")
            .set("backends.gone.base_url", "http://127.0.0.1:9/v1")
            .set("backends.gone.retries", 0),
        &["gone"],
    ));
    let customer = server.customer("10.00");
    assert_eq!(backend_stats(&server, "gone")["health"], "unknown");
    let job = make(&server, &customer, json!({}));
    assert_eq!(job["error"], "the image generator could not be reached");
    assert!(job.get("causes").is_none());
    let path = format!("/jobs/{}", job["job_id"].as_str().unwrap());
    let record = server.admin("GET", &path).expect(200).json();
    let cause = &record["causes"][0];
    assert_eq!(cause["backend"], "gone");
    let message = cause["message"].as_str().unwrap();
    assert!(message.contains("no connection"), "{message}");
    let state = backend_stats(&server, "gone");
    assert_eq!(state["health"], "degraded");
    assert_eq!(state["last_error"]["message"], cause["message"]);
    assert!(state["last_answer_at"].is_null());
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let theirs = format!("/accounts/{}{path}", customer.account);
    let theirs = owner.call(&server, "GET", &theirs).expect(200).json();
    assert!(theirs.get("causes").is_none(), "{theirs}");
    assert!(theirs["key"]["prefix"].is_string());
}

#[test]
fn the_backend_of_an_image_is_shown_to_the_operator_and_not_to_the_caller() {
    let server = Server::with(pro(Options::new().one_node(OneNode::Figures), &["builtin"]));
    let customer = server.customer("10.00");
    let job = make(&server, &customer, json!({}));
    assert_eq!(job["status"], "done");
    let path = format!("/jobs/{}", job["job_id"].as_str().unwrap());
    let record = server.admin("GET", &path).expect(200).json();
    assert_eq!(record["picture"]["backend"], "builtin");
    let owner = server.person(&customer.account, "owner@a.example", "owner");
    let theirs = format!("/accounts/{}{path}", customer.account);
    let theirs = owner.call(&server, "GET", &theirs).expect(200).json();
    assert!(theirs["picture"].get("backend").is_none(), "{theirs}");
    let tries = &backend_stats(&server, "builtin")["last_hour"];
    assert_eq!((&tries["tries"], &tries["failed"]), (&json!(1), &json!(0)));
    assert!(
        tries["p50_ms"].is_u64() && tries["p95_ms"].is_u64(),
        "{tries}"
    );
}

#[test]
fn a_backend_is_tested_on_demand_without_generating_an_image() {
    let server = Server::with(pro(
        Options::new()
            .one_node(OneNode::Figures)
            .set("backends.gone.kind", "openai")
            .set("backends.gone.base_url", "http://127.0.0.1:9/v1"),
        &["gone"],
    ));
    let test = |name: &str| server.admin("POST", &format!("/backends/{name}/test"));
    let sound = test("builtin").expect(200).json();
    assert_eq!(
        (&sound["name"], &sound["ok"]),
        (&json!("builtin"), &json!(true))
    );
    assert_eq!(
        backend_stats(&server, "builtin")["health"],
        "up",
        "it was unknown"
    );
    let gone = test("gone").expect(200).json();
    assert_eq!((&gone["ok"], &gone["works"]), (&json!(false), &json!([])));
    let state = backend_stats(&server, "gone");
    assert_eq!(state["health"], "degraded");
    assert_eq!(state["last_error"]["message"], gone["fails"][0]);
    assert_eq!(state["last_hour"]["tries"], 0, "a test is no try");
    let unknown = test("unknown").expect(404).json();
    let detail = unknown["detail"].as_str().unwrap_or_default();
    assert!(
        detail.starts_with("backend `unknown` is not defined; defined: "),
        "{detail}"
    );
}

#[test]
fn one_customers_failing_requests_keep_no_backend_from_the_others() {
    let failure = Reply::typed("500 Internal Server Error", "text/plain", "no");
    let limited = Reply::typed("429 Too Many Requests", "text/plain", "wait");
    let mut replies = vec![image_of("openai")];
    replies.extend(vec![failure; 7]);
    replies.extend([image_of("openai"), limited]);
    let stub = Stub::answering(replies);
    let options = Options::new().one_node(OneNode::Figures);
    let options = backend(options, "only", "openai", &stub).set("backends.only.retries", 0);
    let server = Server::with(pro(options, &["only"]));
    let [customer, other] = [(); 2].map(|()| server.customer("10.00"));
    let run = |customer: &Customer, end: &str| {
        let answer = server.generation(customer, "/text-generations", &fox());
        server.job_once(customer, &answer.expect(202).job_id(), end);
    };
    run(&other, "done");
    for _ in 0..7 {
        run(&customer, "failed");
    }
    let stats = backend_stats(&server, "only");
    assert_eq!(
        (&stats["health"], &stats["faults"]),
        (&json!("degraded"), &json!(7))
    );
    run(&other, "done");
    // A rate limit says nothing about the request.
    for _ in 0..5 {
        run(&customer, "failed");
    }
    assert_eq!(backend_stats(&server, "only")["health"], "down");
}

/// Twenty jobs on a backend that answers five requests with this fault.
fn assert_that_a_fault_costs_five_jobs(kind: &str, fault: Reply) {
    let mut replies = vec![fault; 5];
    replies.push(image_of(kind));
    let stub = Stub::answering(replies);
    let options = backend(
        Options::new().one_node(OneNode::Figures),
        "only",
        kind,
        &stub,
    );
    let options = options
        .set("backends.only.concurrency", 1)
        .set("backends.only.retries", 2);
    let server = Server::with(pro(options, &["only"]));
    let customer = server.customer("10.00");
    let jobs: Vec<String> = (0..20)
        .map(|_| {
            let answer = server.generation(&customer, "/text-generations", &fox());
            answer.expect(202).job_id()
        })
        .collect();
    let ended = |word: &str| {
        let all = jobs.iter().map(|id| server.job(&customer, id));
        all.filter(|it| it["status"] == word).count()
    };
    until("the breaker is open, or all jobs have ended", || {
        backend_stats(&server, "only")["health"] == "down" || ended("failed") + ended("done") == 20
    });
    assert_eq!((ended("failed"), ended("queued")), (5, 15), "{kind}");
    // The operator fixes it, and tests the backend, which ends the cool-down.
    server.admin("POST", "/backends/only/test").expect(200);
    until("the others are done", || ended("done") == 15);
    server.assert_settled();
}

#[test]
fn a_rejected_key_costs_a_few_jobs_and_not_the_whole_queue() {
    let unauthorized = Reply::typed("401 Unauthorized", "text/plain", "bad key");
    let quota = json!({"error": {"message": "No credit.", "code": "insufficient_quota"}});
    let quota = Reply::error("429 Too Many Requests", &quota);
    let suspended =
        json!({"error": {"code": 403, "message": "Suspended.", "status": "PERMISSION_DENIED"}});
    let suspended = Reply::error("403 Forbidden", &suspended);
    let daily = json!({"error": {"code": 429, "message": "Quota.", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
         "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}});
    let daily = Reply::error("429 Too Many Requests", &daily);
    for (kind, rejection) in [
        ("openai", unauthorized),
        ("openai", quota),
        ("gemini", daily),
        ("gemini", suspended),
    ] {
        assert_that_a_fault_costs_five_jobs(kind, rejection);
    }
}

#[test]
fn half_images_cost_a_few_jobs_and_not_the_whole_queue() {
    let square = png(64, 64);
    let half = &square[..square.len() / 2];
    assert_that_a_fault_costs_five_jobs("gemini", gemini_image(half));
    assert_that_a_fault_costs_five_jobs("openai", openai_image(half));
}
