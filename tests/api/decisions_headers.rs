//! Decisions 1, "Every answer": request ids, and the headers of jobs.

use crate::support::http::Request;
use crate::support::{Server, fox};

#[test]
fn every_answer_has_a_request_id() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    let done = server.job_once(&customer, &job, "done");
    let url = done["result"]["image_url"].as_str().unwrap().to_owned();
    let file = url.split_once(&server.address.to_string()).unwrap().1;
    let mut calls: Vec<Request> = vec![
        server.generation(&customer, "/text-generations", &fox()),
        server
            .native(&customer, "POST", "/text-generations")
            .text("{"),
        server.native(&customer, "GET", &format!("/jobs/{job}")),
        server.native(&customer, "GET", "/balance"),
        server.native(&customer, "PUT", "/balance"),
        server.native(&customer, "GET", "/nothing"),
        server.admin("GET", "/accounts"),
        server.admin("GET", "/nothing"),
        server.admin("DELETE", &format!("/keys/{}", customer.key_id)),
    ];
    for path in [
        "/healthz",
        "/readyz",
        "/",
        "/api/v1/balance",
        file,
        "/files/x",
    ] {
        calls.push(server.get(path));
    }
    for call in &calls {
        let first = call.send().header("x-request-id").unwrap().to_owned();
        assert_eq!(first.len(), 36);
        assert_ne!(call.send().header("x-request-id"), Some(first.as_str()));
    }
    let call = server
        .call("HEAD", "/healthz")
        .header("X-Request-Id", "abc");
    assert_eq!(call.expect(200).header("x-request-id"), Some("abc"));
}

#[test]
fn a_valid_request_id_of_the_caller_is_returned() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |id: &str| {
        let bare = server.native(&customer, "GET", "/nothing");
        let answer = bare.header("X-Request-Id", id).refused(404, "not_found");
        answer.header("x-request-id").unwrap().to_owned()
    };
    for good in ["a", "A-Z_0.9", "req-01J9.x_y", &"x".repeat(128)] {
        assert_eq!(call(good), good);
    }
    for bad in ["", "a b", "a/b", "é", "{}", "a\"b", "a,b", &"x".repeat(129)] {
        let made = call(bad);
        assert!(made != bad && made.len() == 36, "{bad:?} gave {made}");
    }
}

#[test]
fn a_creation_returns_location_and_retry_after() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let answer = server
        .generation(&customer, "/text-generations", &fox())
        .expect(202);
    let location = format!("http://{}/api/v1/jobs/{}", server.address, answer.job_id());
    assert_eq!(answer.header("location"), Some(location.as_str()));
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn the_location_begins_with_the_configured_public_url() {
    let options =
        crate::support::Options::new().set("server.public_url", "https://pictures.example/tt/");
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let answer = server
        .generation(&customer, "/text-generations", &fox())
        .expect(202);
    let job = answer.job_id();
    let location = format!("https://pictures.example/tt/api/v1/jobs/{job}");
    assert_eq!(answer.header("location"), Some(location.as_str()));
    assert_eq!(answer.json()["status_url"], format!("/api/v1/jobs/{job}"));
    let done = server.job_once(&customer, &job, "done");
    let url = done["result"]["image_url"].as_str().unwrap();
    let key = server.result_key(&job);
    let begin = format!("https://pictures.example/tt/files/{key}?");
    assert!(url.starts_with(&begin), "{url}");
}

#[test]
fn responses_about_jobs_and_balances_must_not_be_cached() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let job = server.create(&customer);
    for path in [
        format!("/jobs/{job}"),
        "/balance".into(),
        "/jobs/none".into(),
    ] {
        let answer = server.native(&customer, "GET", &path).send();
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    server.assert_settled();
}
