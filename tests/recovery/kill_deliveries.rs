//! The process is killed repeatedly during deliveries: every ended job is eventually delivered.

use crate::client::{Client, Connection};
use crate::test_directory::{TestDirectory, until};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tintype_egress::testing::server::{Reply, ScriptedServer};

const ROUNDS: usize = 6;
const JOBS: usize = 15;

/// The receiver's answers for each job.
pub type Log = Arc<Mutex<BTreeMap<String, Vec<u16>>>>;

/// Refuses the first attempt for every other job and accepts everything else. It runs until the process ends.
pub fn receiver() -> (String, Log) {
    let log = Log::default();
    let answers = Arc::clone(&log);
    let server = ScriptedServer::start(move |request| {
        let job = request.json()["job_id"].as_str().expect("a job").to_owned();
        let mut log = answers.lock().expect("log");
        let answers = log.entry(job.clone()).or_default();
        let refuse = answers.is_empty() && job.ends_with(|it: char| "02468ace".contains(it));
        let status = if refuse { 500 } else { 200 };
        answers.push(status);
        Reply::Status(status)
    });
    let url = server.url("/");
    server.detach();
    (url, log)
}

/// Creates jobs and cancels them immediately, so that each has a delivery; some jobs run instead.
fn end_jobs(client: &Client, round: usize) -> Vec<String> {
    let mut connection = Connection::open(&client.address).expect("a connection");
    let one = |number| {
        let name = format!("{round}-{number}");
        let answer = client.create_small(&mut connection, &name);
        let id = answer.expect("an answer").accepted();
        let path = format!("/api/v1/jobs/{id}");
        let status = client.call("DELETE", &path, None).status;
        assert!([200, 409].contains(&status), "cancel: {status}");
        id
    };
    (0..JOBS).map(one).collect()
}

#[test]
fn hostile_089_every_delivery_survives_every_kill() {
    let place = TestDirectory::with(&[
        ("FIRST_RUN__BALANCE", "\"10000.00\""),
        ("JOBS__MAX_RUNS", "100"),
        ("BACKENDS__BUILTIN__CONCURRENCY", "1"),
        ("EGRESS__ALLOW", "[\"127.0.0.0/8\"]"),
        ("WEBHOOKS__RETRY_DELAYS_SECONDS", "[1, 1, 1, 1, 1, 1]"),
    ]);
    let (url, log) = receiver();
    let attempts = || {
        log.lock()
            .expect("log")
            .values()
            .map(Vec::len)
            .sum::<usize>()
    };
    let mut owed = BTreeSet::new();
    let mut key = None;
    for round in 0..ROUNDS {
        let mut service = place.serve();
        key = key.or(service.printed_key());
        let operator = Client::new(&service.address(), &place.token());
        if round == 0 {
            let accounts = operator.get("/admin/v1/accounts").json();
            let account = accounts["data"][0]["account_id"].as_str().expect("an id");
            let path = format!("/admin/v1/accounts/{account}/webhooks");
            let made = operator.call("POST", &path, Some(&json!({ "url": url })));
            assert_eq!(made.status, 201, "{}", made.json());
        }
        let before = attempts();
        let client = service.client(key.as_deref().expect("a key"));
        owed.extend(end_jobs(&client, round));
        until("some deliveries are under way", || {
            (attempts() >= before + 3 * round).then_some(())
        });
        service.kill();
    }
    let service = place.serve();
    until("every job's delivery is taken", || {
        let log = log.lock().expect("log");
        let taken = |job: &String| log.get(job).is_some_and(|it| it.contains(&200));
        owed.iter().all(taken).then_some(())
    });
    let operator = Client::new(&service.address(), &place.token());
    until("and all of that is on record", || {
        let pending = operator.get("/admin/v1/deliveries?status=pending").json();
        pending["data"]
            .as_array()
            .expect("a list")
            .is_empty()
            .then_some(())
    });
    let failed = operator.get("/admin/v1/deliveries?status=failed").json();
    assert_eq!(failed["data"], json!([]));
    service.stop();
    let verified = place.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(
        verified.out.contains(&format!("{} deliveries", owed.len())),
        "{verified:?}"
    );
}
