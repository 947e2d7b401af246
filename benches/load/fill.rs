//! Fills a data directory with queued jobs, through the same decisions and the same engine as the service, without HTTP.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::ids::{AccountId, IdSource, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{Brief, Origin, Words};
use tintype_storage::domain::ledger::{Books, EntryKind, LedgerEntry};
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine as _, commit_and_wait};
use tintype_storage::store::{AccountBook, Limits, NewJob, Store};

/// Jobs of one commit.
const STEP: usize = 1_000;

/// Writes `jobs` queued jobs, spread over `accounts`.
pub fn run(data_dir: &Path, accounts: usize, jobs: usize) -> anyhow::Result<()> {
    let engine = Arc::new(SledEngine::open(
        &data_dir.join("store"),
        SledOptions::new(Arc::new(|_| {})),
    )?);
    let store = Store::new(engine.clone());
    let ids = IdSource::new(Timestamp::now());
    let balance: Amount = "100000000".parse()?;
    for number in 0..accounts {
        let now = Timestamp::now();
        let books = Books::default().deposit(balance)?;
        let account = Account {
            id: AccountId(ids.next(now)),
            name: format!("filled {number}"),
            books,
            created_at: now,
        };
        let opening = LedgerEntry {
            id: TransactionId(ids.next(now)),
            kind: EntryKind::Deposit,
            amount: balance,
            balance_after: balance,
            job: None,
            reference: None,
            created_at: now,
        };
        commit_and_wait(
            engine.as_ref(),
            store.open_account(&account, Some(&opening)),
        )?;
        fill_account(&store, account, &ids, jobs / accounts)?;
    }
    engine.close();
    Ok(())
}

fn fill_account(
    store: &Store,
    account: Account,
    ids: &IdSource,
    jobs: usize,
) -> anyhow::Result<()> {
    let limits = Limits {
        max_live_per_account: usize::MAX,
        idempotency_retention: Duration::from_secs(86_400),
    };
    let key = KeyId(ids.next(Timestamp::now()));
    let mut book = AccountBook::without_jobs(account);
    let mut left = jobs;
    while left > 0 {
        let mut batch = book.batch(store, limits);
        for _ in 0..left.min(STEP) {
            let now = Timestamp::now();
            batch.accept(JobId(ids.next(now)), new_job(key)?, now)?;
        }
        left -= left.min(STEP);
        let writes = batch.into_writes()?;
        commit_and_wait(store.engine().as_ref(), writes)?;
    }
    Ok(())
}

fn new_job(key: KeyId) -> anyhow::Result<NewJob> {
    Ok(NewJob {
        key,
        spend_limit: None,
        tier: Tier::Pro,
        mode: Mode::TextToImage,
        aspect: AspectChoice::Fixed(AspectRatio::SQUARE),
        ratio: AspectRatio::SQUARE,
        resolution: Resolution::K1,
        brief: Brief::Inline(Words {
            prompt: "a red fox in the snow at dawn, woodcut, with birches, a frozen lake and far mountains".into(),
            metadata: Some(r#"{"order":1234,"customer":"c-77"}"#.into()),
        }),
        callback: None,
        origin: Origin::Native,
        inputs: Vec::new(),
        price: "0.134".parse()?,
        idempotency: None,
    })
}
