//! Batches: accepted all or none, counted with each job, reported once.

use crate::support::*;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::batch::{BatchProgress, BatchStatus};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, DeliveryKind, FailReason};
use tintype_storage::domain::file_batch::{BatchEndpoint, FileBatch, FileBatchTerms, Validation};
use tintype_storage::domain::ids::{BatchId, FileId, JobId};
use tintype_storage::domain::job::{CANCELED, Callback, InputImage, Job, JobEvent, JobState};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::spending::SpendLimits;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::{BATCHES, FILE_BATCHES};
use tintype_storage::store::{AcceptError, BatchError, NewBatch, NewJob, Part, RoundReads};

fn jobs_of(till: &Till, batch: BatchId) -> Vec<Job> {
    let found = till.store.batch(ACCOUNT, batch).wait().expect("read");
    let (batch, _) = found.expect("the batch");
    let mut jobs: Vec<Job> = Vec::new();
    loop {
        let after = jobs.last().map(|job| job.id);
        let page = till.store.jobs_of_batch(&batch, Part::All, after, 2).wait();
        let page = page.expect("jobs");
        if page.is_empty() {
            return jobs;
        }
        jobs.extend(page);
    }
}

pub fn ids_of(till: &Till, batch: BatchId) -> Vec<JobId> {
    jobs_of(till, batch).iter().map(|job| job.id).collect()
}

pub fn progress(till: &Till, batch: BatchId) -> BatchProgress {
    let found = till.store.batch(ACCOUNT, batch).wait().expect("read");
    found.expect("the batch").1
}

fn counts(till: &Till, batch: BatchId) -> [u32; 4] {
    let it = progress(till, batch);
    [it.queued, it.processing, it.done, it.failed]
}

fn charged(till: &Till, batch: BatchId) -> String {
    progress(till, batch).charged.to_string()
}

pub fn accepted(till: &mut Till, count: usize) -> BatchId {
    let accepted = till.accept_batch(&new_batch(count, "0.10"));
    accepted.expect("accepted").batch
}

fn register(till: &Till, number: u128, url: &str) {
    let webhook = Webhook::new(
        WebhookId(uuid(number)),
        ACCOUNT,
        url,
        SealedSecret(vec![1]),
        at(0),
    );
    let writes = till.store.put_webhook(&webhook);
    commit_and_wait(&**till.store.engine(), writes).expect("a webhook");
}

pub fn delivery(till: &Till, id: DeliveryId) -> Option<Delivery> {
    till.store.delivery(id).wait().expect("read")
}

#[test]
fn decisions_12_a_batch_is_accepted_whole_or_not_at_all() {
    let mut till = Till::with("1");
    let refused = till.accept_batch(&new_batch(11, "0.10"));
    assert!(insufficient(&refused));
    assert_eq!(till.figures(), ["1.00", "0.00", "1.00"]);
    let listed = BATCHES.page(&till.store, &ACCOUNT, 9, None).wait();
    assert!(listed.expect("read").items.is_empty());
    let batch = accepted(&mut till, 10);
    assert_eq!(till.figures(), ["1.00", "1.00", "0.00"]);
    assert_eq!(counts(&till, batch), [10, 0, 0, 0]);
    let jobs = jobs_of(&till, batch);
    let members = jobs.iter().filter_map(Job::member);
    let indices: Vec<u32> = members.map(|it| it.index).collect();
    let in_order: Vec<u32> = (0..10).collect();
    assert_eq!(indices, in_order, "in the order of the requests");
    assert_eq!(jobs[3].member().expect("a member").custom_id(), "3");
    till.check();
}

#[test]
fn decisions_12_the_limits_apply_to_the_whole_batch() {
    let mut till = Till::with("100");
    till.spend_limits.insert(key(1), limit("0.35"));
    let too_much = till.accept_batch(&new_batch(4, "0.10"));
    assert!(matches!(too_much, Err(AcceptError::KeyLimit(_))));
    accepted(&mut till, 3);
    let too_much = till.accept_batch(&new_batch(1, "0.10"));
    assert!(matches!(too_much, Err(AcceptError::KeyLimit(_))));
    till.spend_limits.clear();
    till.limits.max_live_per_account = 5;
    let too_many = till.accept_batch(&new_batch(3, "0.10"));
    assert!(matches!(
        too_many,
        Err(AcceptError::TooManyLive {
            live: 3,
            most: 5,
            ..
        })
    ));
    let pause = Pause {
        tiers: [true, false, false],
        ..Pause::default()
    };
    let reads = RoundReads::new(&till.store);
    let decisions = till.book.decisions(&reads, till.limits);
    let mut decisions = decisions.under(&pause);
    know_key(&mut decisions, key(1), SpendLimits::default());
    let ids = [JobId(uuid(77))];
    let refused = decisions.accept_batch(BatchId(uuid(76)), &ids, &new_batch(1, "0.10"), at(1));
    assert!(matches!(refused, Err(AcceptError::Paused(_))));
    till.check();
}

