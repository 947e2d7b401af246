//! A data directory with records of earlier formats: it opens, verifies, keeps its content, and can be exported.

use crate::support::{ACCOUNT, Till, amount, at, begin, finish, key, new_job, no_failure, webhook};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::account_limits::AccountLimitsChange;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::job::{Job, JobState};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Direction, KeyRange, commit_and_wait};
use tintype_storage::export::{load, write};
use tintype_storage::store::migrations::{
    AccountV1, AccountV2, ApiKeyV1, DailyUsageV1, JobStateV1, JobV1, ResultImageV1, WebhookV1,
};
use tintype_storage::store::tables::{DAILY_USAGE, ENDED_JOBS};
use tintype_storage::store::{AcceptError, Part, Store};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::verify::verify;

/// The current version of accounts.
const PRESENT: u8 = 3;

fn open(directory: &Path) -> Store {
    let options = SledOptions {
        lock_timeout: Duration::from_secs(60),
        ..SledOptions::new(no_failure())
    };
    let engine = SledEngine::open(directory, options).expect("open");
    Store::new(Arc::new(engine))
}

/// The first byte of the account's record: its version.
fn version(store: &Store) -> u8 {
    let accounts = KeyRange::prefix(b"a");
    let pairs = store.engine().scan(&accounts, Direction::Rising, 2).wait();
    let [(_, value)] = pairs.expect("scan").try_into().expect("one account");
    value[0]
}

/// Writes a record in an earlier format.
fn rewrite(store: &Store, key: Vec<u8>, version: u8, record: &impl Serialize) {
    let value = postcard::to_extend(record, vec![version]).expect("encode");
    commit_and_wait(&**store.engine(), vec![(key, Some(value))]).expect("commit");
}

/// Writes an account with a key, a done job and a queued job in an earlier format.
fn write_format(format: u8, directory: &Path) -> Account {
    let store = open(directory);
    let mut till = Till::open(Arc::clone(store.engine()), ACCOUNT, amount("10"));
    let done = till.running("0.10");
    till.apply(done, finish()).expect("finish");
    till.accept(new_job(amount("0.20"))).expect("accept");
    till.check();
    let stored = store.account(ACCOUNT).wait().expect("read");
    let account = Account {
        active: false,
        low_balance: (format > 1).then(|| amount("5")),
        ..stored.expect("the account")
    };
    let (id, name) = (account.id, account.name.clone());
    let (balances, created_at) = (account.balances, account.created_at);
    let place = [b"a", ACCOUNT.as_bytes().as_slice()].concat();
    match format {
        1 => {
            let earlier = AccountV1 {
                id,
                name,
                balances,
                created_at,
                active: false,
            };
            rewrite(&store, place, 1, &earlier);
        }
        _ => {
            let earlier = AccountV2 {
                id,
                name,
                balances,
                created_at,
                active: false,
                low_balance: account.low_balance,
            };
            rewrite(&store, place, 2, &earlier);
        }
    }
    write_key(&store);
    write_webhook(&store);
    write_jobs(&store);
    write_usage(&store);
    drop(till);
    store.engine().close();
    account
}

const HASH: KeyHash = KeyHash([7; 32]);

fn api_key() -> ApiKey {
    ApiKey {
        name: "a key".into(),
        spend_limit_daily: Some(amount("3")),
        ..ApiKey::with_all_rights(key(1), ACCOUNT, at(5))
    }
}

/// Writes the account's key in its first format.
fn write_key(store: &Store) {
    let key = api_key();
    commit_and_wait(&**store.engine(), store.put_key(&HASH, &key)).expect("commit");
    let earlier = ApiKeyV1 {
        id: key.id,
        account: key.account,
        name: key.name,
        models: key.models,
        active: key.active,
        expires_at: key.expires_at,
        spend_limit: key.spend_limit,
        spend_limit_daily: key.spend_limit_daily,
        spend_limit_monthly: key.spend_limit_monthly,
        rate_limit: key.rate_limit,
        allowed_ips: key.allowed_ips,
        retired: key.retired,
        created_at: key.created_at,
    };
    rewrite(store, [b"h", HASH.0.as_slice()].concat(), 1, &earlier);
}

