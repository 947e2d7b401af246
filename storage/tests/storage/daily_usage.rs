//! Daily usage: each ended job counts once, on its day, under its key.

use crate::support::*;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::ids::KeyId;
use tintype_storage::domain::job::JobEvent;
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::domain::time::DAY_MILLIS;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::commit_and_wait;
use tintype_storage::store::tables::DAILY_USAGE;
use tintype_storage::store::{NewJob, Store};

const ALL: RangeInclusive<i64> = 0..=i64::MAX;

/// Day, key, done, failed, spent.
type UsageRow = (i64, KeyId, u64, u64, String);

fn usage_rows(store: &Store, days: RangeInclusive<i64>) -> Vec<UsageRow> {
    let mut found = Vec::new();
    store
        .each_daily_usage(ACCOUNT, days, |place, usage| {
            let totals = usage.totals();
            let spent = totals.spent.to_string();
            found.push((place.day, place.key, totals.done, totals.failed, spent));
            Ok(())
        })
        .wait()
        .expect("tallies");
    found
}

fn run(till: &mut Till, number: u128, event: JobEvent) {
    let new = NewJob {
        key: key(number),
        ..new_job(amount("0.10"))
    };
    let job = till.accept(new).expect("accepted").job;
    till.apply(job, begin()).expect("begun");
    till.apply(job, event).expect("ended");
}

#[test]
fn each_ended_job_counts_on_its_day_under_its_key() {
    let mut till = Till::with("10");
    till.now = 3 * DAY_MILLIS - 1;
    run(&mut till, 1, finish());
    till.now = 3 * DAY_MILLIS;
    run(&mut till, 1, finish());
    run(&mut till, 2, fail());
    run(&mut till, 1, finish());
    let canceled = till.accept(new_job(amount("0.10"))).expect("accepted").job;
    till.apply(canceled, JobEvent::Cancel).expect("canceled");
    let one =
        |day, number, done, failed, spent: &str| (day, key(number), done, failed, spent.to_owned());
    let mut expected = vec![
        one(2, 1, 1, 0, "0.10"),
        one(3, 1, 2, 0, "0.20"),
        one(3, 2, 0, 1, "0.00"),
    ];
    // The key of `new_job`.
    let plain = new_job(amount("0.10")).key;
    match expected.iter_mut().find(|it| it.0 == 3 && it.1 == plain) {
        Some(same) => same.3 += 1,
        None => expected.push((3, plain, 0, 1, "0.00".into())),
    }
    expected.sort();
    let mut found = usage_rows(&till.store, ALL);
    found.sort();
    assert_eq!(found, expected);
    assert_eq!(usage_rows(&till.store, 0..=2), expected[..1]);
    assert_eq!(usage_rows(&till.store, 3..=3).len(), expected.len() - 1);
    assert_eq!(usage_rows(&till.store, 4..=i64::MAX), []);
    till.check();
}

#[test]
fn all_jobs_ended_in_one_round_are_counted_even_if_the_clock_jumps() {
    let mut till = Till::with("10");
    let jobs: Vec<_> = (0..6).map(|_| till.running("0.10")).collect();
    till.decisions(|decisions, ids| {
        for (at, job) in jobs.iter().enumerate() {
            ids.now = crate::support::at(DAY_MILLIS * (2 + at as i64 % 2));
            ids.apply(decisions, *job, finish()).expect("finish");
        }
    });
    let mut days: BTreeMap<i64, u64> = BTreeMap::new();
    for (day, _, done, ..) in usage_rows(&till.store, ALL) {
        *days.entry(day).or_default() += done;
    }
    assert_eq!(days, BTreeMap::from([(2, 3), (3, 3)]));
    till.check();
}

#[test]
fn a_missing_daily_usage_and_a_wrong_one_are_found() {
    let mut till = Till::with("10");
    run(&mut till, 1, finish());
    run(&mut till, 1, fail());
    let range = tintype_storage::engine::KeyRange::prefix(b"d");
    let rising = tintype_storage::engine::Direction::Rising;
    let pairs = till
        .store
        .engine()
        .scan(&range, rising, 100)
        .wait()
        .expect("scan");
    let commit = |writes| commit_and_wait(&**till.store.engine(), writes).expect("commit");
    let [(key, value)] = pairs.try_into().expect("one record");
    commit(vec![(key.clone(), None)]);
    let [fault] = till.faults().try_into().expect("one fault");
    assert!(fault.contains("no usage record"), "{fault}");
    let right = DAILY_USAGE.decode(&value).expect("usage");
    let fault_of = |wrong: DailyUsage| {
        commit(vec![(key.clone(), Some(DAILY_USAGE.encode(&wrong)))]);
        let [fault] = till.faults().try_into().expect("one fault");
        fault
    };
    let mut wrong = right.clone();
    wrong.models[0].totals.failed += 1;
    let fault = fault_of(wrong);
    assert!(
        fault.contains("says 1 done, 2 failed, 0.10 spent; by its jobs it is 1, 1 and 0.10"),
        "{fault}"
    );
    let mut wrong = right;
    wrong.models[0].resolution = Resolution::K4;
    let fault = fault_of(wrong);
    assert!(fault.contains("counts other models or sizes"), "{fault}");
    commit(vec![(key, Some(value))]);
    till.check();
}

#[test]
fn each_model_and_size_is_counted_by_itself() {
    let mut till = Till::with("10");
    let sizes = [
        (Tier::Pro, Resolution::K4),
        (Tier::Fast, Resolution::K1),
        (Tier::Pro, Resolution::K4),
    ];
    for (tier, resolution) in sizes {
        let new = NewJob {
            tier,
            resolution,
            ..new_job(amount("0.10"))
        };
        let job = till.accept(new).expect("accepted").job;
        till.apply(job, begin()).expect("begun");
        let is_fast = tier == Tier::Fast;
        till.apply(job, if is_fast { fail() } else { finish() })
            .expect("ended");
    }
    let mut found = Vec::new();
    let read = till.store.each_daily_usage(ACCOUNT, ALL, |_, usage| {
        found.extend(usage.models);
        Ok(())
    });
    read.wait().expect("usage");
    let faults: Vec<_> = found
        .iter()
        .map(|it| {
            let totals = it.totals;
            (
                it.tier,
                it.resolution,
                totals.done,
                totals.failed,
                totals.spent.to_string(),
            )
        })
        .collect();
    let expected = [
        (Tier::Fast, Resolution::K1, 0, 1, "0.00".to_owned()),
        (Tier::Pro, Resolution::K4, 2, 0, "0.20".to_owned()),
    ];
    assert_eq!(faults, expected);
    till.check();
}

#[test]
fn a_visit_begins_at_a_day_and_key_and_ends_when_it_breaks() {
    let mut till = Till::with("10");
    for day in [2, 3, 4] {
        till.now = day * DAY_MILLIS;
        run(&mut till, 1, finish());
        run(&mut till, 2, finish());
    }
    let visited = |from: (i64, KeyId), last: i64, count: usize| {
        let mut found = Vec::new();
        let read = till
            .store
            .daily_usage_until(ACCOUNT, from, last, |place, _| {
                found.push((place.day, place.key));
                match found.len() == count {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
        read.wait().expect("usage");
        found
    };
    let mut all = visited((0, key(1)), i64::MAX, usize::MAX);
    assert_eq!(all.len(), 6);
    assert_eq!(visited(all[1], i64::MAX, 3), all[1..4]);
    assert_eq!(visited(all[1], 3, 9), all[1..4]);
    all.sort();
    assert_eq!(visited((0, key(1)), i64::MAX, usize::MAX), all);
    till.check();
}
