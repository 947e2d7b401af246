//! Decisions 12: the life of a batch: lookup, long poll, results, end.

use crate::support::batches::{entry, entry_with, results_path};
use crate::support::sample_images::png;
use crate::support::{Behaviour, Customer, Options, Origin, Server, fox, origin, until};
use serde_json::{Value, json};
use std::thread;

/// A server with one slot, whose runs are held.
fn one_slot() -> (Server, Customer) {
    let server = Server::with(Options::new().slots(1));
    server.generator.hold();
    let customer = server.customer("100.00");
    (server, customer)
}

fn named(name: &str) -> Value {
    entry_with(json!({"custom_id": name, "prompt": name}))
}

fn path(batch: &Value) -> String {
    format!("/batches/{}", batch["batch_id"].as_str().unwrap())
}

fn prompts(server: &Server) -> Vec<String> {
    let orders = server.generator.orders();
    orders.into_iter().map(|it| it.prompt).collect()
}

#[test]
fn a_batch_reports_the_number_of_its_jobs_in_each_state() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[named("a"), named("b"), named("c")]);
    until("one runs", || server.generator.runs() == 1);
    until("the lookup shows it", || {
        let counts = server.batch(&customer, &batch)["counts"].clone();
        counts == json!({"total": 3, "queued": 2, "processing": 1, "done": 0, "failed": 0})
    });
    server.generator.release_one();
    until("the next one runs", || {
        let counts = server.batch(&customer, &batch)["counts"].clone();
        counts == json!({"total": 3, "queued": 1, "processing": 1, "done": 1, "failed": 0})
    });
    server.generator.behave(Behaviour::Block("no"));
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(
        ended["counts"],
        json!({"total": 3, "queued": 0, "processing": 0, "done": 1, "failed": 2})
    );
    assert!(ended["ended_at"].as_str().unwrap() >= ended["created_at"].as_str().unwrap());
    server.assert_settled();
}

#[test]
fn batches_are_listed_newest_first_page_by_page() {
    let server = Server::start();
    let customer = server.customer("100.00");
    let made: Vec<Value> = (0..5)
        .map(|_| server.submit(&customer, &[entry()]))
        .collect();
    let mut found = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = server
            .native(&customer, "GET", &format!("/batches{query}"))
            .expect(200)
            .json();
        found.extend(
            page["data"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["batch_id"].clone()),
        );
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    let wanted: Vec<Value> = made.iter().rev().map(|it| it["batch_id"].clone()).collect();
    assert_eq!(found, wanted);
    server
        .native(&customer, "GET", "/batches?limit=0")
        .invalid(&["limit"]);
    server
        .native(&customer, "GET", "/batches?status=x")
        .invalid(&["status"]);
    let other = server.customer("1.00");
    let theirs = server.native(&other, "GET", "/batches").expect(200).json();
    assert_eq!(theirs["data"], json!([]));
    server.assert_settled();
}

#[test]
fn wait_answers_as_soon_as_the_batch_has_ended() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[named("a"), named("b")]);
    let call = server.native(&customer, "GET", &format!("{}?wait=60", path(&batch)));
    let waiting = thread::spawn(move || call.expect(200).json());
    until("a call waits", || {
        server.inside().system.waiting_callers() > 0
    });
    server.generator.release_all();
    let ended = waiting.join().unwrap();
    assert_eq!(ended["status"], "ended");
    assert_eq!(ended["counts"]["done"], 2);
    let preferred = server
        .native(&customer, "GET", &path(&batch))
        .header("Prefer", "wait=5");
    let answer = preferred.expect(200);
    assert_eq!(answer.header("preference-applied"), Some("wait=5"));
    let asked = server.native(&customer, "GET", &format!("{}?wait=61", path(&batch)));
    asked.invalid(&["wait"]);
    server.assert_settled();
}

