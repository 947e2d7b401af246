//! Erasing ended jobs in place: the search index follows, and verification finds no fault.

use crate::support::*;
use tintype_storage::domain::delivery::{
    self, Attempt, Delivery, DeliveryId, NoReceiver, SentRequest,
};
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::{Callback, Job, JobState, Origin, PromptRef};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{
    ATTEMPTS, DELETED_IMAGES, DELIVERIES, ENDED_JOBS, SEARCH_INDEX,
};
use tintype_storage::store::{AttemptErasure, NewJob, SearchStep};
use tintype_storage::testing::samples;

/// Enough words that two such prompts fill a block of the index.
fn prompt(word: &str) -> String {
    let words: Vec<String> = (0..400).map(|at| format!("{word}{at:03}")).collect();
    words.join(" ")
}

#[test]
fn an_erased_job_leaves_the_words_of_its_block_and_keeps_its_charge() {
    let mut till = Till::with("100");
    let jobs: Vec<JobId> = ["lovelace", "babbages", "lovelace", "menabrea", "lovelace"]
        .map(|word| {
            let new = NewJob {
                prompt: samples::prompt(prompt(word)),
                ..new_job(amount("0.20"))
            };
            let job = till.accept(new).expect("accept").job;
            till.apply(job, begin()).expect("begin");
            till.apply(job, finish()).expect("finish");
            job
        })
        .into();
    let store = till.store.clone();
    let settled = JobId::first_of(at(till.now + 60_000));
    while let Some(block) = store
        .next_search_block(ACCOUNT, settled)
        .wait()
        .expect("read")
    {
        commit(&store, vec![block]);
    }
    let blocks = || SEARCH_INDEX.all(&store).wait().expect("index");
    assert_eq!(blocks().len(), 2, "the last job fills no block");
    let may_hold = |word: &str| {
        let held = blocks().into_iter();
        held.map(|(_, it)| it.may_hold(&[word.to_owned()]))
            .collect::<Vec<_>>()
    };
    assert_eq!(may_hold("lovelace"), [true, true]);
    let before = store.account(ACCOUNT).wait().expect("read");
    let read = |id: &JobId| {
        store
            .job(ACCOUNT, *id)
            .wait()
            .expect("read")
            .expect("a job")
    };

    // One job of each block, and the one after them.
    let own: Vec<_> = [0, 2, 4].map(|at| read(&jobs[at])).into();
    let erase = |jobs: &[_]| {
        store
            .erase_jobs(ACCOUNT, jobs, at(9))
            .wait()
            .expect("erase")
    };
    commit(&store, erase(&own));
    let erased: Vec<_> = [0, 2, 4].map(|at| read(&jobs[at])).into();
    assert_eq!(erase(&erased), [], "nothing is left to erase");
    for (old, new) in own.iter().zip(&erased) {
        let empty = samples::prompt("");
        assert_eq!(
            new,
            &tintype_storage::domain::job::Job {
                prompt: empty,
                ..old.clone()
            }
        );
        assert!(matches!(new.state, JobState::Done { .. }));
        assert!(
            store
                .is_image_deleted(ACCOUNT, new.id)
                .wait()
                .expect("read")
        );
    }
    assert_eq!(may_hold("lovelace"), [false, false]);
    assert_eq!(may_hold("babbages"), [true, false]);
    assert_eq!(may_hold("menabrea"), [false, true]);
    let end = store.search_index_end(ACCOUNT).wait().expect("end");
    let words = ["lovelace007".to_owned()];
    let step = store.next_search_step(ACCOUNT, &words, end, end.map(JobId::next), 99);
    assert_eq!(step.wait().expect("search"), SearchStep::End);
    let other = read(&jobs[1]);
    assert!(matches!(other.prompt, PromptRef::Inline(text) if text.prompt == prompt("babbages")));
    assert_eq!(store.account(ACCOUNT).wait().expect("read"), before);
    till.check();
}

#[test]
fn one_decision_erases_the_attempts_of_many_deliveries_and_of_no_deleted_one() {
    let mut till = Till::with("100");
    let store = till.store.clone();
    commit(&store, store.put_webhook(&webhook()));
    let deliveries: Vec<Delivery> = (0..3)
        .map(|_| {
            let job = till.running("0.20");
            till.apply(job, finish()).expect("finish");
            let delivery = store.delivery(DeliveryId(job.0)).wait().expect("read");
            let delivery = delivery.expect("a delivery");
            let attempt = Attempt::responded(0, at(2_000_000), DAY, 500, b"lovelace", None);
            let after = delivery::record_attempt(&delivery, &attempt, attempt.ended_at(), &[]);
            commit(&store, store.record_attempt(&delivery, &after, &attempt));
            after
        })
        .collect();
    // Its attempt is still on record.
    let deleted = &deliveries[1];
    commit(&store, vec![DELIVERIES.delete(&(ACCOUNT, deleted.id))]);
    let erasure = AttemptErasure {
        account: ACCOUNT,
        deliveries: deliveries.iter().map(|it| it.id).collect(),
    };
    decide(&store, erasure);
    let responses: Vec<String> = deliveries
        .iter()
        .flat_map(|it| store.attempts(it.id).wait().expect("read"))
        .map(|it| it.response_body)
        .collect();
    assert_eq!(responses, ["", "lovelace", ""]);
}

