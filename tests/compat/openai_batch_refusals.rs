//! Invalid files, refused requests and repeated requests.

use crate::file_batches::{fox, ids, line, lines};
use crate::fixture::ResponseAssertions;
use crate::support::nodes::two_nodes;
use crate::support::{Options, Server};
use serde_json::{Value, json};
use std::collections::HashSet;

const INVALID: &str = "invalid_request_error";

#[test]
fn every_faulty_line_is_named_and_nothing_is_charged() {
    let server = Server::start();
    let customer = server.customer_with("1.00", json!({"models": ["fast"]}));
    let asking = |extra: Value| {
        let mut body = json!({"prompt": "a fox"});
        crate::support::merge(&mut body, extra);
        line(&format!("{body}"), body).to_string()
    };
    let with = |name: &str, value: Value| {
        let mut line = fox("x");
        line[name] = value;
        line.to_string()
    };
    let rows = [
        (fox("good").to_string(), None),
        ("{".into(), Some(("invalid_json_line", None))),
        ("[]".into(), Some(("invalid_json_line", None))),
        (String::new(), None),
        (
            "{}".into(),
            Some(("missing_required_parameter", Some("custom_id"))),
        ),
        (
            with("custom_id", json!(7)),
            Some(("invalid_value", Some("custom_id"))),
        ),
        (
            with("custom_id", json!("x".repeat(65))),
            Some(("invalid_value", Some("custom_id"))),
        ),
        (
            with("method", json!("GET")),
            Some(("invalid_method", Some("method"))),
        ),
        (
            with("url", json!("/v1/responses")),
            Some(("url_mismatch", Some("url"))),
        ),
        (
            with("body", Value::Null),
            Some(("missing_required_parameter", Some("body"))),
        ),
        (
            with("body", json!([])),
            Some(("invalid_value", Some("body"))),
        ),
        (
            fox("good").to_string(),
            Some(("duplicate_custom_id", Some("custom_id"))),
        ),
        (
            asking(json!({"prompt": ""})),
            Some(("invalid_value", Some("body.prompt"))),
        ),
        (
            asking(json!({"model": "no"})),
            Some(("model_not_found", Some("body.model"))),
        ),
        (
            asking(json!({"model": "pro"})),
            Some(("model_not_allowed", None)),
        ),
        (
            asking(json!({"n": 2})),
            Some(("invalid_value", Some("body.n"))),
        ),
        (
            asking(json!({"size": "big"})),
            Some(("invalid_value", Some("body.size"))),
        ),
        (
            asking(json!({"image": "data:"})),
            Some(("invalid_value", Some("body.image"))),
        ),
        (
            asking(json!({"stream": true})),
            Some(("invalid_value", Some("body.stream"))),
        ),
        (
            asking(json!({"response_format": "url"})),
            Some(("invalid_value", Some("body.response_format"))),
        ),
    ];
    let content: Vec<&str> = rows.iter().map(|(line, _)| line.as_str()).collect();
    let file = server.upload(&customer, &content.join("\n"));
    let metadata = json!({"a": "b"});
    let call = server.file_batch_call(&customer, &file, json!({"metadata": metadata}));
    let batch = call.expect(200).json();
    assert_eq!(batch["status"], "failed");
    assert_eq!(batch["failed_at"], batch["created_at"]);
    assert_eq!(batch["in_progress_at"], Value::Null);
    assert_eq!(batch["metadata"], metadata);
    assert_eq!(
        batch["request_counts"],
        json!({"total": 0, "completed": 0, "failed": 0})
    );
    assert_eq!(batch["errors"]["object"], "list");
    let told = batch["errors"]["data"].as_array().unwrap();
    let mut told = told.iter();
    for (number, (_, fault)) in rows.iter().enumerate() {
        let Some((code, param)) = fault else { continue };
        let entry = told.next().expect("a fault");
        assert_eq!(entry["line"], number + 1, "{entry}");
        assert_eq!(entry["code"], *code, "{entry}");
        assert_eq!(entry["param"], json!(param), "{entry}");
        assert!(!entry["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(told.next(), None);
    assert_eq!(server.file_batch(&customer, &batch), batch);
    assert_eq!(
        ids(&server.v1(&customer, "GET", "/batches").expect(200)).len(),
        1
    );
    let path = format!("/batches/{}/cancel", batch["id"].as_str().unwrap());
    let answer = server.v1(&customer, "POST", &path).send();
    answer.assert_openai_error(409, INVALID, None);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}

#[test]
fn empty_files_and_files_with_too_many_requests_fail_as_a_whole() {
    let server = Server::with(Options::new().set("batches.max_requests", 2));
    let customer = server.customer("1.00");
    let fault = |content: &str| {
        let file = server.upload(&customer, content);
        let batch = server
            .file_batch_call(&customer, &file, json!({}))
            .expect(200)
            .json();
        assert_eq!(batch["status"], "failed");
        let faults = batch["errors"]["data"].as_array().unwrap().clone();
        let [fault] = faults.as_slice() else {
            panic!("{faults:?}")
        };
        assert_eq!(fault["line"], Value::Null);
        fault["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(fault(""), "empty_file");
    assert_eq!(fault("\n \r\n"), "empty_file");
    let three = [fox("a"), fox("b"), fox("c")];
    assert_eq!(fault(&lines(&three)), "too_many_tasks");
    server.generator.hold();
    let batch = server.submit_file(&customer, &three[..2]);
    assert_eq!(batch["status"], "in_progress");
}

#[test]
fn a_line_has_as_many_bytes_as_the_body_of_a_single_request() {
    let server = Server::with(Options::new().set("server.max_body_bytes", 2_048));
    let customer = server.customer("1.00");
    let fox = fox("a").to_string();
    let content =
        |bytes: usize| fox.replacen('{', &format!("{{{}", " ".repeat(bytes - fox.len())), 1);
    let submit = |content: &str| {
        let file = server.upload(&customer, content);
        let call = server.file_batch_call(&customer, &file, json!({}));
        call.expect(200).json()
    };
    server.generator.hold();
    assert_eq!(submit(&content(2_048))["status"], "in_progress");
    server.generator.release_all();
    let failed = submit(&format!("\n{}", content(2_049)));
    let expected = json!([{
        "code": "invalid_value", "line": 2, "param": null,
        "message": "This line has 2049 bytes, and may have 2048.",
    }]);
    assert_eq!(failed["errors"]["data"], expected);
    server.assert_settled();
}

/// The record has at most 16 KiB for any file.
#[test]
fn faults_are_listed_up_to_the_size_of_the_record() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let word = "\u{1f98a}".repeat(500);
    let size = json!({"prompt": "x", "size": "big"});
    let many: Vec<Value> = (0..10_000)
        .map(|it| line(&it.to_string(), size.clone()))
        .collect();
    let pairs = (0..16).map(|it| (format!("{it:064}"), json!("v".repeat(512))));
    let metadata = Value::Object(pairs.collect());
    for content in [
        lines(&many),
        format!("{{\"{word}\": {word}}}\n").repeat(100),
    ] {
        let file = server.upload(&customer, &content);
        let call = server.file_batch_call(&customer, &file, json!({"metadata": metadata}));
        let batch = call.expect(200).json();
        let faults = batch["errors"]["data"].as_array().unwrap().len();
        assert!((3..200).contains(&faults), "{faults}");
        assert_eq!(batch["metadata"], metadata);
    }
    server.assert_settled();
}

#[test]
fn invalid_bodies_are_rejected() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let refused = |extra: Value, field: &str| {
        let answer = server.file_batch_call(&customer, &file, extra).send();
        answer.assert_openai_field(field);
    };
    refused(json!({"endpoint": "/v1/responses"}), "endpoint");
    refused(json!({"endpoint": "/v1/images/variations"}), "endpoint");
    refused(json!({"endpoint": null}), "endpoint");
    refused(json!({"completion_window": "1h"}), "completion_window");
    refused(json!({"input_file_id": 7}), "input_file_id");
    refused(json!({"metadata": []}), "metadata");
    refused(json!({"metadata": {"a": 1}}), "metadata");
    refused(json!({"metadata": {"a": "b".repeat(513)}}), "metadata");
    refused(json!({"metadata": {"a".repeat(65): ""}}), "metadata");
    let many: serde_json::Map<_, _> = (0..17).map(|it| (it.to_string(), json!(""))).collect();
    refused(json!({ "metadata": many }), "metadata");
    let foxes = "\u{1f98a}".repeat(512);
    let wide: serde_json::Map<_, _> = (0..6).map(|it| (it.to_string(), json!(foxes))).collect();
    refused(json!({ "metadata": wide }), "metadata");
    refused(json!({"output_expires_after": 7}), "output_expires_after");
    let no_anchor = json!({"output_expires_after": {"seconds": 3_600}});
    refused(no_anchor, "output_expires_after[anchor]");
    let short = json!({"output_expires_after": {"anchor": "created_at", "seconds": 1}});
    refused(short, "output_expires_after[seconds]");
    let unknown = json!({"input_file_id": "file-unknown"});
    let answer = server.file_batch_call(&customer, &file, unknown).send();
    answer.assert_openai_error(404, INVALID, None);
    assert_eq!(answer.json()["error"]["param"], "input_file_id");
    assert!(ids(&server.v1(&customer, "GET", "/batches").expect(200)).is_empty());
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn missing_funds_and_a_pause_are_errors_of_the_call() {
    let server = Server::start();
    let poor = server.customer("0.05");
    let file = server.upload(&poor, &lines(&[fox("a"), fox("b")]));
    let answer = server.file_batch_call(&poor, &file, json!({})).send();
    answer.assert_openai_error(429, "insufficient_quota", Some("insufficient_quota"));
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    server.pause(&["fast"]);
    let answer = server.file_batch_call(&poor, &file, json!({})).send();
    answer.assert_openai_error(503, "server_error", Some("unavailable"));
    assert!(ids(&server.v1(&poor, "GET", "/batches").expect(200)).is_empty());
    server.assert_money(&poor, "0.05", "0.00", "0.05");
}

#[test]
fn a_call_that_is_repeated_makes_one_batch() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let call = server
        .file_batch_call(&customer, &file, json!({}))
        .idempotent("k");
    let first = call.expect(200);
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = call.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["id"], first.json()["id"]);
    let other = server.file_batch_call(&customer, &file, json!({"metadata": {"a": "b"}}));
    let other = other.idempotent("k").send();
    let said = other.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
    assert!(said.contains("Idempotency-Key"), "{said}");
    let native = json!({"requests": [{"custom_id": "a", "model": "fast", "prompt": "a red fox in the snow", "aspect_ratio": "1:1"}]});
    let native = server.batch_call(&customer, &native).idempotent("k");
    native.refused(422, "idempotency_key_reused");
    server.file_batch_once(&customer, &first.json(), "completed");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn a_repeated_call_for_an_invalid_file_finds_its_failed_batch() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, "no JSON");
    let call = |file: &Value, extra: Value| {
        let call = server.file_batch_call(&customer, file, extra);
        call.idempotent("k")
    };
    let first = call(&file, json!({})).expect(200);
    assert_eq!(first.header("idempotent-replayed"), None);
    assert_eq!(first.json()["status"], "failed");
    let again = call(&file, json!({})).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), first.json());
    let valid = server.upload(&customer, &lines(&[fox("a")]));
    for other in [
        call(&file, json!({"metadata": {"a": "b"}})),
        call(&valid, json!({})),
    ] {
        let message =
            other
                .send()
                .assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
        assert!(message.contains("Idempotency-Key"), "{message}");
    }
    let batches = server.v1(&customer, "GET", "/batches").expect(200);
    assert_eq!(ids(&batches).len(), 1);
    server.assert_money(&customer, "1.00", "0.00", "1.00");
    server.assert_settled();
}

