//! Exports of builds before the first release: the records that had another form are imported in the current one.

use crate::export::imported;
use crate::support::{ACCOUNT, at, uuid, webhook};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::file_batch::{BatchEndpoint, FileBatch, FileBatchTerms, Validation};
use tintype_storage::domain::ids::{BatchId, FileId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{
    DELIVERIES, DUE_DELIVERIES, ENDED_JOBS, FILE_BATCHES, IDEMPOTENCY, PANEL_KEYS,
};
use tintype_storage::store::{AnyTable as _, DueEntry, Made, Store};
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

#[test]
fn the_keys_of_jobs_batches_deposits_accounts_and_the_panel_are_kept() {
    let (job, batch) = (uuid(1), uuid(2));
    let used = |call: u8, name: &str, made: uuid::Uuid| {
        let key = [
            b"i",
            &ACCOUNT.as_bytes()[..],
            &[call],
            &(name.len() as u64).to_be_bytes(),
            name.as_bytes(),
            &9_000i64.to_be_bytes(),
        ];
        let record = json!({"made": made, "fingerprint": vec![7; 32], "expires_at": 9_000});
        ("idempotency_key", key.concat(), record)
    };
    let panel_key = format!("spanel key of {ACCOUNT}").into_bytes();
    // By ascending key. A batch had two uses.
    let text = export_of(&[
        used(b'a', "opening", ACCOUNT.0),
        used(b'b', "batch", batch),
        used(b'd', "deposit", uuid(3)),
        used(b'g', "batch", batch),
        used(b'g', "single", job),
        ("panel_key", panel_key, json!(uuid(4))),
    ]);
    let store = Store::new(imported(&text).expect("imported"));
    let found = IDEMPOTENCY.all(&store).wait().expect("read");
    let names_and_made: Vec<_> = found
        .iter()
        .map(|(key, record)| (key.name.as_str(), record.made))
        .collect();
    let expected = [
        ("opening", Made::Account(ACCOUNT)),
        ("deposit", Made::Entry(TransactionId(uuid(3)))),
        ("batch", Made::Batch(BatchId(batch))),
        ("single", Made::Job(JobId(job))),
    ];
    assert_eq!(names_and_made, expected);
    for (key, record) in &found {
        assert_eq!((key.account, key.call), (ACCOUNT, record.made.call()));
        assert_eq!(record.fingerprint, Fingerprint([7; 32]));
        assert_eq!([key.expires_at, record.expires_at], [at(9_000); 2]);
    }
    let panel_key = PANEL_KEYS.get(&store, &ACCOUNT).wait();
    assert_eq!(panel_key.expect("read"), Some(KeyId(uuid(4))));
}

/// The due index had one entry per pending delivery, without the shard in its key, and an export contained it.
#[test]
fn the_due_index_is_built_from_the_deliveries() {
    let delivery = Delivery::new(
        DeliveryId(uuid(1)),
        &webhook(),
        DeliveryKind::Test,
        uuid(2),
        at(5),
    );
    let key = [
        b"q",
        &at(5).millis().to_be_bytes()[..],
        delivery.id.as_bytes(),
    ]
    .concat();
    let entry = json!({"account": ACCOUNT, "webhook": webhook().id, "failures": 0});
    let record = serde_json::to_value(&delivery).expect("JSON");
    let text = export_of(&[
        ("delivery_due", key, entry),
        ("delivery", DELIVERIES.key(&(ACCOUNT, delivery.id)), record),
    ]);
    let store = Store::new(imported(&text).expect("imported"));
    let found = DUE_DELIVERIES.all(&store).wait().expect("read");
    let expected = DueEntry::of(&delivery).expect("pending");
    assert_eq!(found, [(expected.key(), expected)]);
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
