//! Verification finds each kind of fault in deliveries, and none in sound ones.

use crate::support::*;
use std::time::Duration;
use tintype_storage::domain::delivery::{
    self, Attempt, Delivery, DeliveryId, DeliveryKind, DeliveryState, NoReceiver,
};
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{Callback, FailureKind, Job, JobState, Origin};
use tintype_storage::domain::operator_event::EventSubject;
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Key, commit_and_wait};
use tintype_storage::store::tables::{DELIVERIES_FORGOTTEN, JOBS_FORGOTTEN, OPERATOR_EVENTS};
use tintype_storage::store::{DueEntry, NewJob, Writes};
use tintype_storage::verify::verify;

const OTHER: AccountId = AccountId(uuid::Uuid::from_u128(0xdead));

/// A store with two ended jobs, one delivered in two attempts, one failed once, and a test delivery.
struct Sound {
    till: Till,
    job: Job,
    delivered: Delivery,
    pending: Delivery,
}

impl Sound {
    fn new() -> Self {
        let mut till = Till::with("5");
        let commit =
            |till: &Till, writes: Writes| commit_and_wait(&**till.store.engine(), writes).unwrap();
        commit(&till, till.store.put_webhook(&webhook()));
        let [first, second] = [0, 1].map(|_| till.running("0.10"));
        let job = till.apply(first, finish()).expect("finish");
        till.apply(second, fail()).expect("fail");
        let attempted = |id: JobId, statuses: &[u16]| {
            let read = till.store.delivery(DeliveryId(id.0)).wait().expect("read");
            let mut delivery = read.expect("a delivery");
            for status in statuses {
                let (now, none) = (at(2_000_000), Duration::ZERO);
                let attempt = Attempt::responded(0, now, none, *status, b"", None);
                let table = [Duration::from_secs(60)];
                let after =
                    delivery::record_attempt(&delivery, &attempt, attempt.ended_at(), &table);
                let writes = till.store.record_attempt(&delivery, &after, &attempt);
                commit(&till, writes);
                delivery = after;
            }
            delivery
        };
        let delivered = attempted(first, &[500, 200]);
        let pending = attempted(second, &[500]);
        assert!(delivered.state.ended_at().is_some() && pending.state.due().is_some());
        let (id, about) = (DeliveryId(uuid(77)), JobId(uuid(77)));
        let test = Delivery::new(id, &webhook(), DeliveryKind::Test, about.0, at(5));
        commit(&till, till.store.add_delivery(&test));
        Self {
            till,
            job,
            delivered,
            pending,
        }
    }

    fn write(&self, key: Key, value: Option<Vec<u8>>) {
        commit_and_wait(&**self.till.store.engine(), vec![(key, value)]).expect("commit");
    }

    fn put<R: serde::Serialize>(&self, key: Key, record: &R) {
        self.write(key, Some(encode(record)));
    }

    fn change(&self, of: &Delivery, change: impl FnOnce(&mut Delivery)) {
        let mut delivery = of.clone();
        change(&mut delivery);
        self.put(record(of), &delivery);
    }

    /// Expects exactly these faults, in any order.
    #[track_caller]
    fn finds(&self, expected: &[String]) {
        let (mut faults, mut expected) = (self.till.faults(), expected.to_vec());
        faults.sort();
        expected.sort();
        assert_eq!(faults, expected);
    }
}

/// A store key, written out, because keys are part of the format.
fn filed(kind: char, parts: &[&[u8]]) -> Key {
    [&[kind as u8], parts.concat().as_slice()].concat()
}

fn record(delivery: &Delivery) -> Key {
    filed('v', &[delivery.account.as_bytes(), delivery.id.as_bytes()])
}

fn due(moment: Timestamp, id: DeliveryId) -> Key {
    let shard = Shard::of(webhook().id).number();
    let moment = moment.millis().to_be_bytes();
    filed('q', &[&[shard], &moment, id.as_bytes()])
}

fn attempt(id: DeliveryId, number: u32) -> Key {
    filed('n', &[id.as_bytes(), &number.to_be_bytes()])
}

fn ended(job: &Job) -> Key {
    filed('e', &[job.account.as_bytes(), job.id.as_bytes()])
}

#[test]
fn sound_deliveries_have_no_fault() {
    let sound = Sound::new();
    let report = verify(&sound.till.store, |_| {}).expect("audit");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(report.deliveries, 3);
}

