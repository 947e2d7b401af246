//! Batches whose retention is over, while a read is in progress and after the clock was set back.

use crate::batches::accepted;
use crate::old_jobs::{accept_batch, all_ids, complete, forget, on_day};
use crate::support::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tintype_storage::domain::file_batch::{BatchEndpoint, FileBatch, FileBatchTerms, Validation};
use tintype_storage::domain::ids::{BatchId, FileId, JobId};
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, EngineError, Holds, Key, Wait as _, commit_and_wait};
use tintype_storage::store::tables::{
    BATCH_PROGRESS, BATCHES, FILE_BATCHES, IDEMPOTENCY, IDS_AHEAD,
};
use tintype_storage::store::{
    AcceptError, IdempotencyKey, IdempotencyRecord, IdempotentCall, Made, NewBatch, NewJob, Store,
    StoreError, Write, Writes,
};
use tintype_storage::testing::layer::Layer;

/// Commits when a record is read.
struct CommitBeforeRead {
    inner: Arc<dyn Engine>,
    holds: Arc<Holds>,
    key: Key,
    writes: Writes,
}

impl Layer for CommitBeforeRead {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner)
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn before_get(&self, key: &[u8]) -> Result<(), EngineError> {
        if key == self.key {
            commit_and_wait(&*self.inner, self.writes.clone())?;
        }
        Ok(())
    }
}

/// Counts scans.
struct CountScans {
    inner: Arc<dyn Engine>,
    holds: Arc<Holds>,
    scans: AtomicUsize,
}