/// The SDKs send no idempotency key, but a header with the number of retries.
#[test]
fn a_call_that_an_sdk_repeats_by_itself_makes_one_batch() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let call = |count: &str, extra: Value| {
        let call = server.file_batch_call(&customer, &file, extra);
        call.header("x-stainless-retry-count", count)
            .expect(200)
            .json()
    };
    let first = call("0", json!({}));
    assert_eq!(call("1", json!({}))["id"], first["id"]);
    assert_eq!(call("2", json!({}))["id"], first["id"]);
    assert_ne!(
        call("1", json!({"metadata": {"a": "b"}}))["id"],
        first["id"]
    );
    let second = call("0", json!({}));
    assert_ne!(second["id"], first["id"], "a further call of the program");
    assert_eq!(call("1", json!({}))["id"], second["id"]);
    server.clock.advance(std::time::Duration::from_secs(901));
    assert_ne!(
        call("1", json!({}))["id"],
        second["id"],
        "no answer is waited for so long"
    );
    assert_eq!(
        ids(&server.v1(&customer, "GET", "/batches").expect(200)).len(),
        4
    );
}

#[test]
fn a_repeated_call_finds_its_batch_after_the_file_was_deleted() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let call = |extra: Value| {
        let call = server.file_batch_call(&customer, &file, extra);
        call.idempotent("k")
    };
    let first = call(json!({})).expect(200).json();
    let path = format!("/files/{}", file["id"].as_str().expect("an id"));
    server.v1(&customer, "DELETE", &path).expect(200);
    let again = call(json!({})).expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json()["id"], first["id"]);
    let other = call(json!({"metadata": {"a": "b"}})).send();
    let message = other.assert_openai_error(400, INVALID, Some("idempotency_key_reused"));
    assert!(message.contains("Idempotency-Key"), "{message}");
    let without_key = server.file_batch_call(&customer, &file, json!({}));
    without_key.expect(404);
    server.file_batch_once(&customer, &first, "completed");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn an_automatic_retry_finds_its_batch_behind_many_others() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let call = |file: &Value, count: &str| {
        let call = server.file_batch_call(&customer, file, json!({}));
        call.header("x-stainless-retry-count", count)
            .expect(200)
            .json()
    };
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let first = call(&file, "0");
    let invalid = server.upload(&customer, "{");
    (0..120).for_each(|_| drop(call(&invalid, "0")));
    assert_eq!(call(&file, "1")["id"], first["id"]);
    server.file_batch_once(&customer, &first, "completed");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
}

