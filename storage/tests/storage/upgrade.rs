//! A data directory whose records have an earlier shape: it opens, passes the audit, keeps what it held, and can be exported.

use crate::support::{ACCOUNT, Till, amount, at, begin, finish, new_job, no_failure, uuid};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::KeyId;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Direction, KeyRange, commit_and_wait};
use tintype_storage::export::{load, write};
use tintype_storage::store::Store;
use tintype_storage::store::migrations::{AccountV1, ApiKeyV1};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;

fn open(directory: &Path) -> Store {
    let options = SledOptions {
        lock_timeout: Duration::from_secs(60),
        ..SledOptions::new(no_failure())
    };
    let engine = SledEngine::open(directory, options).expect("open");
    Store::new(Arc::new(engine))
}

/// The first byte of the account's record, which is its version.
fn version(store: &Store) -> u8 {
    let accounts = KeyRange::prefix(b"a");
    let pairs = store.engine().scan(&accounts, Direction::Rising, 2).wait();
    let [(_, value)] = pairs.expect("scan").try_into().expect("one account");
    value[0]
}

/// Writes an account with a job that is done and one that is queued, as format 1 would have.
fn write_format_1(directory: &Path) -> Account {
    let store = open(directory);
    let mut till = Till::open(Arc::clone(store.engine()), ACCOUNT, amount("10"));
    let done = till.running("0.10");
    till.apply(done, finish()).expect("finish");
    till.accept(new_job(amount("0.20"))).expect("accept");
    till.check();
    let account = Account {
        active: false,
        ..store
            .account(ACCOUNT)
            .wait()
            .expect("read")
            .expect("the account")
    };
    let earlier = AccountV1 {
        id: account.id,
        name: account.name.clone(),
        balances: account.balances,
        created_at: account.created_at,
        active: false,
    };
    let value = [vec![1], postcard::to_stdvec(&earlier).expect("encode")].concat();
    let key = [b"a", ACCOUNT.as_bytes().as_slice()].concat();
    commit_and_wait(&**store.engine(), vec![(key, Some(value))]).expect("commit");
    drop(till);
    store.engine().close();
    account
}

fn holds(store: &Store, account: &Account) {
    let found = store.account(ACCOUNT).wait().expect("read");
    assert_eq!(found.as_ref(), Some(account));
    let report = verify(store, |_| {}).expect("audit");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.live_jobs, report.ended_jobs), (1, 1));
}

#[test]
fn a_directory_of_an_earlier_format_opens_adds_up_and_is_exported_in_the_present_one() {
    let directory = tempfile::tempdir().expect("directory");
    let account = write_format_1(directory.path());
    let store = open(directory.path());
    assert_eq!(version(&store), 1);
    holds(&store, &account);
    let mut text = Vec::new();
    let snapshot = Arc::clone(store.engine()).snapshot().expect("a snapshot");
    write(snapshot, |block| {
        text.extend(block);
        Ok::<_, Infallible>(())
    })
    .expect("an export");
    let copy = MemoryEngine::new();
    load(&copy, &text[..], |_| {}).expect("imported");
    let copy = Store::new(Arc::new(copy));
    assert_eq!(version(&copy), 2);
    holds(&copy, &account);
    store.engine().close();
}

#[test]
fn the_next_change_of_a_record_writes_it_in_the_present_format() {
    let directory = tempfile::tempdir().expect("directory");
    let account = write_format_1(directory.path());
    let store = open(directory.path());
    let mut till = Till::reload(store.clone(), ACCOUNT);
    till.continue_after(2_000);
    let live = store
        .jobs_of(ACCOUNT, tintype_storage::store::Part::Live, None, None, 10)
        .wait();
    let job = live.expect("jobs")[0].id;
    till.apply(job, begin()).expect("begin");
    assert_eq!(version(&store), 1, "this step leaves the account as it was");
    till.apply(job, finish()).expect("finish");
    assert_eq!(version(&store), 2);
    let after = store
        .account(ACCOUNT)
        .wait()
        .expect("read")
        .expect("the account");
    assert_eq!((&after.name, after.active), (&account.name, false));
    assert_eq!(after.low_balance, None);
    till.check();
    drop(till);
    store.engine().close();
}

#[test]
fn a_key_of_an_earlier_format_is_found_by_its_hash() {
    let store = Store::new(Arc::new(MemoryEngine::new()));
    let key = ApiKey {
        name: "ci".into(),
        active: false,
        spend_limit: Some(amount("5")),
        ..ApiKey::with_all_rights(KeyId(uuid(7)), ACCOUNT, at(1_000))
    };
    let earlier = ApiKeyV1 {
        id: key.id,
        account: key.account,
        name: key.name.clone(),
        models: None,
        active: false,
        expires_at: None,
        spend_limit: key.spend_limit,
        spend_limit_daily: None,
        spend_limit_monthly: None,
        rate_limit: None,
        allowed_ips: Vec::new(),
        retired: Vec::new(),
        created_at: key.created_at,
    };
    let hash = KeyHash([3; 32]);
    let stored = [b"h".as_slice(), &hash.0].concat();
    let value = [vec![1], postcard::to_stdvec(&earlier).expect("encode")].concat();
    commit_and_wait(&**store.engine(), vec![(stored, Some(value))]).expect("commit");
    let found = store.key_by_hash(&hash).wait().expect("read");
    assert_eq!(found, Some(key));
}