/// An erased job with one attempt of its delivery.
fn erased_job(till: &mut Till) -> (Job, DeliveryId, Attempt) {
    let store = till.store.clone();
    commit(&store, store.put_webhook(&webhook()));
    let id = till.running("0.20");
    till.apply(id, finish()).expect("finish");
    let job = store.job(ACCOUNT, id).wait().expect("read").expect("a job");
    let delivery = store.delivery(DeliveryId(id.0)).wait().expect("read");
    let delivery = delivery.expect("a delivery");
    let attempt = Attempt::responded(0, at(2_000_000), DAY, 500, b"", None);
    let after = delivery::record_attempt(&delivery, &attempt, attempt.ended_at(), &[]);
    commit(&store, store.record_attempt(&delivery, &after, &attempt));
    let erased = store.erase_jobs(ACCOUNT, std::slice::from_ref(&job), at(9));
    commit(&store, erased.wait().expect("erase"));
    (job.erased(), delivery.id, attempt)
}

#[test]
fn an_attempt_that_keeps_a_text_of_an_erased_job_is_reported() {
    let mut till = Till::with("5");
    let (job, delivery, attempt) = erased_job(&mut till);
    let sent = |body: &str| Attempt {
        response_body: "an answer to what was sent".into(),
        sent: Some(SentRequest::new(String::new(), String::new(), body)),
        ..attempt.clone()
    };
    let record = |attempt: &Attempt| {
        let record = ATTEMPTS.put(&(delivery, 0), attempt);
        commit(&till.store, vec![record]);
    };
    // A later attempt sends the erased record.
    record(&sent(r#"{"error":null,"metadata":null}"#));
    till.check();
    let long = format!(
        r#"{{"error":null,"metadata":null,"result":"{}"}}"#,
        "a".repeat(5_000)
    );
    for body in [
        r#"{"error":null,"metadata":{"user":42}}"#,
        r#"{"error":"lovelace is not allowed","metadata":null}"#,
        &long,
    ] {
        record(&sent(body));
        let fault = format!(
            "delivery {delivery} keeps a request with texts of the erased job {}; erase the job again",
            job.id
        );
        assert_eq!(till.faults(), [fault]);
    }
}

#[test]
fn an_erased_job_whose_image_is_not_deleted_is_reported() {
    let mut till = Till::with("5");
    let (job, ..) = erased_job(&mut till);
    commit(&till.store, vec![DELETED_IMAGES.delete(&(ACCOUNT, job.id))]);
    let fault = format!(
        "job {} is erased, but its image is not marked as deleted",
        job.id
    );
    assert_eq!(till.faults(), [fault]);
}

#[test]
fn a_job_in_the_background_that_names_a_callback_is_reported() {
    let mut till = Till::with("5");
    let id = till.running("0.20");
    till.apply(id, finish()).expect("finish");
    let job = till.store.job(ACCOUNT, id).wait().expect("read");
    let job = Job {
        origin: Origin::Background,
        callback: Some(Callback {
            webhook: webhook().id,
            url: webhook().url,
        }),
        ..job.expect("a job")
    };
    commit(&till.store, vec![ENDED_JOBS.put(&(ACCOUNT, id), &job)]);
    let fault = format!("job {id} names a callback, but its caller looks it up");
    assert_eq!(till.faults(), [fault]);
}

/// Otherwise a redelivery would send an erased job to a URL that its caller did not name.
#[test]
fn the_erased_callback_of_a_job_equals_no_url() {
    let job = Job {
        callback: Some(Callback {
            webhook: webhook().id,
            url: webhook().url,
        }),
        ..samples::job(JobState::Queued)
    };
    let receiver = |job: &Job| delivery::receiver(Some(webhook()), job.callback.as_ref());
    assert!(receiver(&job).is_ok());
    let erased = job.erased();
    assert!(matches!(receiver(&erased), Err(NoReceiver::WebhookMoved)));
    assert!(!format!("{erased:?}").contains(&webhook().url));
    assert_eq!(erased.erased(), erased);
}