#[test]
fn decisions_12_an_idempotency_key_makes_one_batch() {
    let mut till = Till::with("100");
    let under_key = |meaning| NewBatch {
        idempotency: named("k", meaning),
        ..new_batch(2, "0.10")
    };
    let [first, again] = till.decisions(|decisions, ids| {
        [(); 2].map(|()| {
            let accepted = ids.accept_batch(decisions, &under_key(1));
            accepted.expect("accepted")
        })
    });
    assert!(!first.replayed && again.replayed);
    let later = till.accept_batch(&under_key(1)).expect("accepted");
    assert_eq!((later.batch, later.replayed), (first.batch, true));
    let other = till.accept_batch(&under_key(2));
    assert!(matches!(other, Err(AcceptError::KeyReused)));
    let job = NewJob {
        idempotency: named("k", 2),
        ..new_job(amount("0.10"))
    };
    assert!(matches!(till.accept(job), Err(AcceptError::KeyReused)));
    assert_eq!(counts(&till, first.batch), [2, 0, 0, 0]);
    till.check();
}

#[test]
fn decisions_12_counts_follow_the_jobs_and_the_last_one_owes_one_delivery() {
    let mut till = Till::with("100");
    register(&till, 5, "https://a.example/");
    let batch = accepted(&mut till, 3);
    let [a, b, c] = ids_of(&till, batch)[..] else {
        panic!("three jobs")
    };
    // In one round: each count includes the one before.
    till.decisions(|decisions, ids| {
        for job in [a, b] {
            ids.apply(decisions, job, begin()).expect("begin");
        }
        ids.apply(decisions, a, finish()).expect("finish");
    });
    assert_eq!(counts(&till, batch), [1, 1, 1, 0]);
    assert_eq!(delivery(&till, DeliveryId(batch.0)), None);
    till.apply(b, JobEvent::CutOff).expect("cut off");
    till.apply(b, begin()).expect("begin");
    till.apply(b, fail()).expect("fail");
    assert_eq!(progress(&till, batch).status(), BatchStatus::InProgress);
    till.check();
    till.apply(c, JobEvent::Cancel).expect("cancel");
    assert_eq!(progress(&till, batch).status(), BatchStatus::Ended);
    assert_eq!(counts(&till, batch), [0, 0, 1, 2]);
    let owed = delivery(&till, DeliveryId(batch.0)).expect("a delivery");
    assert_eq!(owed.kind, DeliveryKind::Batch);
    assert_eq!((owed.batch(), owed.job()), (Some(batch), None));
    assert_eq!(owed.url, "https://a.example/");
    for job in [a, b, c] {
        assert_eq!(delivery(&till, DeliveryId(job.0)), None, "of a job");
    }
    assert_eq!(till.figures(), ["99.90", "0.00", "99.90"]);
    till.check();
}

