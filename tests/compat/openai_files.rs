//! `/v1/files`: files of requests, and files of results.

use crate::file_batches::{fox, ids, lines, upload_form};
use crate::fixture::ResponseAssertions;
use crate::support::clock::age;
use crate::support::{Options, Server, Wire, until};
use serde_json::{Value, json};
use std::time::Duration;
use tintype::server::orphaned_objects;
use tintype::server::sweeps::{SweepLimits, Sweeps};
use tintype_storage::domain::ids::AccountId;
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::tables::UPLOADED_FILES;
use uuid::Uuid;

const INVALID: &str = "invalid_request_error";

fn block_on<T>(work: impl Future<Output = T>) -> T {
    actix_web::rt::System::new().block_on(work)
}

fn uploads(server: &Server) -> usize {
    let left = server.objects_left();
    left.iter().filter(|it| it.starts_with("uploads")).count()
}

#[test]
fn a_file_is_stored_unchanged_until_it_is_deleted() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let content = "any \u{1f98a} text\r\nand no newline";
    let file = server.upload(&customer, content);
    let id = file["id"].as_str().unwrap();
    assert!(id.starts_with("file-"), "{file}");
    let now = server.clock.seconds();
    let expected = json!({
        "id": id, "object": "file", "bytes": content.len(), "created_at": now,
        "expires_at": now + 30 * 86_400, "filename": "batch.jsonl", "purpose": "batch",
        "status": "processed", "status_details": null,
    });
    assert_eq!(file, expected);
    let path = format!("/files/{id}");
    let shown = server.v1(&customer, "GET", &path).expect(200);
    assert_eq!(shown.json(), file);
    let answer = server.content_call(&customer, &file["id"]).expect(200);
    assert_eq!(answer.text(), content);
    assert_eq!(
        answer.header("content-length"),
        Some(&*content.len().to_string())
    );
    let deleted = server.v1(&customer, "DELETE", &path).expect(200).json();
    assert_eq!(
        deleted,
        json!({"id": id, "object": "file", "deleted": true})
    );
    let again = server.v1(&customer, "DELETE", &path).send();
    let said = again.assert_openai_error(404, INVALID, None);
    assert!(said.contains(id), "{said}");
    server.content_call(&customer, &file["id"]).expect(404);
    assert_eq!(uploads(&server), 0);
}

#[test]
fn a_file_of_another_account_is_indistinguishable_from_a_missing_file() {
    let server = Server::start();
    let (customer, stranger) = (server.customer("1.00"), server.customer("1.00"));
    let batch = server.submit_file(&customer, &[fox("a")]);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    let unknown = "00000000-0000-7000-8000-000000000000";
    for (theirs, none) in [
        (&batch["input_file_id"], format!("file-{unknown}")),
        (&batch["output_file_id"], format!("file-output-{unknown}")),
    ] {
        let theirs = theirs.as_str().unwrap();
        for (method, rest) in [("GET", ""), ("DELETE", ""), ("GET", "/content")] {
            let call = |id: &str| {
                let answer = server
                    .v1(&stranger, method, &format!("/files/{id}{rest}"))
                    .send();
                let said = answer.assert_openai_error(404, INVALID, None);
                said.replace(id, "ID")
            };
            assert_eq!(call(theirs), call(&none));
        }
    }
    let id = batch["id"].as_str().unwrap();
    for (method, rest) in [("GET", ""), ("POST", "/cancel")] {
        let call = |id: &str| {
            let answer = server
                .v1(&stranger, method, &format!("/batches/{id}{rest}"))
                .send();
            answer
                .assert_openai_error(404, INVALID, None)
                .replace(id, "ID")
        };
        assert_eq!(call(id), call(&format!("batch_{unknown}")));
    }
    let file = json!({"id": batch["input_file_id"]});
    let answer = server.file_batch_call(&stranger, &file, json!({})).send();
    answer.assert_openai_error(404, INVALID, None);
    assert!(ids(&server.v1(&stranger, "GET", "/files").expect(200)).is_empty());
    assert!(ids(&server.v1(&stranger, "GET", "/batches").expect(200)).is_empty());
}

