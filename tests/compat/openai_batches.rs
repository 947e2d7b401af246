//! `/v1/batches`: submits files of requests, follows the batches and reads their results.

use crate::file_batches::{fox, line, lines};
use crate::fixture::ResponseAssertions;
use crate::support::{Behaviour, Options, Server, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use tintype_storage::testing::stalled::StalledEngine;

const INVALID: &str = "invalid_request_error";

#[test]
fn a_file_becomes_a_batch_whose_results_are_a_file() {
    let server = Server::start();
    let customer = server.customer("1.00");
    server.generator.hold();
    let file = server.upload(&customer, &lines(&[fox("one"), fox("two"), fox("2")]));
    let metadata = json!({"catalogue": "autumn"});
    let call = server.file_batch_call(&customer, &file, json!({"metadata": metadata}));
    let batch = call.expect(200).json();
    assert!(
        batch["id"].as_str().unwrap().starts_with("batch_"),
        "{batch}"
    );
    assert_eq!(batch["object"], "batch");
    assert_eq!(batch["status"], "in_progress");
    assert_eq!(batch["input_file_id"], file["id"]);
    assert_eq!(batch["endpoint"], "/v1/images/generations");
    assert_eq!(batch["completion_window"], "24h");
    assert_eq!(batch["metadata"], metadata);
    assert_eq!(
        batch["request_counts"],
        json!({"total": 3, "completed": 0, "failed": 0})
    );
    assert_eq!(batch["created_at"], server.clock.seconds());
    assert_eq!(batch["in_progress_at"], batch["created_at"]);
    for absent in [
        "errors",
        "output_file_id",
        "error_file_id",
        "completed_at",
        "failed_at",
        "cancelled_at",
        "expires_at",
    ] {
        assert_eq!(batch.get(absent), Some(&Value::Null), "{absent}");
    }
    server.assert_money(&customer, "1.00", "0.117", "0.883");
    server.generator.release_all();
    let batch = server.file_batch_once(&customer, &batch, "completed");
    assert_eq!(
        batch["request_counts"],
        json!({"total": 3, "completed": 3, "failed": 0})
    );
    assert_eq!(batch["completed_at"], server.clock.seconds());
    assert_eq!(batch["error_file_id"], Value::Null);
    let results = server.result_lines(&customer, &batch["output_file_id"]);
    let names: Vec<&str> = results
        .iter()
        .map(|it| it["custom_id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one", "two", "2"]);
    for result in &results {
        assert!(result["id"].as_str().unwrap().starts_with("batch_req_"));
        assert_eq!(result["error"], Value::Null);
        let response = &result["response"];
        assert_eq!(response["status_code"], 200);
        assert!(response["request_id"].is_string());
        let body = &response["body"];
        let image = body["data"][0]["b64_json"].as_str().expect("an image");
        assert!(STANDARD.decode(image).unwrap().starts_with(b"\x89PNG"));
        assert_eq!(body["output_format"], "png");
        assert!(body["usage"]["total_tokens"].as_u64().unwrap() > 0);
    }
    server.assert_money(&customer, "0.883", "0.00", "0.883");
    server.assert_settled();
}

#[test]
fn a_file_may_begin_with_a_byte_order_mark_and_have_windows_line_ends() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let content = format!("\u{feff}{}\r\n\r\n{}", fox("one"), fox("two"));
    let file = server.upload(&customer, &content);
    let call = server.file_batch_call(&customer, &file, json!({}));
    let batch = server.file_batch_once(&customer, &call.expect(200).json(), "completed");
    assert_eq!(batch["request_counts"]["completed"], 2);
    server.assert_settled();
}

#[test]
fn results_contain_urls_if_the_requests_ask_for_them() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let as_url = |name| line(name, json!({"prompt": "a fox", "response_format": "url"}));
    let batch = server.submit_file(&customer, &[as_url("a"), as_url("b")]);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    for result in server.result_lines(&customer, &batch["output_file_id"]) {
        let entry = &result["response"]["body"]["data"][0];
        let url = entry["url"].as_str().expect("a URL");
        assert_eq!(entry.as_object().unwrap().len(), 1);
        let path = &url[url.find("/files/").unwrap()..];
        assert!(server.get(path).expect(200).body.starts_with(b"\x89PNG"));
    }
}

