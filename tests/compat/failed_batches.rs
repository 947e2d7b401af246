//! Batches whose file is invalid: how long they are kept, and how many.

use crate::file_batches::{fox, ids, lines};
use crate::fixture::ResponseAssertions;
use crate::support::{Options, Server};
use serde_json::json;
use std::time::Duration;
use tintype::server::sweeps::{SweepLimits, Sweeps};

const HOUR: Duration = Duration::from_secs(3_600);
/// As in the service.
const MAX_FAILED: usize = 200;

#[test]
fn a_failed_batch_is_kept_as_long_as_its_idempotency_key() {
    let options = Options::new()
        .set("batches.file_retention_days", 1)
        .set("idempotency.retention_hours", 48);
    let server = Server::with(options);
    let customer = server.customer("1.00");
    let file = server.upload(&customer, "no JSON");
    let call = server.file_batch_call(&customer, &file, json!({}));
    let call = call.idempotent("k");
    let failed = call.expect(200).json();
    assert_eq!(failed["status"], "failed");
    let mut sweeps = Sweeps::new(SweepLimits { step: 9, steps: 9 });
    let mut sweep_after = |time| {
        server.clock.advance(time);
        let (core, settings) = (server.inside(), &server.instance().settings);
        actix_web::rt::System::new().block_on(async {
            sweeps.delete_expired_idempotency_keys(core).await;
            sweeps.delete_old_files(core, settings).await;
        });
    };
    sweep_after(36 * HOUR);
    let again = call.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.json(), failed);
    server.assert_settled();
    sweep_after(13 * HOUR);
    assert!(ids(&server.v1(&customer, "GET", "/batches").expect(200)).is_empty());
    server.assert_settled();
}

#[test]
fn a_long_series_of_invalid_files_is_refused_until_a_file_is_valid() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let invalid = server.upload(&customer, "no JSON");
    let valid = server.upload(&customer, &lines(&[fox("a")]));
    let submit = |file| server.file_batch_call(&customer, file, json!({}));
    for _ in 0..MAX_FAILED {
        submit(&invalid).expect(200);
    }
    let refused = submit(&invalid).send();
    let message = refused.assert_openai_error(400, "invalid_request_error", None);
    assert!(message.contains("line 1: "), "{message}");
    let batch = submit(&valid).expect(200).json();
    submit(&invalid).expect(200);
    server.file_batch_once(&customer, &batch, "completed");
    server.assert_money(&customer, "0.961", "0.00", "0.961");
    server.assert_settled();
}

#[test]
fn the_last_error_counts_those_that_are_not_listed() {
    let server = Server::start();
    let customer = server.customer("1.00");
    let errors = |count: usize| {
        let file = server.upload(&customer, &"no JSON\n".repeat(count));
        let call = server.file_batch_call(&customer, &file, json!({}));
        let batch = call.expect(200).json();
        batch["errors"]["data"].as_array().unwrap().clone()
    };
    assert_eq!(errors(3).len(), 3);
    let many = errors(1_000);
    let (last, listed) = many.split_last().unwrap();
    let message = format!(
        "The file has {} more errors that are not listed.",
        1_000 - listed.len()
    );
    let expected = json!({"code": "more_errors", "message": message, "param": null, "line": null});
    assert_eq!(*last, expected);
}