#[test]
fn wait_answers_with_the_present_state_when_the_time_is_up() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[named("a")]);
    let call = server.native(&customer, "GET", &format!("{}?wait=0", path(&batch)));
    assert_eq!(call.expect(200).json()["status"], "in_progress");
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn results_are_in_the_order_of_the_requests_at_any_time() {
    let (server, customer) = one_slot();
    let requests: Vec<Value> = (0..450).map(|at| named(&format!("n{at}"))).collect();
    let batch = server.submit(&customer, &requests);
    let check = |lines: &[Value]| {
        let ids: Vec<String> = lines
            .iter()
            .map(|it| it["custom_id"].as_str().unwrap().into())
            .collect();
        let wanted: Vec<String> = (0..450).map(|at| format!("n{at}")).collect();
        assert_eq!(ids, wanted);
    };
    let early = server.results(&customer, &batch);
    check(&early);
    assert!(
        early
            .iter()
            .all(|it| it["result"].is_null() && it["error"].is_null())
    );
    server.generator.release_one();
    until("one is done", || {
        server.results(&customer, &batch)[0]["status"] == "done"
    });
    server.generator.release_all();
    server.batch_ended(&customer, &batch);
    let late = server.results(&customer, &batch);
    check(&late);
    for line in &late {
        assert_eq!(line.as_object().unwrap().len(), 5, "{line}");
        assert_eq!(line["status"], "done");
        let job = server.job(&customer, line["job_id"].as_str().unwrap());
        assert_eq!(job["status"], "done");
    }
    let url = late[449]["result"]["image_url"].as_str().unwrap();
    let target = &url[url.find("/files/").unwrap()..];
    assert_eq!(
        server.get(target).expect(200).header("content-type"),
        Some("image/png")
    );
    let head = server
        .native(&customer, "HEAD", &results_path(&batch))
        .expect(200);
    assert_eq!(head.body, b"");
    assert_eq!(head.header("content-length"), None, "GET has a body");
    server.assert_settled();
}

#[test]
fn results_of_failed_jobs_contain_the_error() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.behave(Behaviour::Block("a reason"));
    let batch = server.submit(&customer, &[entry()]);
    server.batch_ended(&customer, &batch);
    let line = &server.results(&customer, &batch)[0];
    assert_eq!(line["status"], "failed");
    assert_eq!(line["result"], Value::Null);
    assert_eq!(line["error"], "blocked for safety: a reason");
    server.assert_settled();
}

#[test]
fn jobs_of_a_batch_wait_behind_the_single_ones() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[named("a"), named("b"), named("c")]);
    until("one runs", || server.generator.runs() == 1);
    let mut single = fox();
    single["prompt"] = json!("single");
    let call = server.generation(&customer, "/nb/text-generations", &single);
    let job = call.expect(202).job_id();
    server.assert_visible("the single job is next", || {
        server.job(&customer, &job)["queue_position"] == 1
    });
    server.generator.release_all();
    server.batch_ended(&customer, &batch);
    server.job_once(&customer, &job, "done");
    assert_eq!(prompts(&server), ["a", "single", "b", "c"]);
    server.assert_settled();
}