#[test]
fn invalid_forms_are_rejected() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let refused = |texts: &[(&str, &str)], field: &str| {
        let form = upload_form(texts, "a.jsonl", b"{}");
        let answer = server.upload_call(&customer, &form).send();
        answer.assert_openai_field(field);
    };
    refused(&[], "purpose");
    refused(&[("purpose", "vision")], "purpose");
    refused(&[("purpose", "batch"), ("purpose", "batch")], "purpose");
    let created_at = ("expires_after[anchor]", "created_at");
    let batch = ("purpose", "batch");
    refused(&[batch, created_at], "expires_after[seconds]");
    refused(
        &[batch, created_at, ("expires_after[seconds]", "3599")],
        "expires_after[seconds]",
    );
    refused(
        &[batch, ("expires_after[seconds]", "3600")],
        "expires_after[anchor]",
    );
    let no_file =
        b"--b\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b--\r\n";
    let answer = server.upload_call(&customer, no_file).send();
    answer.assert_openai_field("file");
    let json = server
        .v1(&customer, "POST", "/files")
        .json(&json!({"purpose": "batch"}));
    json.send().assert_openai_error(400, INVALID, None);
    let large = upload_form(&[batch], "a.jsonl", &vec![b' '; (16 << 20) + 1]);
    let answer = server.upload_call(&customer, &large).send();
    let said = answer.assert_openai_field("file");
    assert!(said.contains("16777216"), "{said}");
    let fits = upload_form(&[batch], "a.jsonl", &vec![b' '; 16 << 20]);
    server.upload_call(&customer, &fits).expect(200);
    assert_eq!(uploads(&server), 1);
}

#[test]
fn unknown_paths_and_methods_have_the_error_format_of_openai() {
    let server = Server::start();
    let customer = server.customer("1.00");
    for path in [
        "/files/",
        "/files/a/b",
        "/batches/",
        "/batches/a/b",
        "/batches/a/cancel/c",
    ] {
        let answer = server.v1(&customer, "GET", path).send();
        answer.assert_openai_error(404, INVALID, Some("unknown_url"));
    }
    for (method, path, allow) in [
        ("PUT", "/files", "GET, POST"),
        ("POST", "/files/a", "GET, DELETE"),
        ("DELETE", "/files/a/content", "GET"),
        ("DELETE", "/batches", "GET, POST"),
        ("DELETE", "/batches/a", "GET"),
        ("GET", "/batches/a/cancel", "POST"),
    ] {
        let answer = server.v1(&customer, method, path).send();
        answer.assert_openai_error(405, INVALID, Some("method_not_supported"));
        assert_eq!(answer.header("allow"), Some(allow));
    }
    for path in ["/files", "/batches", "/files/a", "/batches/a"] {
        let answer = server.get(&format!("/v1{path}")).send();
        answer.assert_openai_error(401, INVALID, None);
        let google = server
            .get(&format!("/v1{path}"))
            .header("x-goog-api-key", &customer.key);
        google.send().assert_google_error(404, "NOT_FOUND");
        let google = server.get(&format!("/v1{path}?key={}", customer.key));
        google.send().assert_google_error(404, "NOT_FOUND");
    }
}

#[test]
fn lists_continue_after_the_last_file() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let batch = server.submit_file(&customer, &[fox("a")]);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    // Two nodes may create ids within a millisecond in any order.
    server.clock.advance(Duration::from_secs(1));
    server.upload(&customer, "later");
    let list = |query: &str| {
        ids(&server
            .v1(&customer, "GET", &format!("/files{query}"))
            .expect(200))
    };
    let all = list("");
    assert_eq!(all.len(), 3);
    let text = |name: &str| batch[name].as_str().unwrap();
    assert_eq!(all[1..], [text("output_file_id"), text("input_file_id")]);
    let rising: Vec<String> = all.iter().rev().cloned().collect();
    assert_eq!(list("?order=asc"), rising);
    assert_eq!(list("?purpose=batch_output"), all[1..2]);
    assert_eq!(list("?purpose=batch"), [all[0].clone(), all[2].clone()]);
    assert!(list("?purpose=vision").is_empty());
    for order in ["asc", "desc"] {
        let mut paged = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/files?order={order}&limit=1{after}");
            let answer = server.v1(&customer, "GET", &path).expect(200);
            let page = ids(&answer);
            assert_eq!(page.len(), 1);
            paged.extend(page.clone());
            after = format!("&after={}", page[0]);
            if answer.json()["has_more"] == false {
                break;
            }
        }
        let expected = if order == "asc" { &rising } else { &all };
        assert_eq!(&paged, expected);
    }
    for bad in ["limit=0", "limit=10001", "limit=x", "order=up"] {
        let answer = server.v1(&customer, "GET", &format!("/files?{bad}")).send();
        answer.assert_openai_error(400, INVALID, Some("invalid_value"));
    }
    let answer = server.v1(&customer, "GET", "/files?after=file-x").send();
    answer.assert_openai_error(404, INVALID, None);
}

