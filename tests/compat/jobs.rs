//! A synchronous request creates an ordinary job, but without a webhook.

use crate::fixture::{ResponseAssertions, fox};
use crate::support::{Server, until};
use serde_json::json;
use tintype_storage::engine::Wait as _;

#[test]
fn the_job_of_a_call_is_visible_on_the_native_interface() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let call = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    server.assert_money(&customer, "1.00", "0.039", "0.961");
    server.generator.release_all();
    let answer = call.join().unwrap().json();
    let job = server.job(&customer, answer["responseId"].as_str().unwrap());
    assert_eq!(job["status"], "done");
    assert!(job["result"]["image_url"].is_string());
    let stranger = server.customer("1.00");
    let path = format!("/jobs/{}", answer["responseId"].as_str().unwrap());
    server
        .native(&stranger, "GET", &path)
        .refused(404, "not_found");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn a_synchronous_call_sends_no_webhook() {
    let server = Server::with(crate::support::Options::new().allow_loopback());
    let customer = server.customer("1.00");
    let path = format!("/accounts/{}/webhooks", customer.account);
    let webhook = json!({"url": "https://example.com/tintype"});
    server.admin("POST", &path).json(&webhook).expect(201);
    server.gemini(&customer, "fast", &fox()).expect(200);
    let listed = format!("/deliveries?account_id={}", customer.account);
    let deliveries = server.admin("GET", &listed).expect(200).json();
    assert_eq!(deliveries["data"], json!([]));
}

#[test]
fn a_job_that_the_native_interface_cancels_ends_the_call() {
    let server = Server::with(crate::support::Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let first = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_running(1);
    let second = server.in_background(server.gemini(&customer, "fast", &fox()));
    server.until_live(2);
    let mut waiting = None;
    until("the second job is found", || {
        let store = &server.inside().store;
        store
            .each_live_job(|job| {
                if job.state.as_str() == "queued" {
                    waiting = Some(job.id.to_string());
                }
                Ok(())
            })
            .wait()
            .unwrap();
        waiting.is_some()
    });
    let path = format!("/jobs/{}", waiting.unwrap());
    server.native(&customer, "DELETE", &path).expect(200);
    let answer = second.join().unwrap();
    answer.assert_google_error(499, "CANCELLED");
    server.generator.release_all();
    first.join().unwrap().image();
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn many_concurrent_callers_each_get_their_result() {
    let server = Server::start();
    let customer = server.customer("10.00");
    server.generator.hold();
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let body = crate::fixture::asking(&format!("fox {number}"));
            server.in_background(server.gemini(&customer, "fast", &body))
        })
        .collect();
    server.until_running(50);
    server.generator.release_all();
    let mut jobs: Vec<String> = calls
        .into_iter()
        .map(|call| {
            let answer = call.join().unwrap();
            answer.image();
            answer.json()["responseId"].as_str().unwrap().to_owned()
        })
        .collect();
    jobs.sort();
    jobs.dedup();
    assert_eq!(jobs.len(), 50);
    server.assert_money(&customer, "8.05", "0.00", "8.05");
    server.assert_settled();
}
