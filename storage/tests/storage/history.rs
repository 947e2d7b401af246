//! An account's live and ended jobs as one list: ranges, and jobs that end during the listing.

use crate::support::*;
use parking_lot::Mutex;
use std::sync::Arc;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{JobEvent, JobState};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine, EngineError, Holds, commit_and_wait};
use tintype_storage::store::{JobRange, Part, RoundReads, Store, Writes};
use tintype_storage::testing::layer::Layer;
use tintype_storage::testing::memory::MemoryEngine;

fn ids(store: &Store, part: Part, range: JobRange, limit: usize) -> Vec<JobId> {
    let jobs = store.jobs_of(ACCOUNT, part, range, limit).wait();
    jobs.expect("jobs").iter().map(|job| job.id).collect()
}

#[test]
fn pages_contain_all_jobs_newest_first_on_every_engine() {
    let directory = tempfile::tempdir().expect("a directory");
    let sled = SledEngine::open(directory.path(), SledOptions::new(no_failure())).expect("open");
    for engine in [
        Arc::new(MemoryEngine::new()) as Arc<dyn Engine>,
        Arc::new(sled),
    ] {
        let mut till = Till::open(Arc::clone(&engine), ACCOUNT, amount("100"));
        let mut jobs: Vec<JobId> = (0..9)
            .map(|_| till.accept(new_job(amount("1"))).expect("accept").job)
            .collect();
        let ended = [jobs[0], jobs[3], jobs[4], jobs[8]];
        for job in ended {
            till.apply(job, JobEvent::Cancel).expect("cancel");
        }
        // Jobs of another account, with ids between these.
        let mut other = Till::open(Arc::clone(&engine), AccountId(uuid(0xacd)), amount("9"));
        other.accept(new_job(amount("1"))).expect("accept");
        jobs.reverse();
        let store = &till.store;
        assert_eq!(ids(store, Part::All, JobRange::ALL, 99), jobs);
        let (live, over): (Vec<_>, Vec<_>) = jobs.iter().partition(|it| !ended.contains(it));
        assert_eq!(ids(store, Part::Live, JobRange::ALL, 99), live);
        assert_eq!(ids(store, Part::Ended, JobRange::ALL, 99), over);
        for limit in 1..=10 {
            let (mut found, mut below) = (Vec::new(), None);
            loop {
                let step = ids(store, Part::All, JobRange::below(below), limit);
                below = step.last().copied();
                if step.is_empty() {
                    break;
                }
                found.extend(step);
            }
            assert_eq!(found, jobs, "in steps of {limit}");
        }
        let range = |below: usize, from: usize| {
            let range = JobRange {
                from: Some(jobs[from]),
                below: Some(jobs[below]),
            };
            ids(store, Part::All, range, 99)
        };
        assert_eq!(range(2, 6), jobs[3..=6], "the upper end is left out");
        assert!(range(5, 5).is_empty() && range(6, 2).is_empty());
        engine.close();
    }
}

/// Commits something after its first scan.
struct Interrupting {
    inner: Arc<MemoryEngine>,
    holds: Arc<Holds>,
    then: Mutex<Option<Writes>>,
}

impl Layer for Interrupting {
    fn inner(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.inner) as _
    }

    fn holds(&self) -> &Arc<Holds> {
        &self.holds
    }

    fn after_scan(&self) -> Result<(), EngineError> {
        match self.then.lock().take() {
            Some(writes) => commit_and_wait(&*self.inner, writes),
            None => Ok(()),
        }
    }
}

#[test]
fn a_job_that_ends_while_it_is_listed_is_found_once_and_ended() {
    let engine = Arc::new(Interrupting {
        inner: Arc::default(),
        holds: Arc::default(),
        then: Mutex::new(None),
    });
    let mut till = Till::open(Arc::clone(&engine) as Arc<dyn Engine>, ACCOUNT, amount("9"));
    let jobs = [(); 3].map(|()| till.accept(new_job(amount("1"))).expect("accept").job);
    let reads = RoundReads::new(&till.store);
    let mut decisions = till.book.decisions(&reads, limits());
    let transaction = tintype_storage::domain::ids::TransactionId(uuid(7_777));
    decisions
        .apply(jobs[1], JobEvent::Cancel, transaction, at(2_000_000))
        .expect("cancel");
    *engine.then.lock() = Some(decisions.finish().expect("writes").writes);
    let found = till
        .store
        .jobs_of(ACCOUNT, Part::All, JobRange::ALL, 9)
        .wait();
    let found = found.expect("jobs");
    let ids: Vec<JobId> = found.iter().map(|job| job.id).collect();
    assert_eq!(ids, [jobs[2], jobs[1], jobs[0]]);
    assert!(matches!(found[1].state, JobState::Failed { .. }));
}