#[test]
fn a_delivery_of_a_missing_job_is_reported() {
    let sound = Sound::new();
    let nobody = JobId(uuid(0xbad));
    sound.change(&sound.delivered, |it| it.subject = nobody.0);
    let id = sound.delivered.id;
    sound.finds(&[
        format!("delivery {id} is of job {nobody}, whose delivery has the job's own id"),
        format!("delivery {id} is of job {nobody}, which account {ACCOUNT} does not have"),
    ]);
}

#[test]
fn a_delivery_needs_its_job_even_if_jobs_of_its_time_were_deleted() {
    let sound = Sound::new();
    let id = uuid(0xbad);
    let lost = Delivery::new(DeliveryId(id), &webhook(), DeliveryKind::Event, id, at(5));
    let store = &sound.till.store;
    let commit = |writes: Writes| commit_and_wait(&**store.engine(), writes).expect("commit");
    commit(store.add_delivery(&lost));
    let missing = [format!(
        "delivery {id} is of job {id}, which account {ACCOUNT} does not have"
    )];
    sound.finds(&missing);
    commit(vec![JOBS_FORGOTTEN.put(&(), &at(6))]);
    sound.finds(&missing);
}

#[test]
fn a_delivery_of_a_job_that_has_not_ended_is_reported() {
    let mut sound = Sound::new();
    let running = sound.till.running("0.10");
    sound.change(&sound.delivered, |it| it.subject = running.0);
    let id = sound.delivered.id;
    sound.finds(&[
        format!("delivery {id} is of job {running}, whose delivery has the job's own id"),
        format!("delivery {id} is of job {running}, which is processing"),
    ]);
}

#[test]
fn a_job_with_a_callback_and_no_delivery_is_reported() {
    let sound = Sound::new();
    let id = JobId(uuid(0xca11));
    let callback = Callback {
        webhook: WebhookId(uuid(1)),
        url: "https://example.com/".into(),
    };
    let lost = Job {
        id,
        callback: Some(callback),
        state: JobState::Failed {
            started_at: None,
            finished_at: at(90_000_000),
            error: "no".into(),
            kind: FailureKind::Refused,
        },
        ..sound.job.clone()
    };
    sound.put(ended(&lost), &lost);
    // No usage record counts the job either, because no commit has ended it.
    let finds = |sound: &Sound, expected: &[String]| {
        let mut faults = sound.till.faults();
        faults.retain(|it| !it.contains("no usage record"));
        assert_eq!(faults, expected);
    };
    let sentence = [format!(
        "job {id} has ended and named a callback, and no delivery reports it"
    )];
    finds(&sound, &sentence);
    // After the deletion of older deliveries, none of them is missed.
    let store = &sound.till.store;
    let forget = |before| {
        let step = store
            .find_old_deliveries(before, &[], 100, |_| false)
            .wait();
        commit_and_wait(&**store.engine(), step.unwrap().writes).expect("commit");
    };
    forget(at(3_000_000));
    finds(&sound, &sentence);
    let last = Delivery::new(
        DeliveryId(uuid(78)),
        &webhook(),
        DeliveryKind::Test,
        uuid(78),
        at(5),
    );
    let over = delivery::give_up(&last, NoReceiver::WebhookDeleted, at(90_000_000));
    commit_and_wait(&**store.engine(), store.add_delivery(&over)).expect("commit");
    commit_and_wait(
        &**store.engine(),
        vec![DELIVERIES_FORGOTTEN.put(&(), &at(90_000_000))],
    )
    .expect("commit");
    finds(&sound, &sentence);
    forget(at(90_000_001));
    finds(&sound, &[]);
    // Synchronous jobs and jobs without a callback need no delivery.
    let store = &Sound::new();
    let waited = Job {
        origin: Origin::Synchronous,
        ..lost.clone()
    };
    store.put(ended(&waited), &waited);
    finds(store, &[]);
    let unnamed = Job {
        callback: None,
        ..lost
    };
    store.put(ended(&unnamed), &unnamed);
    finds(store, &[]);
}

#[test]
fn a_delivery_of_a_job_whose_caller_waited_is_reported() {
    let sound = Sound::new();
    let job = Job {
        origin: Origin::Synchronous,
        ..sound.job.clone()
    };
    sound.put(ended(&job), &job);
    sound.finds(&[format!(
        "delivery {} is of job {}, whose caller waited for it",
        sound.delivered.id, job.id
    )]);
}

