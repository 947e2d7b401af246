//! Fills a data directory with accounts and keys, finished jobs and queued jobs, through the decisions and the engine of the
//! service. Prints the keys and ids that calls can use.

use crate::fill::{finish, limits, new_account, new_job};
use std::path::Path;
use std::sync::Arc;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::{self, ApiKey};
use tintype_storage::domain::ids::{IdSource, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{FailureKind, JobEvent};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine as _, commit_and_wait};
use tintype_storage::store::{AccountState, RoundReads, Store, Writes};

/// Accounts or jobs per commit.
const STEP: usize = 1_000;
/// Maximum number of accounts with jobs.
const BUSY: usize = 1_000;
/// Maximum number of printed job ids.
const PRINTED: usize = 20_000;
/// One of this many finished jobs has failed.
const FAILED: usize = 10;

/// How much of each to add.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preload {
    pub accounts: usize,
    pub queued: usize,
    pub finished: usize,
}

/// An account with jobs.
struct Busy {
    book: AccountState,
    key: KeyId,
    /// The key's text.
    text: String,
}

/// Adds a preload to a data directory, and prints a key and a job id per line, with jobs of all ages.
pub fn run(data_dir: &Path, preload: Preload) -> anyhow::Result<()> {
    let engine = Arc::new(SledEngine::open(
        &data_dir.join("store"),
        SledOptions::new(Arc::new(|error| panic!("the engine failed: {error}"))),
    )?);
    let store = Store::new(engine.clone());
    let ids = IdSource::new(Timestamp::now());
    let jobs = preload.queued + preload.finished;
    let busy = preload.accounts.min(jobs).clamp(1, BUSY);
    let mut busy = open_accounts(&store, &ids, preload.accounts, busy)?;
    let (mut made, mut turn) = (0, 0);
    while made < jobs {
        let end = made < preload.finished;
        let left = if end { preload.finished } else { jobs } - made;
        let step = (left / busy.len()).clamp(1, STEP).min(left);
        let number = turn % busy.len();
        let of_it = add_jobs(&store, &ids, &mut busy[number], step, end)?;
        for (at, job) in (made..).zip(of_it) {
            if at % (jobs / PRINTED).max(1) == 0 {
                println!("{} {job}", busy[number].text);
            }
        }
        made += step;
        turn += 1;
    }
    engine.close();
    Ok(())
}

/// Creates accounts with one key each, and returns evenly spread ones that get jobs.
fn open_accounts(
    store: &Store,
    ids: &IdSource,
    accounts: usize,
    busy: usize,
) -> anyhow::Result<Vec<Busy>> {
    let mut found = Vec::with_capacity(busy);
    let mut writes = Writes::new();
    for number in 0..accounts {
        let now = Timestamp::now();
        let (account, entry) = new_account(ids, number)?;
        let text = api_key::text(&rand::random());
        let key = new_key(&account, ids, now);
        writes.extend(store.open_account(&account, Some(&entry)));
        writes.extend(store.put_key(&api_key::hash(&text), &key));
        if number % (accounts / busy) == 0 && found.len() < busy {
            found.push(Busy {
                book: AccountState::without_jobs(account),
                key: key.id,
                text,
            });
        }
        if number % STEP == STEP - 1 || number + 1 == accounts {
            commit_and_wait(store.engine().as_ref(), std::mem::take(&mut writes))?;
        }
    }
    Ok(found)
}

fn new_key(account: &Account, ids: &IdSource, now: Timestamp) -> ApiKey {
    ApiKey {
        name: "filled".into(),
        ..ApiKey::with_all_rights(KeyId(ids.next(now)), account.id, now)
    }
}

/// Writes jobs of one account in one commit, ended ones if `end`.
fn add_jobs(
    store: &Store,
    ids: &IdSource,
    busy: &mut Busy,
    jobs: usize,
    end: bool,
) -> anyhow::Result<Vec<JobId>> {
    let mut made = Vec::with_capacity(jobs);
    let reads = RoundReads::new(store);
    let mut decisions = busy.book.decisions(&reads, limits());
    for number in 0..jobs {
        let now = Timestamp::now();
        let job = JobId(ids.next(now));
        decisions.accept(job, &new_job(busy.key)?, now)?;
        if end {
            let ending = match number % FAILED {
                0 => JobEvent::Fail {
                    kind: FailureKind::Broken,
                    error: "the backend gave up".into(),
                },
                _ => finish(job),
            };
            for event in [JobEvent::Begin { max_runs: 1 }, ending] {
                decisions.apply(job, event, TransactionId(ids.next(now)), now)?;
            }
        }
        made.push(job);
    }
    let decided = decisions.finish()?;
    commit_and_wait(store.engine().as_ref(), decided.writes)?;
    busy.book.apply(decided.change);
    Ok(made)
}