/// Writes a webhook in its first format.
fn write_webhook(store: &Store) {
    let webhook = webhook();
    commit_and_wait(&**store.engine(), store.put_webhook(&webhook)).expect("commit");
    let place = [b"w", ACCOUNT.as_bytes().as_slice(), webhook.id.0.as_bytes()].concat();
    let earlier = WebhookV1 {
        id: webhook.id,
        account: webhook.account,
        url: webhook.url,
        encoding: webhook.encoding,
        secret: webhook.secret,
        retired: webhook.retired,
        created_at: webhook.created_at,
    };
    rewrite(store, place, 1, &earlier);
}

/// Writes the daily usage in its first format.
fn write_usage(store: &Store) {
    let usage = KeyRange::prefix(b"d");
    let pairs = store.engine().scan(&usage, Direction::Rising, 10).wait();
    for (key, value) in pairs.expect("scan") {
        let usage = DAILY_USAGE.decode(&value).expect("a day's usage");
        let earlier = DailyUsageV1 {
            done: usage.done,
            failed: usage.failed,
            spent: usage.spent,
        };
        rewrite(store, key, 1, &earlier);
    }
}

/// The usage of the only key on the only day.
fn usage(store: &Store) -> DailyUsage {
    let mut found = Vec::new();
    let read = store.each_daily_usage_since(ACCOUNT, 0, |_, usage| {
        found.push(usage);
        Ok(())
    });
    read.wait().expect("usage");
    let [usage] = found.try_into().expect("one day");
    usage
}

/// Writes the jobs in their first format.
fn write_jobs(store: &Store) {
    for prefix in [b"l", b"e"] {
        let jobs = KeyRange::prefix(prefix);
        let pairs = store.engine().scan(&jobs, Direction::Rising, 10).wait();
        for (key, value) in pairs.expect("scan") {
            let job = ENDED_JOBS.decode(&value).expect("a job");
            rewrite(store, key, 1, &first_format(job));
        }
    }
}

fn first_format(job: Job) -> JobV1 {
    let state = match job.state {
        JobState::Queued => JobStateV1::Queued,
        JobState::Done {
            started_at,
            finished_at,
            image,
        } => JobStateV1::Done {
            started_at,
            finished_at,
            image: ResultImageV1 {
                key: image.key,
                bytes: image.bytes,
                width: image.width,
                height: image.height,
            },
        },
        other => panic!("no such job was written: {other:?}"),
    };
    JobV1 {
        id: job.id,
        account: job.account,
        key: job.key,
        tier: job.tier,
        mode: job.mode,
        aspect: job.aspect,
        ratio: job.ratio,
        resolution: job.resolution,
        prompt: job.prompt,
        callback: job.callback,
        origin: job.origin,
        inputs: job.inputs,
        price: job.price,
        created_at: job.created_at,
        state,
    }
}

fn holds(store: &Store, account: &Account) {
    let found = store.account(ACCOUNT).wait().expect("read");
    assert_eq!(found.as_ref(), Some(account));
    let found = store.key(key(1)).wait().expect("read");
    assert_eq!(found, Some((HASH, api_key())));
    let found = store.webhooks(ACCOUNT).wait().expect("read");
    assert_eq!(found, [webhook()]);
    let report = verify(store, |_| {}).expect("audit");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!((report.live_jobs, report.ended_jobs), (1, 1));
}

#[test]
fn a_directory_of_an_earlier_format_opens_adds_up_and_is_exported_in_the_present_one() {
    for format in [1, 2] {
        let directory = tempfile::tempdir().expect("directory");
        let account = write_format(format, directory.path());
        let store = open(directory.path());
        assert_eq!(version(&store), format);
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
        assert_eq!(version(&copy), PRESENT);
        holds(&copy, &account);
        store.engine().close();
    }
}