#[test]
fn a_batch_is_charged_once_for_each_job_that_becomes_done() {
    let mut till = Till::with("100");
    let mut new = new_batch(6, "0.10");
    new.requests[1].price = amount("0.039");
    new.price = amount("0.539");
    let batch = till.accept_batch(&new).expect("accepted").batch;
    let [a, b, c, d, e, f] = ids_of(&till, batch)[..] else {
        panic!("six jobs")
    };
    assert_eq!(charged(&till, batch), "0.00");
    // In one round: each charge includes the one before.
    till.decisions(|decisions, ids| {
        for job in [a, b] {
            ids.apply(decisions, job, begin()).expect("begin");
            ids.apply(decisions, job, finish()).expect("finish");
        }
    });
    assert_eq!(charged(&till, batch), "0.139");
    till.apply(a, finish()).expect_err("it has ended");
    till.apply(a, fail()).expect_err("it has ended");
    assert_eq!(charged(&till, batch), "0.139");
    till.apply(c, begin()).expect("begin");
    till.apply(c, fail()).expect("fail");
    till.apply(d, JobEvent::Cancel).expect("cancel");
    let expire = JobEvent::Expire { due: at(till.now) };
    till.apply(e, expire).expect("expire");
    till.apply(f, begin()).expect("begin");
    till.apply(f, JobEvent::CutOff).expect("cut off");
    assert_eq!(charged(&till, batch), "0.139", "none of them is done");
    let now = at(till.now);
    let canceled = till.decisions(|decisions, _| decisions.cancel_batch(batch, now));
    assert_eq!(canceled.expect("canceled").charged, amount("0.139"));
    till.check();
    // A restart continues with the sum of the record.
    let mut till = Till::reload(till.store.clone(), ACCOUNT);
    till.continue_after(9_000);
    till.apply(f, begin()).expect("a further run");
    till.apply(f, finish()).expect("finish");
    assert_eq!(progress(&till, batch).status(), BatchStatus::Ended);
    assert_eq!(charged(&till, batch), "0.239");
    assert_eq!(till.figures(), ["99.761", "0.00", "99.761"]);
    till.check();
}

#[test]
fn decisions_12_the_webhook_of_a_batch_is_chosen_as_for_a_job() {
    let mut till = Till::with("100");
    register(&till, 5, "https://a.example/");
    register(&till, 6, "https://b.example/");
    let calls = |url: &str, webhook| NewBatch {
        callback: Some(Callback {
            webhook: WebhookId(uuid(webhook)),
            url: url.into(),
        }),
        ..new_batch(1, "0.10")
    };
    for (url, webhook, reason) in [
        ("https://b.example/", 6, None),
        ("https://gone.example/", 9, Some(FailReason::WebhookDeleted)),
        ("https://old.example/", 6, Some(FailReason::WebhookMoved)),
    ] {
        let accepted = till.accept_batch(&calls(url, webhook));
        let batch = accepted.expect("accepted").batch;
        for job in ids_of(&till, batch) {
            till.apply(job, JobEvent::Cancel).expect("cancel");
        }
        let owed = delivery(&till, DeliveryId(batch.0)).expect("a delivery");
        assert_eq!((owed.url.as_str(), owed.state.reason()), (url, reason));
        assert_eq!(owed.webhook, WebhookId(uuid(webhook)));
    }
    till.check();
}

#[test]
fn decisions_12_no_queued_job_of_a_canceled_batch_begins() {
    let mut till = Till::with("100");
    let batch = accepted(&mut till, 2);
    let [a, b] = ids_of(&till, batch)[..] else {
        panic!("two jobs")
    };
    till.apply(a, begin()).expect("begin");
    let now = at(till.now);
    let canceled = till.decisions(|decisions, _| decisions.cancel_batch(batch, now));
    assert_eq!(canceled.expect("canceled").status(), BatchStatus::Canceling);
    // A restart knows the state too.
    let mut till = Till::reload(till.store.clone(), ACCOUNT);
    till.continue_after(9_000);
    assert_eq!(counts(&till, batch), [1, 1, 0, 0]);
    let job = till.apply(b, begin()).expect("applied");
    assert!(matches!(&job.state, JobState::Failed { error, .. } if error == CANCELED));
    till.apply(a, begin())
        .expect("a further run of one that had begun");
    till.apply(a, finish()).expect("finish");
    assert_eq!(progress(&till, batch).status(), BatchStatus::Ended);
    let missing = till.decisions(|decisions, _| decisions.cancel_batch(BatchId(uuid(3)), now));
    assert!(matches!(missing, Err(BatchError::NotFound)));
    assert_eq!(till.figures(), ["99.90", "0.00", "99.90"]);
    till.check();
}

#[test]
fn decisions_12_input_images_are_recorded_when_they_were_fetched() {
    let mut till = Till::with("100");
    let mut new = new_batch(1, "0.10");
    new.requests[0].input_urls = InputUrls::Inline(vec!["https://a.example/1.png".into()]);
    let batch = till.accept_batch(&new).expect("accepted").batch;
    let job = ids_of(&till, batch)[0];
    let fetched = || JobEvent::InputsFetched {
        inputs: vec![InputImage {
            key: "inputs/1".into(),
            bytes: 9,
            width: 16,
            height: 9,
        }],
        ratio: "16:9".parse::<AspectRatio>().expect("a ratio"),
    };
    till.apply(job, fetched()).expect_err("it has not begun");
    let begun = till.apply(job, begin()).expect("begin");
    assert!(begun.input_urls().is_some());
    let with_inputs = till.apply(job, fetched()).expect("applied");
    assert_eq!(with_inputs.ratio.to_string(), "16:9");
    assert_eq!(with_inputs.input_urls(), None, "they are fetched once");
    assert_eq!(counts(&till, batch), [0, 1, 0, 0]);
    till.check();
}

