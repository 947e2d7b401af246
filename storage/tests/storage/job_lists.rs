//! Lists of jobs: newest first, pages without gaps or repeats, live and ended jobs, one account or all.

use crate::support::{amount, at, encode, key, uuid};
use std::cell::Cell;
use std::sync::Arc;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{FailureKind, Job, JobState};
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::{JobWindow, Part, Store};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use uuid::Uuid;

fn account(number: u128) -> AccountId {
    AccountId(uuid(number))
}

/// A job accepted at this millisecond; every third one has ended.
fn job(account: AccountId, millis: u64) -> Job {
    let ended = JobState::Failed {
        started_at: None,
        finished_at: at(millis as i64),
        error: "canceled".into(),
        kind: FailureKind::Canceled,
    };
    Job {
        id: JobId(uuid(u128::from(millis) << 80 | 7)),
        account,
        key: key(1),
        tier: Tier::ALL[millis as usize % 3],
        price: amount("1"),
        created_at: at(millis as i64),
        ..samples::job(match millis.is_multiple_of(3) {
            true => ended,
            false => JobState::Queued,
        })
    }
}

/// Accounts 1 and 2, whose jobs alternate.
fn store(jobs: u64) -> Store {
    let engine: Arc<dyn Engine> = Arc::new(MemoryEngine::new());
    let store = Store::new(Arc::clone(&engine));
    for number in [1, 2] {
        let opened = Account::new(account(number), "a".into(), at(0));
        commit_and_wait(engine.as_ref(), store.open_account(&opened, None)).unwrap();
    }
    for millis in 1..=jobs {
        let job = job(account(1 + u128::from(millis % 2)), millis);
        let place = if job.state.is_terminal() { b'e' } else { b'l' };
        let name = [&[place][..], job.account.as_bytes(), job.id.as_bytes()].concat();
        commit_and_wait(engine.as_ref(), vec![(name, Some(encode(&job)))]).unwrap();
    }
    store
}

fn window(limit: usize, after: Option<[u8; 16]>) -> JobWindow {
    JobWindow {
        after,
        ..JobWindow::first(limit, 10_000)
    }
}

fn millis(jobs: &[Job]) -> Vec<i64> {
    jobs.iter().map(|job| job.created_at.millis()).collect()
}

#[test]
fn all_jobs_are_listed_newest_first_without_gaps_or_repeats() {
    let store = store(1_001);
    for limit in [1, 7, 200, 2_000] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = store
                .all_jobs(window(limit, after), |_| true)
                .wait()
                .unwrap();
            assert!(page.items.len() <= limit);
            found.extend(millis(&page.items));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(
            found,
            (1..=1_001).rev().collect::<Vec<_>>(),
            "limit {limit}"
        );
    }
}

#[test]
fn a_filtered_list_with_a_scan_limit_continues_by_its_cursor() {
    let store = store(900);
    let (mut found, mut after, mut parts) = (Vec::new(), None, 0);
    loop {
        let narrow = JobWindow {
            max_scanned: 100,
            ..window(1_000, after)
        };
        let page = store
            .filtered_jobs_of(account(1), narrow, |job| job.tier == Tier::Fast)
            .wait()
            .unwrap();
        found.extend(millis(&page.items));
        parts += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let wanted: Vec<i64> = (1..=900).rev().filter(|it| it % 6 == 0).collect();
    assert_eq!(found, wanted);
    assert!(parts > 1);
}

#[test]
fn a_list_of_all_accounts_examines_no_more_jobs_than_one_of_one_account() {
    let store = store(900);
    let looked_at = Cell::new(0);
    let narrow = JobWindow {
        max_scanned: 100,
        ..window(20, None)
    };
    let none = |_: &Job| {
        looked_at.set(looked_at.get() + 1);
        false
    };
    let page = store.all_jobs(narrow, none).wait().unwrap();
    assert_eq!((page.items.len(), looked_at.get()), (0, 100));
    // The scan covered exactly the newer jobs of both accounts.
    let next = JobId(Uuid::from_bytes(page.next.unwrap()));
    assert_eq!(next, job(account(1), 801).id);
}

#[test]
fn live_jobs_are_listed_without_ended_jobs_and_newer_jobs() {
    let store = store(60);
    let live = JobWindow {
        part: Part::Live,
        below: Some(job(account(1), 50).id),
        ..window(100, None)
    };
    let page = store.all_jobs(live, |_| true).wait().unwrap();
    let wanted: Vec<i64> = (1..50).rev().filter(|it| it % 3 != 0).collect();
    assert_eq!(millis(&page.items), wanted);
}

#[test]
fn no_listed_job_is_older_than_requested() {
    let store = store(50);
    let since = JobWindow {
        since: Some(at(40)),
        ..window(100, None)
    };
    let page = store.all_jobs(since, |_| true).wait().unwrap();
    assert_eq!(millis(&page.items), (40..=50).rev().collect::<Vec<_>>());
    assert!(
        store
            .find_job(job(account(1), 4).id)
            .wait()
            .unwrap()
            .is_some()
    );
}