#[test]
fn jobs_of_a_batch_are_ordinary_jobs() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[named("a"), named("b"), named("c")]);
    until("one runs", || server.generator.runs() == 1);
    let other = server.create(&customer);
    let id = batch["batch_id"].as_str().unwrap();
    let listed = |query: &str| {
        let page = server
            .native(&customer, "GET", &format!("/jobs?{query}"))
            .expect(200)
            .json();
        let data = page["data"].as_array().unwrap().clone();
        data.into_iter()
            .map(|it| (it["job_id"].clone(), it["batch_id"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(listed("").len(), 4);
    let of_batch = listed(&format!("batch_id={id}"));
    assert_eq!(of_batch.len(), 3);
    assert!(
        of_batch
            .iter()
            .all(|(job, batch)| *job != json!(other) && *batch == json!(id))
    );
    assert_eq!(listed(&format!("batch_id={id}&status=processing")).len(), 1);
    assert_eq!(listed(&format!("batch_id={id}&limit=2")).len(), 2);
    assert_eq!(
        listed(&format!("batch_id={}", uuid::Uuid::now_v7())).len(),
        0
    );
    server
        .native(&customer, "GET", "/jobs?batch_id=x")
        .invalid(&["batch_id"]);
    // The second job can be canceled like any other.
    let second = server.results(&customer, &batch)[1]["job_id"].clone();
    let canceled = server.native(
        &customer,
        "DELETE",
        &format!("/jobs/{}", second.as_str().unwrap()),
    );
    assert_eq!(canceled.expect(200).json()["error"], "canceled");
    assert_eq!(server.batch(&customer, &batch)["counts"]["failed"], 1);
    let looked_up = server.job(&customer, second.as_str().unwrap());
    assert_eq!(
        looked_up.get("batch_id"),
        None,
        "the plain lookup stays as it was"
    );
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(
        (&ended["counts"]["done"], &ended["counts"]["failed"]),
        (&json!(2), &json!(1))
    );
    server.assert_settled();
}

#[test]
fn delete_cancels_the_queued_jobs() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &vec![entry(); 600]);
    until("one runs", || server.generator.runs() == 1);
    server.assert_money(&customer, "100.00", "23.40", "76.60");
    let canceled = server
        .native(&customer, "DELETE", &path(&batch))
        .expect(200)
        .json();
    assert_eq!(canceled["status"], "canceling");
    let counts = json!({"total": 600, "queued": 0, "processing": 1, "done": 0, "failed": 599});
    assert_eq!(canceled["counts"], counts);
    assert_eq!(canceled["charged"], "0.00");
    server.assert_money(&customer, "100.00", "0.039", "99.961");
    let again = server
        .native(&customer, "DELETE", &path(&batch))
        .expect(200)
        .json();
    assert_eq!(again, canceled);
    let results = server.results(&customer, &batch);
    assert!(results[1..].iter().all(|it| it["error"] == "canceled"));
    // The canceled jobs have freed their slots in the queue.
    let job = server.create(&customer);
    server.assert_visible("the new job is next", || {
        server.job(&customer, &job)["queue_position"] == 1
    });
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(ended["counts"]["done"], 1);
    assert_eq!(ended["charged"], "0.039");
    assert_eq!(
        server
            .native(&customer, "DELETE", &path(&batch))
            .expect(200)
            .json(),
        ended
    );
    server.assert_settled();
    server.assert_money(&customer, "99.827", "0.00", "99.827");
}

#[test]
fn a_batch_that_has_ended_by_itself_cannot_be_canceled() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let batch = server.submit(&customer, &[entry()]);
    server.batch_ended(&customer, &batch);
    server
        .native(&customer, "DELETE", &path(&batch))
        .refused(409, "conflict");
    server.assert_settled();
}

#[test]
fn a_batch_of_another_account_is_404() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[entry()]);
    let stranger = server.customer("1.00");
    let unknown = json!({"batch_id": uuid::Uuid::now_v7().to_string()});
    for batch in [&batch, &unknown, &json!({"batch_id": "x"})] {
        for (method, tail) in [
            ("GET", ""),
            ("GET", "/results"),
            ("GET", "?wait=9"),
            ("DELETE", ""),
        ] {
            let call = server.native(&stranger, method, &format!("{}{tail}", path(batch)));
            call.refused(404, "not_found");
        }
    }
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(ended["counts"]["done"], 1);
    server.assert_settled();
}

#[test]
fn input_images_are_fetched_when_the_job_is_dequeued() {
    let images = Origin::start([("/wide.png", origin::bytes(png(160, 90)))]);
    let server = Server::with(Options::new().allow_loopback());
    server.pause(&[]);
    let customer = server.customer("1.00");
    let with = |urls: Value| {
        entry_with(json!({"model": "quality", "aspect_ratio": "auto", "input_images_urls": urls}))
    };
    let unreachable = "http://127.0.0.1:1/x.png";
    let batch = server.submit(
        &customer,
        &[
            with(json!([images.url("/wide.png")])),
            with(json!([images.url("/wide.png"), unreachable])),
        ],
    );
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(
        (&ended["counts"]["done"], &ended["counts"]["failed"]),
        (&json!(1), &json!(1))
    );
    // The failed entry carries the text of the 422 and is not charged.
    let single = json!({"prompt": "x", "aspect_ratio": "1:1", "input_images_urls": [images.url("/wide.png"), unreachable]});
    let refused = server
        .generation(&customer, "/nb2/url-generations", &single)
        .invalid(&["input_images_urls[1]"]);
    let fault = refused.json()["errors"][0].clone();
    let wanted = format!(
        "{} {}",
        fault["field"].as_str().unwrap(),
        fault["message"].as_str().unwrap()
    );
    let results = server.results(&customer, &batch);
    assert_eq!(results[1]["error"], wanted);
    let id = batch["batch_id"].as_str().unwrap();
    let jobs = server
        .native(
            &customer,
            "GET",
            &format!("/jobs?batch_id={id}&status=done"),
        )
        .expect(200)
        .json();
    assert_eq!(jobs["data"][0]["aspect_ratio"], "16:9");
    assert_eq!(jobs["data"][0]["mode"], "image-to-image");
    server.assert_settled();
    server.assert_money(&customer, "0.933", "0.00", "0.933");
}