#[test]
fn jobs_between_two_batches_belong_to_neither() {
    let mut till = Till::with("100");
    let first = accepted(&mut till, 3);
    till.accept(new_job(amount("0.10"))).expect("accepted");
    let second = accepted(&mut till, 2);
    let ended = ids_of(&till, first)[1];
    till.apply(ended, JobEvent::Cancel).expect("cancel");
    for (batch, count) in [(first, 3), (second, 2)] {
        let jobs = jobs_of(&till, batch);
        assert_eq!(jobs.len(), count);
        let is_its = |job: &Job| job.member().is_some_and(|of| of.batch == batch);
        assert!(jobs.iter().all(is_its));
    }
    let listed = BATCHES.page(&till.store, &ACCOUNT, 9, None).wait();
    let listed = listed.expect("read").items;
    let listed: Vec<BatchId> = listed.iter().map(|it| it.id).collect();
    assert_eq!(listed, [second, first], "newest first");
    till.check();
}

#[test]
fn a_batch_needs_only_the_models_of_its_requests() {
    let mut till = Till::with("100");
    let new = new_batch(2, "0.10");
    let fast_only = ApiKey {
        models: Some(vec![Tier::Fast]),
        ..ApiKey::with_all_rights(key(1), ACCOUNT, at(0))
    };
    let mut accept = |models: [Tier; 2]| {
        let mut new = new.clone();
        for (request, tier) in new.requests.iter_mut().zip(models) {
            request.tier = tier;
        }
        till.decisions(|decisions, ids| {
            let known = Some((KeyHash([0; 32]), fast_only.clone()));
            decisions.change_key(key(1), known, Vec::new());
            let jobs = [JobId(ids.id()), JobId(ids.id())];
            decisions.accept_batch(BatchId(ids.id()), &jobs, &new, ids.now)
        })
    };
    assert!(accept([Tier::Fast, Tier::Fast]).is_ok());
    assert!(accept([Tier::Fast, Tier::Pro]).is_err());
}

#[test]
fn a_batch_of_a_file_is_on_record_from_the_commit_that_accepts_it() {
    let mut till = Till::with("100");
    let terms = FileBatchTerms {
        input: FileId(uuid(7)),
        metadata: Some(r#"{"a":"b"}"#.into()),
        results_lifetime_seconds: Some(3_600),
        as_urls: true,
        endpoint: BatchEndpoint::default(),
    };
    let new = NewBatch {
        file: Some(terms.clone()),
        ..new_batch(2, "0.10")
    };
    let id = till.accept_batch(&new).expect("accepted").batch;
    let found = FILE_BATCHES.get(&till.store, &(ACCOUNT, id)).wait();
    let found = found.expect("read").expect("the record");
    assert_eq!((found.id, &found.terms), (id, &terms));
    let is_accepted = matches!(found.outcome, Validation::Accepted { .. });
    assert!(is_accepted, "{:?}", found.outcome);
    till.check();
    let commit = |writes| commit_and_wait(&**till.store.engine(), writes).expect("commit");
    let lost = FileBatch {
        id: BatchId(uuid(8)),
        ..found.clone()
    };
    let failed = FileBatch {
        outcome: Validation::Failed(Vec::new()),
        ..found.clone()
    };
    for (wrong, sound, fault) in [
        (
            &lost,
            FILE_BATCHES.delete(&(ACCOUNT, lost.id)),
            "was accepted, but does not exist",
        ),
        (
            &failed,
            FILE_BATCHES.put(&(ACCOUNT, failed.id), &found),
            "failed, but exists",
        ),
    ] {
        commit(vec![FILE_BATCHES.put(&(ACCOUNT, wrong.id), wrong)]);
        let faults = till.faults();
        let is_found = faults.iter().any(|it| it.contains(fault));
        assert!(is_found, "{fault}: {faults:?}");
        commit(vec![sound]);
    }
    till.check();
}
