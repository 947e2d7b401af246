//! Exports whose records have another form: only fields with a default may be left out.

use crate::export::imported;
use crate::support::{ACCOUNT, at, uuid, webhook};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tintype_storage::domain::file_batch::{BatchEndpoint, FileBatch, FileBatchTerms, Validation};
use tintype_storage::domain::ids::{BatchId, FileId, KeyId};
use tintype_storage::domain::job::JobState;
use tintype_storage::store::AnyTable as _;
use tintype_storage::store::tables::{ENDED_JOBS, FILE_BATCHES};
use tintype_storage::testing::samples;

/// An export with these records: kind, key, JSON.
fn export_of(records: &[(&str, Vec<u8>, Value)]) -> Vec<u8> {
    let mut text = json!({"tintype_export": 1, "written_by": "tintype 0.1.0"}).to_string() + "\n";
    for (kind, key, record) in records {
        let line = json!({"kind": kind, "key": hex::encode(key), "record": record});
        text = text + &line.to_string() + "\n";
    }
    let digest = hex::encode(Sha256::digest(&text));
    let last = json!({"records": records.len(), "sha256": digest});
    (text + &last.to_string() + "\n").into_bytes()
}

/// A record whose content would be lost or guessed is refused.
#[test]
fn a_record_of_another_form_is_refused_with_advice() {
    let used = [
        b"i",
        &ACCOUNT.as_bytes()[..],
        b"g",
        &6u64.to_be_bytes(),
        b"single",
        &9_000i64.to_be_bytes(),
    ];
    let use_of_key = json!({"made": uuid(1), "fingerprint": vec![7; 32], "expires_at": 9_000});
    let panel_key = format!("spanel key of {ACCOUNT}").into_bytes();
    let due = [b"q", &at(5).millis().to_be_bytes()[..], uuid(1).as_bytes()].concat();
    let entry = json!({"account": ACCOUNT, "webhook": webhook().id, "failures": 0});
    let records = [
        ("idempotency_key", used.concat(), use_of_key),
        ("panel_key", panel_key, json!(uuid(4))),
        ("delivery_due", due, entry),
    ];
    for record in records {
        let refused = imported(&export_of(std::slice::from_ref(&record)));
        let said = refused.err().expect("refused").to_string();
        assert!(said.starts_with("line 2 of the export: "), "{said}");
        assert!(said.contains(record.0), "{said}");
        let advice = "; if another version wrote the export, this version cannot import it";
        assert!(said.ends_with(advice), "{said}");
    }
}

#[test]
fn fields_that_were_left_out_have_their_defaults() {
    let job = ENDED_JOBS.encode(&samples::job(JobState::Queued));
    let batch = FILE_BATCHES.encode(&FileBatch {
        id: BatchId(uuid(1)),
        account: ACCOUNT,
        key: KeyId(uuid(2)),
        terms: FileBatchTerms {
            input: FileId(uuid(3)),
            metadata: None,
            results_lifetime_seconds: None,
            as_urls: false,
            endpoint: BatchEndpoint::Generations,
        },
        created_at: at(0),
        outcome: Validation::Failed(Vec::new()),
    });
    let without = |json: String, field: &str| {
        let shorter = json.replace(field, "");
        assert_ne!(shorter, json);
        shorter
    };
    let line = without(ENDED_JOBS.to_json(&job).expect("JSON"), ",\"options\":null");
    assert_eq!(ENDED_JOBS.parse_json(&line).expect("a job"), job);
    let field = ",\"endpoint\":\"Generations\"";
    let line = without(FILE_BATCHES.to_json(&batch).expect("JSON"), field);
    assert_eq!(FILE_BATCHES.parse_json(&line).expect("a batch"), batch);
}