#[test]
fn failures_are_in_a_file_of_their_own() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for behaviour in [Behaviour::Refuse("not that"), Behaviour::NotAsk("not that")] {
        server.generator.behave(behaviour);
        let batch = server.submit_file(&customer, &[fox("a"), fox("b")]);
        let batch = server.file_batch_once(&customer, &batch, "completed");
        assert_eq!(
            batch["request_counts"],
            json!({"total": 2, "completed": 0, "failed": 2})
        );
        assert_eq!(batch["output_file_id"], Value::Null);
        let errors = server.result_lines(&customer, &batch["error_file_id"]);
        assert_eq!(errors.len(), 2);
        for (error, name) in errors.iter().zip(["a", "b"]) {
            assert_eq!(error["custom_id"], name);
            assert_eq!(error["response"]["status_code"], 400);
            let told = &error["response"]["body"]["error"];
            assert_eq!(told["type"], INVALID);
            assert!(
                told["message"].as_str().unwrap().contains("not that"),
                "{told}"
            );
        }
    }
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn a_canceled_batch_retains_its_finished_images() {
    let server = Server::with(Options::new().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let batch = server.submit_file(&customer, &[fox("a"), fox("b"), fox("c")]);
    server.until_running(1);
    let path = format!("/batches/{}/cancel", batch["id"].as_str().unwrap());
    let canceling = server.v1(&customer, "POST", &path).expect(200).json();
    assert_eq!(canceling["status"], "cancelling");
    assert_eq!(canceling["cancelling_at"], server.clock.seconds());
    server.assert_money(&customer, "1.00", "0.039", "0.961");
    server.generator.release_all();
    let batch = server.file_batch_once(&customer, &batch, "cancelled");
    assert_eq!(batch["cancelled_at"], server.clock.seconds());
    assert_eq!(batch["completed_at"], Value::Null);
    assert_eq!(
        batch["request_counts"],
        json!({"total": 3, "completed": 1, "failed": 2})
    );
    assert_eq!(
        server
            .result_lines(&customer, &batch["output_file_id"])
            .len(),
        1
    );
    let errors = server.result_lines(&customer, &batch["error_file_id"]);
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0]["response"], Value::Null);
    assert_eq!(errors[0]["error"]["code"], "batch_cancelled");
    server.v1(&customer, "POST", &path).expect(200);
    let ended = server.submit_file(&customer, &[fox("a")]);
    let ended = server.file_batch_once(&customer, &ended, "completed");
    let path = format!("/batches/{}/cancel", ended["id"].as_str().unwrap());
    let answer = server.v1(&customer, "POST", &path).send();
    answer.assert_openai_error(409, INVALID, None);
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    server.assert_money(&customer, "0.922", "0.00", "0.922");
    until("all is settled", || {
        server.inside().system.queue().live() == 0
    });
    server.assert_settled();
}

#[test]
fn a_batch_resumes_after_a_restart() {
    let server = Server::with(Options::new().on_disk().slots(1));
    let customer = server.customer("1.00");
    server.generator.hold();
    let file = server.upload(&customer, &lines(&[fox("a"), fox("b"), fox("c")]));
    let batch = server
        .file_batch_call(&customer, &file, json!({}))
        .expect(200)
        .json();
    let failed = server.upload(&customer, "no JSON");
    let failed = server
        .file_batch_call(&customer, &failed, json!({}))
        .expect(200)
        .json();
    server.until_running(1);
    server.generator.release_one();
    until("the first is done", || {
        server.file_batch(&customer, &batch)["request_counts"]["completed"] == 1
    });
    let server = server.restart();
    assert_eq!(server.file_batch(&customer, &failed), failed);
    let content = server.content_call(&customer, &file["id"]).expect(200);
    assert_eq!(content.text(), lines(&[fox("a"), fox("b"), fox("c")]));
    server.generator.release_all();
    let batch = server.file_batch_once(&customer, &batch, "completed");
    assert_eq!(
        batch["request_counts"],
        json!({"total": 3, "completed": 3, "failed": 0})
    );
    assert_eq!(
        server
            .result_lines(&customer, &batch["output_file_id"])
            .len(),
        3
    );
    server.assert_money(&customer, "0.883", "0.00", "0.883");
    server.assert_settled();
}

#[test]
fn a_deleted_image_does_not_affect_the_other_results() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let batch = server.submit_file(&customer, &[fox("a"), fox("b"), fox("c")]);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let jobs = format!(
        "/jobs?batch_id={}",
        batch["id"].as_str().unwrap().replace("batch_", "")
    );
    let jobs = server.native(&customer, "GET", &jobs).expect(200).json();
    let gone = jobs["data"][1]["job_id"].as_str().unwrap();
    std::fs::remove_file(server.objects().join(server.result_key(gone))).unwrap();
    let results = server.result_lines(&customer, &batch["output_file_id"]);
    let codes: Vec<&Value> = results
        .iter()
        .map(|it| &it["response"]["status_code"])
        .collect();
    assert_eq!(codes, [200, 404, 200]);
    assert!(results[1]["response"]["body"]["error"]["message"].is_string());
    assert_eq!(results[1]["custom_id"], "b");
}

/// Long prompts are stored separately, and read only to count their tokens.
#[test]
fn prompts_of_any_length_are_batched() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let long = "a fox ".repeat(5_000);
    let batch = server.submit_file(&customer, &[line("a", json!({"prompt": long})), fox("b")]);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let results = server.result_lines(&customer, &batch["output_file_id"]);
    let tokens = |at: usize| results[at]["response"]["body"]["usage"]["input_tokens"].as_u64();
    assert_eq!(tokens(0), Some(7_500));
    assert!(tokens(1) < Some(10));
    let orders = server.generator.orders();
    assert!(orders.iter().any(|it| it.prompt == long));
    assert!(orders.iter().all(|it| it.ratio.to_string() == "1:1"));
}

/// A sweep deletes the same record under this lock.
#[test]
fn results_are_deleted_under_the_lock_of_the_sweeps() {
    let gate = StalledEngine::in_memory();
    let server = Server::with(Options::new().behind(&gate));
    let customer = server.customer("1.00");
    let batch = server.submit_file(&customer, &[fox("a")]);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let path = format!("/files/{}", batch["output_file_id"].as_str().unwrap());
    gate.hold();
    let held = gate.held();
    let call = server.v1(&customer, "DELETE", &path);
    let call = server.in_background(call);
    until("the change is being written", || gate.held() > held);
    let lock = server.inside().locks.content.lock().now_or_never();
    let is_free = lock.is_some();
    drop(lock);
    gate.open();
    assert_eq!(call.join().unwrap().status, 200);
    assert!(!is_free);
}