#[test]
fn the_files_and_bytes_of_an_account_are_limited() {
    let options = Options::new()
        .set("batches.max_files_per_account", 2)
        .set("batches.max_file_bytes_per_account", 10);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let form = |content: &[u8]| upload_form(&[("purpose", "batch")], "a", content);
    let refused = |content: &[u8], word: &str| {
        let answer = server.upload_call(&customer, &form(content)).send();
        let said = answer.assert_openai_error(400, INVALID, None);
        assert!(said.contains(word), "{said}");
    };
    refused(b"12345678901", "11 bytes");
    let first = server.upload(&customer, "12345678");
    refused(b"123", "11 bytes");
    server.upload(&customer, "12");
    refused(b"", "2 files");
    assert_eq!(uploads(&server), 2);
    let other = server.customer("1.00");
    server.upload(&other, "1234567890");
    let path = format!("/files/{}", first["id"].as_str().unwrap());
    server.v1(&customer, "DELETE", &path).expect(200);
    server.upload(&customer, "12345678");
}

#[test]
fn expired_files_do_not_hide_older_ones_from_the_limits() {
    let server = Server::with(Options::new().set("batches.max_files_per_account", 2));
    let customer = server.customer("1.00");
    let texts = [
        ("purpose", "batch"),
        ("expires_after[anchor]", "created_at"),
        ("expires_after[seconds]", "3600"),
    ];
    let form = upload_form(&texts, "a.jsonl", b"x");
    let first = server.upload(&customer, "x");
    for _ in 0..3 {
        server.upload_call(&customer, &form).expect(200);
        server.clock.advance(Duration::from_secs(3_600));
    }
    let second = server.upload(&customer, "x");
    let refused = server.upload_call(&customer, &form).send();
    let said = refused.assert_openai_error(400, INVALID, None);
    assert!(said.contains("2 files"), "{said}");
    let listed = ids(&server.v1(&customer, "GET", "/files?limit=2").expect(200));
    assert_eq!(listed, [&second, &first].map(|it| it["id"].clone()));
}

#[test]
fn a_file_that_is_deleted_before_it_is_read_is_not_found() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let memory = &server.instance().generations.inputs.memory;
    let [one, two, other] = [1, 2, 3].map(|it| AccountId(Uuid::from_u128(it)));
    let reserve = |account, bytes| {
        let memory = memory.of(account, Duration::ZERO);
        block_on(memory.reserve_whole(bytes)).ok()
    };
    let half = memory.free() / 2;
    let held = [reserve(one, half).unwrap(), reserve(two, half - 8).unwrap()];
    assert!(reserve(other, 1).is_some());
    let mut wire = Wire::open(server.address);
    wire.send(&server.file_batch_call(&customer, &file, json!({})).wire());
    // A smaller request does not overtake the one that waits.
    until("the batch waits for memory", || reserve(other, 1).is_none());
    let path = format!("/files/{}", file["id"].as_str().unwrap());
    server.v1(&customer, "DELETE", &path).expect(200);
    drop(held);
    let answer = wire.answer_to("POST").unwrap();
    let said = answer.assert_openai_error(404, INVALID, None);
    assert!(said.contains("No such File object"), "{said}");
    server.assert_money(&customer, "1.00", "0.00", "1.00");
}

#[test]
fn files_do_not_outlive_the_retention_of_jobs() {
    let options = Options::new()
        .set("results.retention_days", 7)
        .set("webhooks.delivery_retention_days", 7)
        .set("jobs.retention_days", 7)
        .set("batches.file_retention_days", 0);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let file = server.upload(&customer, "x");
    assert_eq!(file["expires_at"], server.clock.seconds() + 7 * 86_400);
    // As if it had been uploaded before jobs had a retention.
    let store = &server.inside().store;
    let account = customer.account.parse().unwrap();
    let found = UPLOADED_FILES.page(store, &account, 1, None).wait();
    let mut record = found.unwrap().items.remove(0);
    record.expires_at = None;
    let writes = vec![UPLOADED_FILES.put(&(account, record.id), &record)];
    commit_and_wait(&**store.engine(), writes).unwrap();

    let mut sweeps = Sweeps::new(SweepLimits { step: 1, steps: 9 });
    let mut sweep_after = |days: u64| {
        server.clock.advance(Duration::from_secs(days * 86_400));
        block_on(sweeps.delete_old_files(server.inside(), &server.instance().settings));
        server.content_call(&customer, &file["id"]).send().status
    };
    assert_eq!(sweep_after(7), 200);
    assert_eq!(sweep_after(1), 404);
    server.assert_settled();
}