#[test]
fn a_pending_delivery_missing_or_wrong_in_the_due_index_is_reported() {
    let sound = Sound::new();
    let (id, moment) = (sound.pending.id, sound.pending.state.due().unwrap());
    let sentence = format!("delivery {id} is due at {moment}, the due index lacks it");
    let sound_entry = DueEntry::of(&sound.pending).expect("pending");
    let entry = DueEntry {
        webhook: WebhookId(uuid(2)),
        ..sound_entry
    };
    sound.put(due(moment, id), &entry);
    let misfit = format!(
        "the delivery_due record {} does not match its key",
        hex::encode(due(moment, id))
    );
    sound.finds(&[sentence.clone(), misfit]);
    let entry = DueEntry {
        failures: 2,
        ..sound_entry
    };
    sound.put(due(moment, id), &entry);
    sound.finds(std::slice::from_ref(&sentence));
    sound.write(due(moment, id), None);
    sound.finds(&[sentence]);
}

#[test]
fn an_entry_of_the_due_index_without_a_pending_delivery_is_reported() {
    let sound = Sound::new();
    for id in [
        sound.delivered.id,
        sound.pending.id,
        DeliveryId(uuid(0xbad)),
    ] {
        let key = due(at(4), id);
        let entry = DueEntry {
            due: at(4),
            id,
            account: ACCOUNT,
            webhook: webhook().id,
            failures: 0,
        };
        sound.put(key.clone(), &entry);
        sound.finds(&[format!(
            "the due index has delivery {id} at {}, its record does not",
            at(4)
        )]);
        sound.write(key, None);
    }
}

#[test]
fn different_due_times_in_record_and_index_are_reported() {
    let sound = Sound::new();
    let (id, moment) = (sound.pending.id, sound.pending.state.due().unwrap());
    let later = moment.plus(Duration::from_secs(1));
    sound.change(&sound.pending, |it| {
        it.state = DeliveryState::Pending {
            due: later,
            failures: 1,
        };
    });
    sound.finds(&[
        format!("delivery {id} is due at {later}, the due index lacks it"),
        format!("the due index has delivery {id} at {moment}, its record does not"),
    ]);
}

#[test]
fn missing_extra_and_orphaned_attempts_are_reported() {
    let sound = Sound::new();
    let id = sound.delivered.id;
    sound.change(&sound.delivered, |it| it.attempts = 3);
    sound.finds(&[format!("delivery {id} has had 3 attempts, 2 are on record")]);
    sound.change(&sound.delivered, |it| it.attempts = 1);
    sound.finds(&[
        format!("delivery {id} has had 1 attempts, 2 are on record"),
        format!("there is an attempt 1 of delivery {id}, which has had none of that number"),
    ]);
    sound.change(&sound.delivered, |_| {});
    sound.write(attempt(id, 0), None);
    sound.finds(&[format!("delivery {id} has had 2 attempts, 1 are on record")]);
    let sound = Sound::new();
    let stray = DeliveryId(uuid(0xbad));
    let kept = sound
        .till
        .store
        .attempts(id)
        .wait()
        .expect("attempts")
        .remove(0);
    sound.put(attempt(stray, 0), &kept);
    sound.finds(&[format!(
        "there is an attempt 0 of delivery {stray}, which has had none of that number"
    )]);
}

#[test]
fn a_delivery_that_is_not_found_by_its_id_is_reported() {
    let sound = Sound::new();
    let id = sound.delivered.id;
    let by_id = filed('V', &[id.as_bytes()]);
    sound.write(by_id.clone(), None);
    let lost = format!("delivery {id} of account {ACCOUNT} is not found by its id");
    let mut expected = vec![lost.clone()];
    for number in 0..2 {
        expected.push(format!(
            "there is an attempt {number} of delivery {id}, which has had none of that number"
        ));
    }
    sound.finds(&expected);
    sound.put(by_id.clone(), &OTHER);
    expected.push(format!(
        "delivery {id} is listed for account {OTHER}, which has none of that id"
    ));
    sound.finds(&expected);
}

#[test]
fn a_delivery_of_no_account_is_reported() {
    let sound = Sound::new();
    let stray = Delivery {
        id: DeliveryId(uuid(0xbad)),
        account: OTHER,
        kind: DeliveryKind::Test,
        attempts: 0,
        ..sound.delivered.clone()
    };
    let writes = sound.till.store.add_delivery(&stray);
    commit_and_wait(&**sound.till.store.engine(), writes).expect("commit");
    sound.finds(&[format!(
        "delivery {} is of account {OTHER}, which does not exist",
        stray.id
    )]);
}

#[test]
fn an_attempt_that_cannot_be_read_ends_the_audit_with_its_kind() {
    let sound = Sound::new();
    sound.write(attempt(sound.delivered.id, 0), Some(vec![0]));
    let error = verify(&sound.till.store, |_| {}).expect_err("damaged");
    assert!(error.to_string().starts_with("a damaged attempt record: "));
}