impl Layer for CountScans {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner)
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn after_scan(&self) -> Result<(), EngineError> {
        self.scans.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The write and the record of a use of the key "k" with meaning 1.
fn use_of(made: Made, expires_at: Timestamp) -> (Write, IdempotencyRecord) {
    let key = IdempotencyKey {
        account: ACCOUNT,
        call: made.call(),
        name: "k".into(),
        expires_at,
    };
    let record = IdempotencyRecord {
        made,
        fingerprint: named("k", 1).expect("a use").fingerprint,
        expires_at,
    };
    (IDEMPOTENCY.put(&key, &record), record)
}

#[test]
fn a_batch_that_is_deleted_during_a_read_is_not_found() {
    let mut till = Till::with("100");
    let batch = accepted(&mut till, 1);
    let key = (ACCOUNT, batch);
    let found_after = |writes: Writes| {
        let store = Store::new(Arc::new(CommitBeforeRead {
            inner: Arc::clone(till.store.engine()),
            holds: Arc::default(),
            key: BATCH_PROGRESS.key(&key),
            writes,
        }));
        store.batch(ACCOUNT, batch).wait()
    };
    assert!(found_after(Writes::new()).expect("read").is_some());
    let damaged = found_after(vec![BATCH_PROGRESS.delete(&key)]);
    assert!(
        matches!(damaged, Err(StoreError::Inconsistent { .. })),
        "{damaged:?}"
    );
    assert_eq!(found_after(vec![BATCHES.delete(&key)]).expect("read"), None);
}

#[test]
fn a_batch_whose_last_job_ended_after_the_clock_was_set_back_leaves_a_sound_store() {
    let mut till = Till::with("100");
    till.now = on_day(4);
    till.continue_after(id_of(till.now).as_u128());
    let (batch, [first, last]) = accept_batch(&mut till);
    till.now = on_day(10);
    till.continue_after(id_of(till.now).as_u128());
    complete(&mut till, first);
    till.now = on_day(5);
    till.apply(last, JobEvent::Cancel).expect("cancel");
    assert_eq!(forget(&till.store, 7), 2);
    assert_eq!(till.store.batch(ACCOUNT, batch).wait().expect("read"), None);
    assert_eq!(all_ids(&till), [first]);
    till.check();
    assert_eq!(forget(&till.store, 11), 1);
    till.check();
}

/// After a clock that was far ahead, ids have its time, and records the right one.
#[test]
fn jobs_whose_ids_are_ahead_of_the_clock_are_deleted_after_their_retention() {
    let mut till = Till::with("100");
    till.now = on_day(1);
    till.continue_after(id_of(till.now).as_u128());
    let before = till.running("0.20");
    till.apply(before, fail()).expect("fail");
    let ahead = id_of(on_day(900));
    till.continue_after(ahead.as_u128());
    let (batch, members) = accept_batch(&mut till);
    members.into_iter().for_each(|job| complete(&mut till, job));
    till.now = on_day(3);
    let recent = till.running("0.20");
    till.apply(recent, fail()).expect("fail");
    let (used, _) = use_of(Made::Job(members[0]), at(on_day(9)));
    commit(&till.store, vec![used]);
    let note = IDS_AHEAD.raise(&till.store, at(on_day(900)));
    commit(&till.store, note.wait().expect("read"));
    let known = IDS_AHEAD.raise(&till.store, at(on_day(800)));
    assert!(known.wait().expect("read").is_empty());
    assert!(forget(&till.store, 2) > 0);
    assert_eq!(till.store.batch(ACCOUNT, batch).wait().expect("read"), None);
    assert_eq!(all_ids(&till), [recent]);
    till.check();
    assert!(forget(&till.store, 4) > 0);
    assert_eq!(all_ids(&till), []);
    till.check();
}

/// The retention of keys was longer when they were used.
#[test]
fn the_key_of_a_deleted_job_or_batch_is_free() {
    let mut till = Till::with("100");
    till.limits.idempotency_retention = DAY * 30;
    till.now = on_day(1);
    let job = NewJob {
        idempotency: named("k", 1),
        ..new_job(amount("0.20"))
    };
    let batch = NewBatch {
        idempotency: named("b", 1),
        ..new_batch(2, "0.10")
    };
    let first_job = till.accept(job.clone()).expect("accept").job;
    let first_batch = till.accept_batch(&batch).expect("accept").batch;
    let jobs = all_ids(&till);
    jobs.into_iter().for_each(|job| complete(&mut till, job));
    let used = |till: &Till, name| {
        let call = IdempotentCall::Submission;
        let found = till.store.idempotency(call, ACCOUNT, name, at(till.now));
        found.wait().expect("read").map(|it| it.made)
    };
    till.now = on_day(3);
    assert_eq!(used(&till, "k"), Some(Made::Job(first_job)));
    assert_eq!(used(&till, "b"), Some(Made::Batch(first_batch)));
    assert!(forget(&till.store, 3) > 0);
    assert_eq!(all_ids(&till), []);
    assert_eq!(used(&till, "k"), None);
    assert_eq!(used(&till, "b"), None);
    till.check();
    // The new use ends before the old one, which must not reappear.
    till.limits.idempotency_retention = DAY;
    let job_again = till.accept(job.clone()).expect("accept");
    let batch_again = till.accept_batch(&batch).expect("accept");
    assert!(!job_again.replayed && !batch_again.replayed);
    let replayed = till.accept(job).expect("replay");
    assert_eq!((replayed.job, replayed.replayed), (job_again.job, true));
    let replayed = till.accept_batch(&batch).expect("replay");
    assert_eq!(
        (replayed.batch, replayed.replayed),
        (batch_again.batch, true)
    );
    till.check();
}

fn failed_batch(created_at: i64) -> FileBatch {
    FileBatch {
        id: BatchId(uuid(70)),
        account: ACCOUNT,
        key: key(1),
        terms: FileBatchTerms {
            input: FileId(uuid(71)),
            metadata: None,
            results_lifetime_seconds: None,
            as_urls: false,
            endpoint: BatchEndpoint::default(),
        },
        created_at: at(created_at),
        outcome: Validation::Failed(Vec::new()),
    }
}

/// A batch whose file was invalid has no other record.
#[test]
fn an_idempotency_key_may_refer_to_a_failed_batch() {
    let mut till = Till::with("100");
    let failed = failed_batch(5);
    let (used, record) = use_of(Made::Batch(failed.id), at(9));
    commit(&till.store, vec![used]);
    assert_eq!(till.faults().len(), 1);
    let id = (ACCOUNT, failed.id);
    commit(&till.store, vec![FILE_BATCHES.put(&id, &failed)]);
    assert_eq!(till.faults(), [""; 0]);
    till.now = 8;
    let other = NewBatch {
        idempotency: named("k", 2),
        ..new_batch(1, "0.10")
    };
    let refused = till.accept_batch(&other);
    assert!(matches!(refused, Err(AcceptError::KeyReused)));
    let single = NewJob {
        idempotency: named("k", 2),
        ..new_job(amount("0.10"))
    };
    assert!(matches!(till.accept(single), Err(AcceptError::KeyReused)));
    let call = IdempotentCall::Submission;
    let found = till.store.idempotency(call, ACCOUNT, "k", at(8)).wait();
    assert_eq!(found.expect("read"), Some(record));
    let forget = |older_than| {
        let found = till
            .store
            .delete_failed_file_batches(at(older_than), &[], 9);
        commit(&till.store, found.wait().expect("read").0);
    };
    let is_left = || {
        let left = FILE_BATCHES.get(&till.store, &id).wait();
        left.expect("read").is_some()
    };
    forget(5);
    assert!(is_left());
    // The retention of keys was longer when this one was used.
    forget(6);
    assert!(!is_left());
    assert_eq!(till.faults(), [""; 0]);
    let found = till.store.idempotency(call, ACCOUNT, "k", at(8)).wait();
    assert_eq!(found.expect("read"), None, "the key is free");
    let again = till.accept_batch(&other).expect("accept");
    assert!(!again.replayed);
    assert_eq!(till.faults(), [""; 0]);
    // Of a batch that is newer than the deleted ones.
    let (lost, _) = use_of(Made::Batch(BatchId(id_of(on_day(1)))), at(9));
    commit(&till.store, vec![lost]);
    assert_eq!(till.faults().len(), 1);
}

/// No caller pays twice for one key.
#[test]
fn a_batch_and_a_job_share_idempotency_keys() {
    let mut till = Till::with("100");
    let job = |name| NewJob {
        idempotency: named(name, 1),
        ..new_job(amount("0.20"))
    };
    let batch = |name| NewBatch {
        idempotency: named(name, 2),
        ..new_batch(2, "0.10")
    };
    till.accept(job("job first")).expect("accept");
    till.accept_batch(&batch("batch first")).expect("accept");
    let refused = till.accept_batch(&batch("job first"));
    assert!(matches!(refused, Err(AcceptError::KeyReused)));
    let refused = till.accept(job("batch first"));
    assert!(matches!(refused, Err(AcceptError::KeyReused)));
    assert!(till.accept(job("job first")).expect("replay").replayed);
    let again = till.accept_batch(&batch("batch first"));
    assert!(again.expect("replay").replayed);
    for name in ["job first", "batch first"] {
        let call = IdempotentCall::Submission;
        let found = till.store.idempotency(call, ACCOUNT, name, at(till.now));
        assert!(found.wait().expect("read").is_some(), "{name}");
    }
    till.check();
}

/// An account has a key for very many jobs.
#[test]
fn the_deletion_of_failed_batches_reads_nothing_else() {
    let till = Till::with("1");
    let failed = failed_batch(5);
    let put = FILE_BATCHES.put(&(ACCOUNT, failed.id), &failed);
    let (used, _) = use_of(Made::Job(JobId(uuid(1))), at(9));
    commit(&till.store, vec![put, used]);
    let engine = Arc::new(CountScans {
        inner: Arc::clone(till.store.engine()),
        holds: Arc::default(),
        scans: AtomicUsize::new(0),
    });
    let store = Store::new(Arc::clone(&engine) as _);
    let step = store.delete_failed_file_batches(at(99), &[], 9).wait();
    assert!(!step.expect("a step").0.is_empty());
    assert_eq!(engine.scans.load(Ordering::Relaxed), 1);
}