#[test]
fn an_automatic_retry_of_a_refused_call_makes_the_batch_that_the_call_asked_for() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let call = |count: &str| {
        let call = server.file_batch_call(&customer, &file, json!({}));
        call.header("x-stainless-retry-count", count)
    };
    let first = call("0").expect(200).json();
    server.pause(&["fast"]);
    call("0").expect(503);
    server.pause(&[]);
    server.clock.advance(std::time::Duration::from_secs(1));
    let second = call("1").expect(200).json();
    assert_ne!(second["id"], first["id"], "the refused call made none");
    let again = call("2").expect(200).json();
    assert_eq!(again["id"], second["id"], "its answer was lost");
    for batch in [&first, &second] {
        server.file_batch_once(&customer, batch, "completed");
    }
    server.assert_money(&customer, "0.922", "0.00", "0.922");
}

/// The SDKs repeat a request after a timeout while the server still handles it.
#[test]
fn a_call_that_an_sdk_repeats_while_it_runs_makes_one_batch() {
    repeat_while_it_runs(&[&Server::start()]);
}

#[test]
fn a_call_that_an_sdk_repeats_at_another_node_makes_one_batch() {
    repeat_while_it_runs(&two_nodes(Options::new()).each_ref());
}

fn repeat_while_it_runs(nodes: &[&Server]) {
    let customer = nodes[0].customer("9.00");
    let requests: Vec<Value> = (0..50).map(|at| fox(&at.to_string())).collect();
    let file = nodes[0].upload(&customer, &lines(&requests));
    let ids: HashSet<String> = std::thread::scope(|scope| {
        let call = |at: usize| {
            let node = nodes[at % nodes.len()];
            let call = node.file_batch_call(&customer, &file, json!({}));
            let answer = call.header("x-stainless-retry-count", "1").expect(200);
            answer.json()["id"].as_str().expect("an id").to_owned()
        };
        let calls: Vec<_> = (0..8).map(|at| scope.spawn(move || call(at))).collect();
        let made = calls.into_iter().map(|it| it.join().expect("a batch"));
        made.collect()
    });
    assert_eq!(ids.len(), 1, "{ids:?}");
}

