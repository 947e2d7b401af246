//! The chart of the last 24 hours.

use crate::panel_pages::Desk;
use crate::support::Options;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;
use tintype_storage::domain::ids::JobId;
use tintype_storage::domain::job::Job;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::DailyUsageKey;
use tintype_storage::store::tables::{DAILY_USAGE, ENDED_JOBS};
use uuid::Uuid;

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn one_day_is_charted_hour_by_hour() {
    let mut desk = Desk::new(Options::new());
    desk.make(json!({}));
    desk.server.clock.advance(Duration::from_secs(2 * 3_600));
    desk.sign_in();
    desk.make(json!({}));
    let hours = desk.get("/overview?days=1")["days"].clone();
    let hours = hours.as_array().unwrap();
    assert_eq!(hours.len(), 24);
    let told = |at: usize| json!([hours[at]["hour"], hours[at]["done"], hours[at]["spent"]]);
    assert_eq!(told(21), json!(["2026-11-18T11:00:00.000Z", 1, "0.039"]));
    assert_eq!(told(22), json!(["2026-11-18T12:00:00.000Z", 0, "0.00"]));
    assert_eq!(told(23), json!(["2026-11-18T13:00:00.000Z", 1, "0.039"]));
    let key = format!("/keys/{}?days=1", desk.customer.key_id);
    assert_eq!(desk.get(&key)["days"][23]["done"], 1);
    assert_eq!(desk.get("/overview?days=1")["today"]["done"], 2);
}

#[test]
fn one_day_shows_a_job_that_waited_for_days() {
    let mut desk = Desk::new(Options::new());
    desk.server.generator.hold();
    let job = desk.server.create(&desk.customer);
    desk.server.clock.advance(DAY * 5);
    desk.server.generator.release_all();
    desk.server.job_once(&desk.customer, &job, "done");
    desk.sign_in();
    assert_eq!(desk.get("/overview?days=1")["days"][23]["done"], 1);
}

/// Adds jobs that ended when this one did, with older ids, and counts them.
fn add_copies_of(desk: &Desk, job: &str, numbers: Range<u128>) {
    let store = &desk.server.inside().store;
    let account = desk.customer.account.parse().unwrap();
    let model = store.job(account, job.parse().unwrap()).wait().unwrap();
    let model = model.unwrap();
    // Within the millisecond of the job.
    let first = model.id.0.as_u128() - (1 << 40);
    let copy = |at: u128| Job {
        id: JobId(Uuid::from_u128(first + at)),
        ..model.clone()
    };
    let jobs: Vec<Job> = numbers.map(copy).collect();
    for jobs in jobs.chunks(1_000) {
        let write = |job: &Job| ENDED_JOBS.put(&(job.account, job.id), job);
        let writes = jobs.iter().map(write).collect();
        commit_and_wait(&**store.engine(), writes).unwrap();
    }
    let day = model.state.finished_at().unwrap().day();
    let place = DailyUsageKey::of(&model, day);
    let usage = DAILY_USAGE.get(store, &place).wait().unwrap();
    let mut usage = usage.unwrap_or_default();
    for job in &jobs {
        usage.count(job).unwrap();
    }
    let writes = vec![DAILY_USAGE.put(&place, &usage)];
    commit_and_wait(&**store.engine(), writes).unwrap();
}

#[test]
fn one_day_is_charted_exactly_up_to_100_000_jobs() {
    let mut desk = Desk::new(Options::new());
    desk.make(json!({}));
    desk.sign_in();
    let job = desk.get("/jobs")["data"][0]["job_id"].clone();
    let key = format!("/keys/{}?days=1", desk.customer.key_id);
    add_copies_of(&desk, job.as_str().unwrap(), 1..100_000);
    let view = desk.get("/overview?days=1");
    assert_eq!(view["days"][23]["done"], 100_000);
    assert_eq!(view["days"][23]["spent"], "3900.00");
    assert_eq!(view["days_since"], Value::Null);
    // The chart of the key is another one, so it is not cached yet.
    add_copies_of(&desk, job.as_str().unwrap(), 0..1);
    let view = desk.get(&key);
    assert_eq!(view["days"][23]["done"], 100_000);
    assert_eq!(
        view["days_since"],
        desk.get("/jobs")["data"][0]["created_at"]
    );
}
