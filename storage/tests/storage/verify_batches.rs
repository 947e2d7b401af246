//! Verification finds each kind of fault in batches and in their deliveries.

use crate::batches::{accepted, delivery, ids_of, progress};
use crate::support::*;
use tintype_storage::domain::batch::BatchProgress;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::BatchId;
use tintype_storage::domain::job::{Callback, JobEvent};
use tintype_storage::engine::{Wait as _, commit_and_wait};
use tintype_storage::store::NewBatch;
use tintype_storage::store::tables::{BATCH_PROGRESS, BATCHES, DELIVERIES_FORGOTTEN, LIVE_JOBS};
use tintype_storage::verify::verify;

#[test]
fn faults_of_batches_are_reported() {
    let mut till = Till::with("100");
    let batch = accepted(&mut till, 2);
    let key = (ACCOUNT, batch);
    let found = till.store.batch(ACCOUNT, batch).wait().expect("read");
    let (found, _) = found.expect("the batch");
    let first = LIVE_JOBS.key(&(ACCOUNT, found.first));
    let read = |key: Vec<u8>| {
        let value = till.store.engine().get(&key).wait().expect("read");
        (key, value)
    };
    let sound = [BATCH_PROGRESS.key(&key), BATCHES.key(&key), first.clone()].map(read);
    let commit = |writes| commit_and_wait(&**till.store.engine(), writes).expect("commit");
    let mut dearer = found.clone();
    dearer.price = amount("0.30");
    let mut shorter = found.clone();
    shorter.last = found.first;
    let ended = BatchProgress {
        ended_at: Some(at(9)),
        ..BatchProgress::of_new(2)
    };
    let charged = BatchProgress {
        charged: amount("0.10"),
        ..BatchProgress::of_new(2)
    };
    for (write, fault) in [
        (
            BATCH_PROGRESS.put(&key, &BatchProgress::of_new(1)),
            "counts [1, 0, 0, 0]",
        ),
        (BATCH_PROGRESS.delete(&key), "no progress on record"),
        (BATCH_PROGRESS.put(&key, &ended), "is ended with jobs"),
        (
            BATCH_PROGRESS.put(&key, &charged),
            "was charged 0.10, the prices of its done jobs come to 0.00",
        ),
        (BATCHES.put(&key, &dearer), "costs 0.30"),
        (BATCHES.delete(&key), "does not have"),
        (BATCHES.delete(&key), "there is progress of batch"),
        (
            BATCHES.put(&key, &shorter),
            "is not among the ids of its batch",
        ),
        ((first.clone(), None), "accepted with 2 jobs, it has 1"),
    ] {
        commit(vec![write]);
        let faults = till.faults();
        let is_found = faults.iter().any(|it| it.contains(fault));
        assert!(is_found, "{fault}: {faults:?}");
        commit(sound.to_vec());
    }
    till.check();
}

#[test]
fn faults_of_deliveries_of_batches_are_reported() {
    let mut till = Till::with("100");
    let callback = Callback {
        webhook: webhook().id,
        url: webhook().url,
    };
    let new = NewBatch {
        callback: Some(callback),
        ..new_batch(1, "0.10")
    };
    let ended = till.accept_batch(&new).expect("accepted").batch;
    let job = ids_of(&till, ended)[0];
    till.apply(job, JobEvent::Cancel).expect("cancel");
    let live = accepted(&mut till, 1);
    assert_eq!(verify(&till.store, |_| {}).expect("audit").batches, 2);
    till.check();
    let ended_at = progress(&till, ended).ended_at.expect("it has ended");
    let store = till.store.clone();
    let commit = |writes| commit_and_wait(&**store.engine(), writes).expect("commit");
    let delete = |delivery: &Delivery| {
        let writes = store.add_delivery(delivery).into_iter();
        commit(writes.map(|(key, _)| (key, None)).collect());
    };
    let missing = BatchId(uuid(0xbad));
    let wrong = DeliveryId(uuid(0xd0));
    for (id, subject, fault) in [
        (
            wrong,
            ended,
            format!("delivery {wrong} is of batch {ended}, whose delivery has the batch's own id"),
        ),
        (
            DeliveryId(live.0),
            live,
            format!("delivery {live} is of batch {live}, which has not ended"),
        ),
        (
            DeliveryId(missing.0),
            missing,
            format!(
                "delivery {missing} is of batch {missing}, which account {ACCOUNT} does not have"
            ),
        ),
    ] {
        let of_batch = Delivery::new(id, &webhook(), DeliveryKind::Batch, subject.0, at(5));
        commit(store.add_delivery(&of_batch));
        assert_eq!(till.faults(), [fault]);
        delete(&of_batch);
    }
    // A batch that named a callback owes a delivery, unless deliveries of its time were deleted.
    delete(&delivery(&till, DeliveryId(ended.0)).expect("its delivery"));
    let owed = [format!(
        "batch {ended} ended at {ended_at} and named a callback, and no delivery reports it"
    )];
    assert_eq!(till.faults(), owed);
    commit(vec![DELIVERIES_FORGOTTEN.put(&(), &ended_at)]);
    assert_eq!(till.faults(), owed);
    let later = at(ended_at.millis() + 1);
    commit(vec![DELIVERIES_FORGOTTEN.put(&(), &later)]);
    till.check();
}
