//! Deleting jobs whose retention is over: what remains is exact, and verification still finds faults.

use crate::support::*;
use std::collections::BTreeSet;
use std::time::Duration;
use tintype_storage::domain::batch::BatchStatus;
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::delivery::{self, Attempt, DeliveryId};
use tintype_storage::domain::ids::{BatchId, JobId};
use tintype_storage::domain::job::{Job, JobEvent};
use tintype_storage::domain::time::DAY_MILLIS;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::{
    BATCH_PROGRESS, BATCHES, DAILY_USAGE, ENDED_JOBS, SEARCH_INDEX,
};
use tintype_storage::store::{JobRange, NewJob, Part, Store, Writes};
use tintype_storage::testing::samples;
use uuid::Uuid;

/// Deletes everything that ended before a day. Returns the number of commits.
pub fn forget(store: &Store, first_kept: i64) -> usize {
    let mut commits = 0;
    let mut cursor = Vec::new();
    loop {
        let step = store.delete_old_batches(first_kept, &cursor).wait();
        let (writes, next) = step.expect("batches");
        commits += usize::from(!writes.is_empty());
        commit(store, writes);
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    loop {
        let step = store.delete_ended_jobs(first_kept, &cursor).wait();
        let (deletion, next) = step.expect("jobs");
        commits += usize::from(deletion.is_some());
        deletion.into_iter().for_each(|it| decide(store, it));
        cursor = next;
        if cursor.is_empty() {
            return commits;
        }
    }
}

/// Delivers the webhook of a job or batch, and deletes the delivery.
fn deliver(till: &Till, subject: Uuid) {
    let (store, now) = (&till.store, at(till.now));
    let found = store.delivery(DeliveryId(subject)).wait().expect("read");
    let before = found.expect("a delivery");
    let attempt = Attempt::responded(0, now, Duration::ZERO, 200, b"", None);
    let after = delivery::record_attempt(&before, &attempt, attempt.ended_at(), &[]);
    commit(store, store.record_attempt(&before, &after, &attempt));
    let step = store.find_old_deliveries(at(till.now + 1), &[], 999, |_| false);
    commit(store, step.wait().expect("deliveries").writes);
}

pub fn on_day(day: i64) -> i64 {
    day * DAY_MILLIS + 5_000
}

pub fn all_ids(till: &Till) -> Vec<JobId> {
    let jobs = till.store.jobs_of(ACCOUNT, Part::All, JobRange::ALL, 99);
    let mut ids: Vec<JobId> = jobs.wait().expect("jobs").iter().map(|it| it.id).collect();
    ids.reverse();
    ids
}

fn prompted(prompt: &str) -> NewJob {
    NewJob {
        prompt: samples::prompt(prompt.to_owned()),
        ..new_job(amount("0.20"))
    }
}

/// Accepts a job and ends it on a day.
fn done_on(till: &mut Till, day: i64, new: NewJob) -> JobId {
    till.now = on_day(day);
    let job = till.accept(new).expect("accept").job;
    complete(till, job);
    job
}

/// A batch of two jobs.
pub fn accept_batch(till: &mut Till) -> (BatchId, [JobId; 2]) {
    let accepted = till.accept_batch(&new_batch(2, "0.10"));
    let id = accepted.expect("batch").batch;
    let found = till.store.batch(ACCOUNT, id).wait();
    let (batch, _) = found.expect("read").expect("the batch");
    (id, [batch.first, batch.last])
}

pub fn complete(till: &mut Till, job: JobId) {
    till.apply(job, begin()).expect("begin");
    till.apply(job, finish()).expect("finish");
}

#[test]
fn jobs_are_deleted_a_whole_day_after_their_retention_and_the_money_stays_exact() {
    let mut till = Till::with("100");
    let old = done_on(&mut till, 1, prompted("an old fox"));
    let failed = till.running("0.20");
    till.apply(failed, fail()).expect("fail");
    let live = till.running("0.20");
    let (batch, members) = accept_batch(&mut till);
    members.into_iter().for_each(|job| complete(&mut till, job));
    let favourite = done_on(&mut till, 1, prompted("a favourite"));
    commit(
        &till.store,
        till.store.put_favourite(ACCOUNT, favourite, at(1)),
    );
    commit(
        &till.store,
        till.store.put_deleted_image(ACCOUNT, old, at(1)),
    );
    let on_the_day = done_on(&mut till, 2, prompted("a day later"));
    let recent = done_on(&mut till, 3, prompted("recent"));
    till.check();
    let figures = till.figures();

    assert_eq!(forget(&till.store, 1), 0, "all ended on day 1 or later");
    assert!(forget(&till.store, 2) > 0);
    assert_eq!(all_ids(&till), [live, favourite, on_the_day, recent]);
    for gone in [old, failed, members[0], members[1]] {
        assert_eq!(till.store.job(ACCOUNT, gone).wait().expect("read"), None);
    }
    assert_eq!(till.store.batch(ACCOUNT, batch).wait().expect("read"), None);
    assert_eq!(till.figures(), figures);
    till.check();

    assert_eq!(forget(&till.store, 2), 0, "nothing is left to delete");
    commit(&till.store, till.store.remove_favourite(ACCOUNT, favourite));
    assert_eq!(forget(&till.store, 2), 1);
    assert_eq!(all_ids(&till), [live, on_the_day, recent]);
    till.check();
    // The account continues as before.
    till.apply(live, finish()).expect("finish");
    done_on(&mut till, 4, prompted("another"));
    till.check();
}

#[test]
fn the_jobs_of_a_batch_stay_until_the_whole_batch_is_old() {
    let mut till = Till::with("100");
    till.now = on_day(1);
    let (batch, [first, last]) = accept_batch(&mut till);
    complete(&mut till, first);
    assert_eq!(forget(&till.store, 9), 0, "a job of the batch is queued");
    till.now = on_day(3);
    till.apply(last, JobEvent::Cancel).expect("cancel");
    assert_eq!(forget(&till.store, 3), 0, "the batch ended on day 3");
    let found = till.store.batch(ACCOUNT, batch).wait();
    let (_, progress) = found.expect("read").expect("the batch");
    assert_eq!(progress.status(), BatchStatus::Ended);
    till.check();
    assert_eq!(
        forget(&till.store, 4),
        2,
        "one for the batch, one for its jobs"
    );
    assert_eq!(all_ids(&till), []);
    till.check();
}

#[test]
fn jobs_and_batches_stay_while_their_delivery_is_on_record() {
    let mut till = Till::with("100");
    commit(&till.store, till.store.put_webhook(&webhook()));
    let job = done_on(&mut till, 1, prompted("a fox"));
    let (batch, members) = accept_batch(&mut till);
    members.into_iter().for_each(|job| complete(&mut till, job));
    assert_eq!(forget(&till.store, 99), 0, "both deliveries are pending");
    deliver(&till, job.0);
    assert_eq!(forget(&till.store, 99), 1);
    assert_eq!(all_ids(&till), members);
    till.check();
    deliver(&till, batch.0);
    assert_eq!(forget(&till.store, 99), 2);
    assert_eq!(all_ids(&till), []);
    till.check();
}

#[test]
fn the_search_index_loses_the_words_of_deleted_prompts() {
    let mut till = Till::with("100");
    let secret = done_on(&mut till, 1, prompted("confidential fox"));
    let words = |from: usize| (from..from + 2_000).map(|word| format!("w{word}"));
    // Enough words to fill a block.
    let long = words(0).collect::<Vec<_>>().join(" ");
    let kept = done_on(&mut till, 3, prompted(&long));
    let block = till.store.next_search_block(ACCOUNT, kept.next()).wait();
    let store = till.store.clone();
    commit(&store, block.expect("read").into_iter().collect());
    let may_hold = |word: &str| {
        let blocks = SEARCH_INDEX.all(&store).wait().expect("blocks");
        let words = [word.to_owned()];
        blocks.iter().any(|(_, block)| block.may_hold(&words))
    };
    assert!(may_hold("confidential") && may_hold("w1999"));
    assert_eq!(forget(&store, 2), 1);
    assert_eq!(store.job(ACCOUNT, secret).wait().expect("read"), None);
    assert!(!may_hold("confidential") && may_hold("w1999"));
    assert_eq!(forget(&store, 4), 1);
    assert!(SEARCH_INDEX.all(&store).wait().expect("blocks").is_empty());
    till.check();
}

#[test]
fn verification_still_finds_faults_of_kept_and_of_deleted_jobs() {
    let faults_after = |damage: fn(&Till, JobId) -> Writes| {
        let mut till = Till::with("100");
        done_on(&mut till, 1, prompted("old"));
        let recent = done_on(&mut till, 3, prompted("recent"));
        forget(&till.store, 2);
        till.check();
        let writes = damage(&till, recent);
        commit(&till.store, writes);
        till.faults()
    };
    let lost = faults_after(|_, recent| vec![ENDED_JOBS.delete(&(ACCOUNT, recent))]);
    let lost = lost.join("\n");
    assert!(
        lost.contains("does not belong to exactly one done job"),
        "{lost}"
    );
    let unpaid = faults_after(|till, _| {
        let usage = DAILY_USAGE.all(&till.store).wait().expect("usage");
        let of_day = usage.iter().find(|(key, _)| key.day == 1);
        vec![DAILY_USAGE.delete(&of_day.expect("the usage of day 1").0)]
    });
    let unpaid = unpaid.join("\n");
    assert!(unpaid.contains("its done jobs cost"), "{unpaid}");
}

/// A restart may come between the two steps.
#[test]
fn a_sweep_that_stops_between_a_batch_and_its_jobs_leaves_a_sound_store() {
    let mut till = Till::with("100");
    till.now = on_day(1);
    let (batch, members) = accept_batch(&mut till);
    members.into_iter().for_each(|job| complete(&mut till, job));
    let (writes, _) = till
        .store
        .delete_old_batches(2, &[])
        .wait()
        .expect("batches");
    commit(&till.store, writes);
    assert_eq!(till.store.batch(ACCOUNT, batch).wait().expect("read"), None);
    assert_eq!(all_ids(&till), members);
    till.check();
}

#[test]
fn a_batch_behind_a_whole_step_of_kept_batches_is_deleted() {
    let mut till = Till::with("100");
    till.now = on_day(1);
    let mut batches = (0..251).map(|_| {
        let accepted = till.accept_batch(&new_batch(1, "0.10"));
        accepted.expect("batch").batch
    });
    let last = batches.by_ref().last().expect("a batch");
    let found = till.store.batch(ACCOUNT, last).wait().expect("read");
    let job = found.expect("the batch").0.first;
    till.apply(job, JobEvent::Cancel).expect("cancel");
    forget(&till.store, 2);
    assert_eq!(till.store.batch(ACCOUNT, last).wait().expect("read"), None);
    assert_eq!(BATCHES.all(&till.store).wait().expect("batches").len(), 250);
    till.check();
}

#[test]
fn the_failed_jobs_of_a_key_that_never_paid_are_deleted_without_a_fault() {
    let mut till = Till::with("100");
    till.now = on_day(1);
    let new = NewJob {
        key: key(2),
        ..new_job(amount("0.20"))
    };
    let failed = till.accept(new).expect("accept").job;
    till.apply(failed, JobEvent::Cancel).expect("cancel");
    assert_eq!(forget(&till.store, 2), 1);
    assert_eq!(all_ids(&till), []);
    till.check();
}

/// The first moment that is kept.
#[test]
fn a_job_that_ended_at_midnight_counts_for_the_new_day() {
    let mut till = Till::with("100");
    done_on(&mut till, 1, prompted("old"));
    till.now = 2 * DAY_MILLIS;
    let at_midnight = till.running("0.20");
    till.apply(at_midnight, finish()).expect("finish");
    let (batch, members) = accept_batch(&mut till);
    members.into_iter().for_each(|job| complete(&mut till, job));
    assert_eq!(forget(&till.store, 2), 1);
    assert_eq!(all_ids(&till), [at_midnight, members[0], members[1]]);
    till.check();
    let key = (ACCOUNT, batch);
    let lost = vec![BATCHES.delete(&key), BATCH_PROGRESS.delete(&key)];
    commit(&till.store, lost);
    let of_no_batch = members
        .map(|job| format!("job {job} is of batch {batch}, which account {ACCOUNT} does not have"));
    assert_eq!(till.faults(), of_no_batch);
    let lost = vec![ENDED_JOBS.delete(&(ACCOUNT, at_midnight))];
    commit(&till.store, lost);
    let faults = till.faults().join("\n");
    for fault in [
        "does not belong to exactly one done job",
        "the usage of key",
    ] {
        assert!(faults.contains(fault), "{faults}");
    }
}

/// The usage of a day whose jobs may have been deleted counts at least the jobs that are left.
#[test]
fn usage_below_the_jobs_that_are_left_of_a_day_is_reported() {
    let mut till = Till::with("100");
    done_on(&mut till, 1, prompted("old"));
    let done = [1, 2].map(|_| done_on(&mut till, 1, prompted("a favourite")));
    let failed = till.running("0.20");
    till.apply(failed, fail()).expect("fail");
    for job in [done[0], done[1], failed] {
        commit(&till.store, till.store.put_favourite(ACCOUNT, job, at(1)));
    }
    forget(&till.store, 2);
    assert_eq!(all_ids(&till), [done[0], done[1], failed]);
    till.check();
    let [done, _, failed] = [done[0], done[1], failed].map(|job| {
        let job = till.store.job(ACCOUNT, job).wait().expect("read");
        job.expect("a favourite")
    });
    let usage = DAILY_USAGE.all(&till.store).wait().expect("usage");
    let (of_day, sound) = usage.into_iter().next().expect("the usage of day 1");
    let of_price = |price: &str| Job {
        price: amount(price),
        ..done.clone()
    };
    let counted = |jobs: &[Job]| {
        let mut usage = DailyUsage::default();
        jobs.iter().for_each(|job| usage.count(job).expect("usage"));
        usage
    };
    let is_reported = |usage: &DailyUsage| {
        commit(&till.store, vec![DAILY_USAGE.put(&of_day, usage)]);
        let faults = till.faults();
        faults.iter().any(|it| it.starts_with("the usage of key"))
    };
    assert!(!is_reported(&sound));
    let (cheap, dear) = (of_price("0.10"), of_price("1.00"));
    assert!(is_reported(&counted(&[
        cheap.clone(),
        cheap,
        failed.clone()
    ])));
    assert!(is_reported(&counted(&[dear.clone(), failed])));
    assert!(is_reported(&counted(&[dear.clone(), dear])));
}

/// Each block of the search index has exactly the words of its remaining jobs.
fn assert_index(store: &Store) {
    for ((_, last), block) in SEARCH_INDEX.all(store).wait().expect("blocks") {
        let jobs = store.rising_jobs_of(ACCOUNT, Part::All, block.first, last, 999);
        let jobs = jobs.wait().expect("jobs");
        assert_eq!(jobs.last().map(|job| job.id), Some(last));
        assert!(block.is_of(&jobs), "the block up to {last}");
    }
}

/// What a random walk knows of a job.
struct Known {
    id: JobId,
    batch: Option<BatchId>,
    ended: Option<i64>,
    is_favourite: bool,
}

/// Is this job deleted by a retention that keeps everything from a day on? `undelivered`: jobs and batches whose delivery exists.
fn is_deletable(all: &[Known], undelivered: &BTreeSet<Uuid>, job: &Known, first_kept: i64) -> bool {
    let is_old = |it: &Known| it.ended.is_some_and(|day| day < first_kept);
    let mut batch = all.iter().filter(|it| it.batch == job.batch);
    is_old(job)
        && !job.is_favourite
        && !undelivered.contains(&job.delivery())
        && (job.batch.is_none() || batch.all(is_old))
}

/// Accepts, ends, marks and deletes jobs at random, and compares what is left after each deletion.
fn walk(seed: u64) {
    let mut random = Random(seed);
    let mut till = Till::with("100");
    let mut jobs: Vec<Known> = Vec::new();
    let mut undelivered = BTreeSet::new();
    let has_webhook = seed.is_multiple_of(2);
    if has_webhook {
        commit(&till.store, till.store.put_webhook(&webhook()));
    }
    let mut deleted = 0;
    for step in 0..150 {
        till.now += random.below(6 * 3_600_000) as i64;
        let today = at(till.now).day();
        match random.below(9) {
            0 | 1 => {
                // Three of these fill a block of the search index.
                let words = (0..400).map(|word| format!("{seed}word{step}of{word}"));
                let words = words.collect::<Vec<_>>().join(" ");
                let id = till.accept(prompted(&words)).expect("accept").job;
                jobs.push(Known::new(id, None));
            }
            2 => {
                let (batch, ids) = accept_batch(&mut till);
                jobs.extend(ids.map(|id| Known::new(id, Some(batch))));
            }
            3 | 4 => {
                let mut live = jobs.iter_mut().filter(|it| it.ended.is_none());
                if let Some(job) = live.next() {
                    job.ended = Some(today);
                    match random.below(3) {
                        0 => drop(till.apply(job.id, JobEvent::Cancel).expect("cancel")),
                        _ => complete(&mut till, job.id),
                    }
                    let (delivery, batch) = (job.delivery(), job.batch);
                    let mut batch = jobs.iter().filter(|it| it.batch == batch);
                    let is_last = batch.all(|it| it.batch.is_none() || it.ended.is_some());
                    if has_webhook && is_last {
                        undelivered.insert(delivery);
                    }
                }
            }
            5 => {
                let ended = jobs.iter_mut().filter(|it| it.ended.is_some());
                if let Some(job) = ended.last() {
                    job.is_favourite = !job.is_favourite;
                    let writes = match job.is_favourite {
                        true => till.store.put_favourite(ACCOUNT, job.id, at(till.now)),
                        false => till.store.remove_favourite(ACCOUNT, job.id),
                    };
                    commit(&till.store, writes);
                }
            }
            6 => {
                if let Some(newest) = jobs.last() {
                    let block = till.store.next_search_block(ACCOUNT, newest.id.next());
                    let block = block.wait().expect("read");
                    commit(&till.store, block.into_iter().collect());
                }
            }
            7 => {
                if let Some(delivery) = undelivered.pop_first() {
                    deliver(&till, delivery);
                }
            }
            _ => {
                let first_kept = today - random.below(3) as i64;
                forget(&till.store, first_kept);
                let is_gone =
                    |at: &usize| is_deletable(&jobs, &undelivered, &jobs[*at], first_kept);
                let (gone, left): (Vec<_>, Vec<_>) = (0..jobs.len()).partition(is_gone);
                let left: Vec<JobId> = left.into_iter().map(|at| jobs[at].id).collect();
                jobs.retain(|job| left.contains(&job.id));
                deleted += gone.len();
                assert_eq!(all_ids(&till), left, "seed {seed}, step {step}");
                till.check();
                assert_index(&till.store);
            }
        }
    }
    assert!(deleted > 0, "seed {seed} deletes nothing");
}

impl Known {
    fn new(id: JobId, batch: Option<BatchId>) -> Self {
        Self {
            id,
            batch,
            ended: None,
            is_favourite: false,
        }
    }

    /// The id of its delivery, or of that of its batch.
    fn delivery(&self) -> Uuid {
        self.batch.map_or(self.id.0, |batch| batch.0)
    }
}

#[test]
fn exactly_the_old_jobs_are_deleted_in_any_order_of_events() {
    (0..30).for_each(walk);
}