#[test]
fn lists_continue_after_the_last_batch_and_omit_native_batches() {
    let server = Server::start();
    let customer = server.customer("9.00");
    let native = server.submit(&customer, &[crate::support::batches::entry()]);
    let batches: Vec<String> = (0..3)
        .map(|_| {
            server.submit_file(&customer, &[fox("a")])["id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .rev()
        .collect();
    let list = |query: &str| {
        server
            .v1(&customer, "GET", &format!("/batches{query}"))
            .expect(200)
    };
    let newest_first: Vec<String> = ids(&list(""));
    assert_eq!(newest_first.len(), 3);
    assert!(batches.iter().all(|it| newest_first.contains(it)));
    let first = list("?limit=2");
    assert_eq!(ids(&first), newest_first[..2]);
    assert_eq!(first.json()["has_more"], true);
    let rest = list(&format!("?limit=2&after={}", newest_first[1]));
    assert_eq!(ids(&rest), newest_first[2..]);
    assert_eq!(rest.json()["has_more"], false);
    for bad in ["?limit=0", "?limit=101"] {
        let answer = server
            .v1(&customer, "GET", &format!("/batches{bad}"))
            .send();
        answer.assert_openai_field("limit");
    }
    let answer = server.v1(&customer, "GET", "/batches?after=x").send();
    answer.assert_openai_error(404, INVALID, None);
    assert_eq!(answer.json()["error"]["param"], "after");
    let path = format!("/batches/batch_{}", native["batch_id"].as_str().unwrap());
    let answer = server.v1(&customer, "GET", &path).send();
    answer.assert_openai_error(404, INVALID, None);
    // The native API lists file batches, under the same id.
    let id = newest_first[0].strip_prefix("batch_").unwrap();
    let seen = server
        .native(&customer, "GET", &format!("/batches/{id}"))
        .expect(200);
    assert_eq!(seen.json()["counts"]["total"], 1);
}