#[test]
fn the_call_does_not_wait_for_input_images() {
    let (server, customer) = one_slot();
    // Nothing listens on the port, and the service fetches nothing until the first job has ended.
    let deferred = entry_with(json!({"input_images_urls": ["http://127.0.0.1:1/x.png"]}));
    let batch = server.submit(&customer, &[entry(), deferred]);
    assert_eq!(batch["counts"]["failed"], 0);
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(
        (&ended["counts"]["done"], &ended["counts"]["failed"]),
        (&json!(1), &json!(1))
    );
    server.assert_settled();
}

#[test]
fn a_batch_resumes_after_a_restart_with_exact_counts() {
    let options = Options::new().on_disk().slots(1);
    let server = Server::with(options);
    server.generator.hold();
    let customer = server.customer("100.00");
    let requests: Vec<Value> = (0..20).map(|at| named(&format!("n{at}"))).collect();
    let batch = server.submit(&customer, &requests);
    for _ in 0..5 {
        server.generator.release_one();
    }
    until("five are done", || {
        server.batch(&customer, &batch)["counts"]["done"] == 5
    });
    let server = server.restart();
    let restarted = server.batch(&customer, &batch);
    assert_eq!(restarted["counts"]["done"], 5);
    assert_eq!(restarted["charged"], "0.195");
    server.generator.release_all();
    let ended = server.batch_ended(&customer, &batch);
    assert_eq!(
        ended["counts"],
        json!({"total": 20, "queued": 0, "processing": 0, "done": 20, "failed": 0})
    );
    assert_eq!(ended["charged"], "0.78");
    let ids: Vec<Value> = server
        .results(&customer, &batch)
        .iter()
        .map(|it| it["custom_id"].clone())
        .collect();
    assert_eq!(
        ids,
        (0..20)
            .map(|at| json!(format!("n{at}")))
            .collect::<Vec<_>>()
    );
    server.assert_settled();
    server.assert_money(&customer, "99.22", "0.00", "99.22");
}

#[test]
fn the_operator_sees_the_batches_of_an_account_and_their_jobs() {
    let (server, customer) = one_slot();
    let batch = server.submit(&customer, &[named("a"), named("b")]);
    server.create(&customer);
    let list = server.admin("GET", &format!("/accounts/{}/batches", customer.account));
    let list = list.expect(200).json();
    assert_eq!(list["data"][0]["batch_id"], batch["batch_id"]);
    assert_eq!(list["next_cursor"], Value::Null);
    server
        .admin(
            "GET",
            &format!("/accounts/{}/batches", uuid::Uuid::now_v7()),
        )
        .refused(404, "not_found");
    let id = batch["batch_id"].as_str().unwrap();
    for query in [
        format!("batch_id={id}"),
        format!("batch_id={id}&account_id={}", customer.account),
    ] {
        let jobs = server
            .admin("GET", &format!("/jobs?{query}"))
            .expect(200)
            .json();
        let jobs = jobs["data"].as_array().unwrap().clone();
        let ids: Vec<&Value> = jobs.iter().map(|it| &it["custom_id"]).collect();
        assert_eq!(ids, ["b", "a"]);
        assert!(
            jobs.iter()
                .all(|it| it["batch_id"] == id && it["origin"] == "batch")
        );
    }
    let stranger = server.customer("1.00");
    let none = server.admin(
        "GET",
        &format!("/jobs?batch_id={id}&account_id={}", stranger.account),
    );
    assert_eq!(none.expect(200).json()["data"], json!([]));
    server
        .admin("GET", "/jobs?batch_id=x")
        .invalid(&["batch_id"]);
    server.generator.release_all();
    server.assert_settled();
}