/// Converts an export to the format before limits of accounts and live jobs.
fn without_limits(text: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(text).expect("lines");
    let (records, _trailer) = text.trim_end().rsplit_once('\n').expect("a trailer");
    let mut earlier = String::new();
    for line in records.lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        let kind = line["kind"].as_str().unwrap_or_default().to_owned();
        if let Some(record) = line.get_mut("record").and_then(Value::as_object_mut) {
            if kind == "tally" {
                record.remove("models");
            }
            if kind == "webhook" {
                record.remove("active");
            }
            for field in ["limits", "spending", "max_concurrent"] {
                record.remove(field);
            }
            if let Some(image) = record
                .get_mut("state")
                .and_then(|it| it.pointer_mut("/Done/image"))
            {
                image.as_object_mut().expect("a picture").remove("backend");
            }
        }
        earlier += &format!("{line}\n");
    }
    let digest = hex::encode(Sha256::digest(&earlier));
    let trailer = json!({"records": records.lines().count() - 1, "sha256": digest});
    format!("{earlier}{trailer}\n").into_bytes()
}

#[test]
fn an_export_from_before_there_were_limits_is_imported() {
    let directory = tempfile::tempdir().expect("directory");
    let account = write_format(2, directory.path());
    let store = open(directory.path());
    let mut text = Vec::new();
    let snapshot = Arc::clone(store.engine()).snapshot().expect("a snapshot");
    write(snapshot, |block| {
        text.extend(block);
        Ok::<_, Infallible>(())
    })
    .expect("an export");
    store.engine().close();
    let copy = MemoryEngine::new();
    let earlier = without_limits(&text);
    assert!(!String::from_utf8_lossy(&earlier).contains("max_concurrent"));
    load(&copy, &earlier[..], |_| {}).expect("imported");
    holds(&Store::new(Arc::new(copy)), &account);
}

#[test]
fn the_next_change_of_a_record_writes_it_in_the_present_format() {
    for format in [1, 2] {
        let directory = tempfile::tempdir().expect("directory");
        let account = write_format(format, directory.path());
        let store = open(directory.path());
        let mut till = Till::reload(store.clone(), ACCOUNT);
        till.continue_after(2_000);
        let live = store.jobs_of(ACCOUNT, Part::Live, None, None, 10).wait();
        let job = live.expect("jobs")[0].id;
        till.apply(job, begin()).expect("begin");
        assert_eq!(
            version(&store),
            format,
            "this step leaves the account as it was"
        );
        till.apply(job, finish()).expect("finish");
        assert_eq!(version(&store), PRESENT);
        let after = store.account(ACCOUNT).wait().expect("read");
        let expected = Account {
            balances: till.books(),
            ..account
        };
        assert_eq!(after, Some(expected));
        till.check();
        // The job that was counted before is in no model.
        let usage = usage(&store);
        assert_eq!((usage.done, usage.models.len()), (2, 1));
        assert_eq!(usage.models[0].totals.done, 1);
        let rest = usage.without_model().expect("a rest");
        assert_eq!((rest.done, rest.spent), (1, amount("0.10")));
        drop(till);
        store.engine().close();
    }
}

#[test]
fn a_spend_limit_counts_charges_from_before_limits() {
    let directory = tempfile::tempdir().expect("directory");
    write_format(2, directory.path());
    let store = open(directory.path());
    let mut till = Till::reload(store.clone(), ACCOUNT);
    till.continue_after(2_000);
    till.change(AccountChange {
        active: Some(true),
        limits: Some(Some(AccountLimitsChange {
            spend_per_day: Some(Some(amount("0.35"))),
            ..AccountLimitsChange::default()
        })),
        ..AccountChange::default()
    });
    let refused = till.accept(new_job(amount("0.06")));
    assert!(
        matches!(refused, Err(AcceptError::AccountLimit(_))),
        "0.10 was charged today and 0.20 is reserved: {refused:?}"
    );
    till.accept(new_job(amount("0.05"))).expect("the last cent");
    till.check();
    drop(till);
    store.engine().close();
}
