//! The operator's queue page: the order of the waiting jobs, and the cancellation of many.

use crate::support::{Customer, OneNode, Options, Server, until};
use serde_json::{Value, json};
use std::time::Duration;

/// A service whose only slot is taken, with waiting jobs of two accounts.
fn server_with_waiting_jobs(
    options: Options,
) -> (Server, Customer, Customer, Vec<String>, Vec<String>) {
    let server = Server::with(options.slots(1));
    server.generator.hold();
    let (first, second) = (server.customer("10.00"), server.customer("10.00"));
    let running = server.create(&first);
    server.job_once(&first, &running, "processing");
    let of_first = (0..3).map(|_| server.create(&first)).collect();
    let of_second = (0..2).map(|_| server.create(&second)).collect();
    (server, first, second, of_first, of_second)
}

fn queue(server: &Server, query: &str) -> Value {
    let browser = server.operators_browser();
    let call = browser.call(server, "GET", &format!("/queue{query}"));
    call.expect(200).json()
}

fn ids(found: &Value) -> Vec<(u64, &str)> {
    let data = found["data"].as_array().unwrap();
    let told = |it: &'_ Value| it["queue_position"].as_u64().unwrap();
    data.iter()
        .map(|it| (told(it), it["job_id"].as_str().unwrap()))
        .collect()
}

#[test]
fn jobs_are_listed_in_the_order_in_which_they_begin() {
    let options = Options::new().one_node(OneNode::Estimates);
    let (server, first, _, own, others) = server_with_waiting_jobs(options);
    let found = queue(&server, "");
    let expected = [&own[0], &others[0], &own[1], &others[1], &own[2]];
    let expected: Vec<_> = (1..).zip(expected.map(String::as_str)).collect();
    assert_eq!(ids(&found), expected);
    assert_eq!(found["count"], 5);
    // The first job found an idle backend and still runs, so the pace is unknown.
    assert_eq!(found["data"][0]["estimated_start_at"], Value::Null);
    assert!(found["data"][0]["account_name"].is_string(), "{found}");
    let pro = &found["models"][2];
    assert_eq!([&pro["queued"], &pro["running"]], [5, 1]);
    let of_first = queue(&server, &format!("?account_id={}", first.account));
    assert_eq!(of_first["count"], 3);
    let jobs: Vec<_> = ids(&of_first).into_iter().map(|it| it.1).collect();
    assert_eq!(jobs, own);
    assert_eq!(queue(&server, "?tier=fast")["count"], 0);
    server.generator.release_all();
    server.assert_settled();
}

#[test]
fn many_jobs_are_canceled_at_once_and_later_jobs_remain_queued() {
    let (server, first, _, own, others) = server_with_waiting_jobs(Options::new());
    server.clock.advance(Duration::from_secs(1));
    let late = server.create(&first);
    let before = server.job(&first, &late)["created_at"].clone();
    let browser = server.operators_browser();
    let path = format!(
        "/queue?tier=pro&account_id={}&created_before={}",
        first.account,
        before.as_str().unwrap()
    );
    let canceled = browser.call(&server, "DELETE", &path).expect(200).json();
    assert_eq!(canceled, json!({"canceled": 3, "more": false}));
    for job in &own {
        assert_eq!(server.job(&first, job)["error"], "canceled");
    }
    until("the others have moved up", || {
        let found = queue(&server, "");
        let left = [&others[0], &late, &others[1]].map(String::as_str);
        let found: Vec<_> = ids(&found).into_iter().map(|it| it.1).collect();
        let mut sorted = (found.clone(), left.to_vec());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        sorted.0 == sorted.1
    });
    for (query, field) in [
        ("", "created_before"),
        ("?created_before=yesterday", "created_before"),
        ("?tier=best", "tier"),
        ("?account_id=7", "account_id"),
    ] {
        let path = format!("/queue{query}");
        let call = browser.call(&server, "DELETE", &path);
        call.invalid(&[field]);
    }
    server.generator.release_all();
    server.assert_settled();
}