#[test]
fn files_expire_and_are_deleted_completely() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let texts = [
        ("purpose", "batch"),
        ("expires_after[anchor]", "created_at"),
        ("expires_after[seconds]", "3600"),
    ];
    let form = upload_form(&texts, "a.jsonl", b"x");
    let short = server.upload_call(&customer, &form).expect(200).json();
    assert_eq!(short["expires_at"], server.clock.seconds() + 3_600);
    let long = server.upload(&customer, "y");
    let failed = server
        .file_batch_call(&customer, &long, json!({}))
        .expect(200)
        .json();
    assert_eq!(failed["status"], "failed");
    server.clock.advance(Duration::from_secs(3_600));
    server.content_call(&customer, &short["id"]).expect(404);
    server
        .file_batch_call(&customer, &short, json!({}))
        .expect(404);
    assert_eq!(
        ids(&server.v1(&customer, "GET", "/files").expect(200)).len(),
        1
    );
    for key in server.objects_left() {
        if key.starts_with("uploads") {
            age(&server.objects().join(key), 3);
        }
    }
    server.clock.advance(Duration::from_secs(2 * 86_400));
    let mut sweeps = Sweeps::new(SweepLimits { step: 1, steps: 9 });
    let mut sweep = || {
        block_on(sweeps.delete_old_files(server.inside(), &server.instance().settings));
        block_on(orphaned_objects::remove(
            &server.instance().jobs,
            &orphaned_objects::UPLOADED_FILES,
        ))
        .unwrap()
    };
    assert_eq!(sweep(), 1);
    assert_eq!(uploads(&server), 1);
    assert_eq!(
        server
            .content_call(&customer, &long["id"])
            .expect(200)
            .text(),
        "y"
    );
    server.file_batch(&customer, &failed);
    server.clock.advance(Duration::from_secs(30 * 86_400));
    assert_eq!(sweep(), 1);
    assert_eq!(uploads(&server), 0);
    let path = format!("/batches/{}", failed["id"].as_str().unwrap());
    server.v1(&customer, "GET", &path).expect(404);
    server.assert_settled();
}

#[test]
fn results_are_deleted_without_their_images() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let call = server.file_batch_call(&customer, &file, json!({}));
    let batch = call.expect(200).json();
    let path = |id: &Value| format!("/files/{}", id.as_str().unwrap());
    server
        .v1(&customer, "DELETE", &path(&file["id"]))
        .expect(200);
    let batch = server.file_batch_once(&customer, &batch, "completed");
    assert_eq!(
        batch["input_file_id"], file["id"],
        "what it was made of stays on record"
    );
    let output = batch["output_file_id"].clone();
    assert_eq!(server.result_lines(&customer, &output).len(), 1);
    server.v1(&customer, "DELETE", &path(&output)).expect(200);
    server.content_call(&customer, &output).expect(404);
    assert_eq!(
        server.file_batch(&customer, &batch)["output_file_id"],
        Value::Null
    );
    let left = server.objects_left();
    assert_eq!(
        left.iter().filter(|it| it.starts_with("results")).count(),
        1
    );
    server.assert_settled();
}

#[test]
fn results_expire_with_their_images_or_at_the_time_that_the_caller_requests() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let file = server.upload(&customer, &lines(&[fox("a")]));
    let policy = json!({"anchor": "created_at", "seconds": 7_200});
    let call = server.file_batch_call(&customer, &file, json!({"output_expires_after": policy}));
    let short = server.file_batch_once(&customer, &call.expect(200).json(), "completed");
    let call = server.file_batch_call(&customer, &file, json!({}));
    let long = server.file_batch_once(&customer, &call.expect(200).json(), "completed");
    let expires = |batch: &Value| {
        let path = format!("/files/{}", batch["output_file_id"].as_str().unwrap());
        let shown = server.v1(&customer, "GET", &path).expect(200).json();
        assert_eq!(shown["purpose"], "batch_output");
        shown["expires_at"].as_i64().unwrap() - server.clock.seconds()
    };
    assert_eq!(expires(&short), 7_200);
    assert_eq!(expires(&long), 30 * 86_400);
    server.clock.advance(Duration::from_secs(7_200));
    server
        .content_call(&customer, &short["output_file_id"])
        .expect(404);
    assert_eq!(
        server.file_batch(&customer, &short)["output_file_id"],
        Value::Null
    );
    assert_eq!(
        server
            .result_lines(&customer, &long["output_file_id"])
            .len(),
        1
    );
    server.clock.advance(Duration::from_secs(30 * 86_400));
    server
        .content_call(&customer, &long["output_file_id"])
        .expect(404);
}

/// An interrupted upload leaves nothing.
#[test]
fn an_interrupted_upload_leaves_no_file() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let form = upload_form(&[("purpose", "batch")], "a", &vec![b' '; 1 << 20]);
    let whole = server.upload_call(&customer, &form).wire();
    let mut wire = Wire::open(server.address);
    wire.send(&whole[..whole.len() / 2]);
    let generations = &server.instance().generations;
    let ingest_bytes = generations.settings.config.limits.ingest_bytes;
    let is_free = || generations.inputs.memory.free() == ingest_bytes;
    until("the memory is held", || !is_free());
    wire.reset();
    until("the memory is free", is_free);
    assert_eq!(uploads(&server), 0);
    assert!(ids(&server.v1(&customer, "GET", "/files").expect(200)).is_empty());
}
