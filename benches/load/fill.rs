//! Fills a data directory with pending deliveries through the decisions and the engine of the service, without HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tintype::webhooks::Vault;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::{AccountId, IdSource, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{JobEvent, PromptRef, PromptText, ResultImage};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{Webhook, WebhookId};
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine as _, commit_and_wait};
use tintype_storage::store::{AccountState, Limits, NewJob, RoundReads, Store, Writes};
use tintype_storage::testing::samples;
use tintype_storage::webhook_wire::secret::WebhookSecret;

/// The input of [`deliveries`].
pub struct Deliveries {
    pub data_dir: PathBuf,
    /// The address of the receivers.
    pub address: SocketAddr,
    /// Number of receivers, each with its own account.
    pub receivers: usize,
    pub hanging: usize,
    /// Deliveries over all receivers.
    pub count: usize,
    /// Due time of the first delivery.
    pub first: Timestamp,
    /// Between the due times of two deliveries.
    pub spacing: Duration,
}

/// Writes ended jobs with future deliveries: each job starts and ends at the due time of its delivery.
pub fn deliveries(spec: &Deliveries) -> anyhow::Result<()> {
    let engine = Arc::new(SledEngine::open(
        &spec.data_dir.join("store"),
        SledOptions::new(Arc::new(|_| {})),
    )?);
    let store = Store::new(engine.clone());
    let vault = Vault::load_or_create(&spec.data_dir, None)?;
    for number in 0..spec.receivers {
        let now = Timestamp::now();
        // One source per account: ids of a source only rise, and each account starts at the first due time again.
        let ids = IdSource::new(now);
        let account = open_account(&store, &ids, number)?;
        let key = KeyId(ids.next(now));
        let id = WebhookId(ids.next(now));
        let kind = if number < spec.hanging { "hang" } else { "ok" };
        let webhook = Webhook::new(
            id,
            account.id,
            format!("http://{}/{kind}/{number}", spec.address),
            vault.seal(id, &WebhookSecret::from_random(rand::random())),
            now,
        );
        commit_and_wait(engine.as_ref(), store.put_webhook(&webhook))?;
        let api_key = ApiKey::with_all_rights(key, account.id, now);
        let book = AccountState::without_jobs(account);
        let reads = RoundReads::new(&store);
        let mut decisions = book.decisions(&reads, limits());
        // No caller uses the key, so it needs no record.
        decisions.change_key(key, Some((KeyHash([0; 32]), api_key)), Writes::new());
        for turn in 0..spec.count / spec.receivers {
            let place = (turn * spec.receivers + number) as u32;
            let due = spec.first.plus(spec.spacing * place);
            let job = JobId(ids.next(due));
            decisions.accept(job, &new_job(key)?, due)?;
            for event in [JobEvent::Begin { max_runs: 1 }, finish(job)] {
                decisions.apply(job, event, TransactionId(ids.next(due)), due)?;
            }
        }
        commit_and_wait(engine.as_ref(), decisions.finish()?.writes)?;
    }
    engine.close();
    Ok(())
}

/// The end of a job with an image.
pub fn finish(job: JobId) -> JobEvent {
    JobEvent::Finish {
        image: ResultImage {
            key: format!("results/{job}.png"),
            bytes: 1_000_000,
            width: 1_024,
            height: 1_024,
            backend: Some("builtin".into()),
        },
    }
}

/// Limits that the run never reaches.
pub fn limits() -> Limits {
    Limits {
        max_live_per_account: usize::MAX,
        idempotency_retention: Duration::from_secs(86_400),
    }
}

fn open_account(store: &Store, ids: &IdSource, number: usize) -> anyhow::Result<Account> {
    let (account, entry) = new_account(ids, number)?;
    let writes = store.open_account(&account, Some(&entry));
    commit_and_wait(store.engine().as_ref(), writes)?;
    Ok(account)
}

/// An account with money, and the ledger entry of its deposit.
pub fn new_account(ids: &IdSource, number: usize) -> anyhow::Result<(Account, LedgerEntry)> {
    let balance: Amount = "100000000".parse()?;
    let now = Timestamp::now();
    let account = Account {
        balances: Balances::default().deposit(balance)?,
        ..Account::new(AccountId(ids.next(now)), format!("filled {number}"), now)
    };
    let entry = LedgerEntry::opening(TransactionId(ids.next(now)), balance, now);
    Ok((account, entry))
}

/// The request of a caller with this key.
pub fn new_job(key: KeyId) -> anyhow::Result<NewJob> {
    let prompt =
        "a red fox in the snow at dawn, woodcut, with birches, a frozen lake and far mountains";
    Ok(NewJob {
        tier: Tier::Pro,
        prompt: PromptRef::Inline(PromptText {
            prompt: prompt.into(),
            metadata: Some(r#"{"order":1234,"customer":"c-77"}"#.into()),
        }),
        ..samples::new_job(key, "0.134".parse()?)
    })
}