/// A clock two days ahead is corrected between the end of a job and the end of its delivery; later a sweep runs with a clock a
/// year ahead. Deleted deliveries are no fault, lost ones are.
#[test]
fn hostile_109_a_delivery_expires_by_the_end_of_its_job_regardless_of_the_clock() {
    const DAY: i64 = 86_400_000;
    let mut till = Till::with("5");
    let store = till.store.clone();
    let commit = |writes: Writes| commit_and_wait(&**store.engine(), writes).expect("commit");
    commit(store.put_webhook(&webhook()));
    let callback = Callback {
        webhook: WebhookId(uuid(1)),
        url: webhook().url,
    };
    let mut ended = |now: i64| {
        till.now = now;
        let new = NewJob {
            callback: Some(callback.clone()),
            ..new_job(amount("0.10"))
        };
        let job = till.accept(new).expect("accept").job;
        till.apply(job, begin()).expect("begin");
        till.apply(job, finish()).expect("finish");
        job
    };
    let ahead = ended(12 * DAY);
    let right = ended(10 * DAY);
    for job in [ahead, right] {
        let delivery = store.delivery(DeliveryId(job.0)).wait().expect("read");
        let delivery = delivery.expect("a delivery");
        let attempt = Attempt::responded(0, at(10 * DAY), Duration::ZERO, 200, b"", None);
        let after = delivery::record_attempt(&delivery, &attempt, attempt.ended_at(), &[]);
        commit(store.record_attempt(&delivery, &after, &attempt));
    }
    let sweep = |before| {
        let step = store
            .find_old_deliveries(before, &[], 100, |_| false)
            .wait();
        let step = step.expect("a step");
        commit(step.writes);
        let ids = step.deliveries.iter().map(|it| it.id);
        ids.collect::<Vec<_>>()
    };
    // By its job, the delivery belongs to the day after.
    assert_eq!(sweep(at(11 * DAY)), [DeliveryId(right.0)]);
    assert_eq!(verify(&store, |_| {}).expect("audit").faults, [""; 0]);
    assert_eq!(sweep(at(365 * DAY)), [DeliveryId(ahead.0)]);
    assert_eq!(verify(&store, |_| {}).expect("audit").faults, [""; 0]);
    let lost = ended(13 * DAY);
    let delivery = store.delivery(DeliveryId(lost.0)).wait().expect("read");
    for key in store.add_delivery(&delivery.expect("a delivery")) {
        commit(vec![(key.0, None)]);
    }
    assert_eq!(
        verify(&store, |_| {}).expect("audit").faults,
        [format!(
            "job {lost} has ended and named a callback, and no delivery reports it"
        )]
    );
}

#[test]
fn decisions_14_an_operator_event_without_its_delivery_and_the_reverse_are_reported() {
    let sound = Sound::new();
    let store = &sound.till.store;
    let operator = Webhook::of_operator("https://ops/".into(), SealedSecret(Vec::new()));
    let id = DeliveryId(uuid(0x0e));
    let delivery = Delivery::of_operator_event(id, &operator, at(9));
    let commit = |writes: Writes| commit_and_wait(&**store.engine(), writes).expect("commit");
    commit(store.add_operator_event(&delivery, EventSubject::Test));
    sound.finds(&[]);
    let event = filed('E', &[id.as_bytes()]);
    let value = store.engine().get(&event).wait().expect("read");
    sound.write(event.clone(), None);
    sound.finds(&[format!(
        "delivery {id} reports an operator event that is not on record"
    )]);
    sound.write(event, value);
    let ended = Delivery {
        state: DeliveryState::Delivered { at: at(10) },
        ..delivery.clone()
    };
    commit(store.change_delivery(Some(&delivery), &ended));
    let step = store.find_old_deliveries(at(11), &[], 100, |other| other != id);
    let step = step.wait().expect("a step");
    assert_eq!(step.deliveries[0].id, id);
    commit(step.writes);
    let event = OPERATOR_EVENTS.get(store, &id).wait();
    assert_eq!(event.expect("read"), None);
    sound.finds(&[]);
    commit(store.add_operator_event(&delivery, EventSubject::Test));
    for (key, _) in store.add_delivery(&delivery) {
        commit(vec![(key, None)]);
    }
    let unreported = format!("no delivery reports the operator event {id} (test)");
    sound.finds(std::slice::from_ref(&unreported));
    let of_account = Delivery {
        account: ACCOUNT,
        ..delivery
    };
    commit(store.add_delivery(&of_account));
    sound.finds(&[
        format!("delivery {id} reports an operator event, and is of account {ACCOUNT}"),
        unreported,
    ]);
}
