//! A till for tests of account decisions: a store, an account, and ids and times that only rise.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use tintype_storage::domain::account::{Account, AccountChange};
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{
    FailureKind, Job, JobEvent, PromptRef, PromptText, ResultImage,
};
use tintype_storage::domain::ledger::{Balances, LedgerEntry, LedgerError};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::spending::SpendLimits;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Engine, OnFailure, commit_and_wait};
use tintype_storage::store::{
    AcceptError, AcceptedBatch, AcceptedJob, AccountState, Decision, Decisions, Deposit,
    DepositError, EventError, IdempotencyUse, Limits, NewBatch, NewJob, RoundReads, Store, Writes,
};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use tintype_storage::verify::verify;
use uuid::Uuid;

/// For engines that must not fail.
pub fn no_failure() -> OnFailure {
    Arc::new(|error| panic!("the engine failed: {error}"))
}

pub fn commit(store: &Store, writes: Writes) {
    commit_and_wait(&**store.engine(), writes).expect("commit");
}

/// The outcome of a decision, once it is durable.
pub fn decide<D: Decision>(store: &Store, decision: D) -> D::Outcome {
    let (reply, outcome) = channel();
    store.decide(decision, move |_, outcome| {
        reply.send(outcome).expect("sent")
    });
    outcome.recv().expect("an outcome").expect("a decision")
}

pub fn amount(text: &str) -> Amount {
    text.parse().expect("an amount")
}

/// An amount of so many millionths.
pub fn units(millionths: i64) -> Amount {
    let sign = if millionths < 0 { "-" } else { "" };
    let size = millionths.unsigned_abs();
    amount(&format!(
        "{sign}{}.{:06}",
        size / 1_000_000,
        size % 1_000_000
    ))
}

/// The stored bytes of a record, for keys where the store would not put it.
pub fn encode<R: serde::Serialize>(record: &R) -> Vec<u8> {
    postcard::to_extend(record, vec![1]).expect("a record")
}

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

pub fn key(number: u128) -> KeyId {
    KeyId(uuid(number))
}

/// A version 7 id of this time.
pub fn id_of(millis: i64) -> Uuid {
    let millis = u64::try_from(millis).expect("a time");
    uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid()
}

pub const ACCOUNT: AccountId = AccountId(Uuid::from_u128(0xacc));

/// A webhook of that account.
pub fn webhook() -> Webhook {
    Webhook::new(
        WebhookId(uuid(1)),
        ACCOUNT,
        "https://example.com/",
        SealedSecret(vec![1]),
        at(0),
    )
}
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub fn limits() -> Limits {
    Limits {
        max_live_per_account: 100_000,
        idempotency_retention: DAY,
    }
}

pub fn image() -> ResultImage {
    ResultImage {
        key: "results/x.png".into(),
        bytes: 9,
        width: 1,
        height: 1,
        backend: None,
    }
}

pub fn finish() -> JobEvent {
    JobEvent::Finish { image: image() }
}

pub fn fail() -> JobEvent {
    JobEvent::Fail {
        error: "the generator gave up".into(),
        kind: FailureKind::Broken,
    }
}

pub fn begin() -> JobEvent {
    JobEvent::Begin { max_runs: 3 }
}

/// A limit over a key's lifetime.
pub fn limit(total: &str) -> SpendLimits {
    SpendLimits {
        total: Some(amount(total)),
        ..SpendLimits::default()
    }
}

pub fn new_job(price: Amount) -> NewJob {
    samples::new_job(key(1), price)
}

/// A batch of `count` requests of this price.
pub fn new_batch(count: usize, price: &str) -> NewBatch {
    let price = amount(price);
    let total = (0..count).try_fold(Amount::ZERO, |sum, _| sum.plus(price));
    NewBatch {
        key: key(1),
        shown: None,
        account_rate_limit: None,
        requests: vec![samples::batch_request(price); count],
        price: total.expect("a sum"),
        text: PromptRef::Inline(PromptText::default()),
        callback: None,
        idempotency: None,
        file: None,
    }
}

/// An idempotency key whose fingerprint `meaning` determines.
pub fn named(name: &str, meaning: u8) -> Option<IdempotencyUse> {
    Some(IdempotencyUse {
        name: name.into(),
        fingerprint: Fingerprint([meaning; 32]),
    })
}

pub fn deposit(amount: Amount) -> Deposit {
    Deposit {
        amount,
        reference: None,
        idempotency: None,
    }
}

/// Was it refused for lack of money?
pub fn insufficient(outcome: &Result<impl Sized, AcceptError>) -> bool {
    matches!(
        outcome,
        Err(AcceptError::Ledger(LedgerError::Insufficient { .. }))
    )
}

/// One account and its state over a store.
pub struct Till {
    pub store: Store,
    pub book: AccountState,
    pub limits: Limits,
    /// The limits of limited keys. Other keys have all rights.
    pub spend_limits: HashMap<KeyId, SpendLimits>,
    pub now: i64,
    next_id: u128,
}

impl Till {
    /// An account with an opening deposit, in memory.
    pub fn with(balance: &str) -> Self {
        Self::open(Arc::new(MemoryEngine::new()), ACCOUNT, amount(balance))
    }

    pub fn open(engine: Arc<dyn Engine>, id: AccountId, balance: Amount) -> Self {
        let store = Store::new(engine);
        let account = Account {
            balances: Balances::default().deposit(balance).expect("opening"),
            ..Account::new(id, "a".into(), at(0))
        };
        let opening = LedgerEntry::opening(TransactionId(uuid(1)), balance, at(0));
        let writes = store.open_account(&account, Some(&opening));
        commit_and_wait(&**store.engine(), writes).expect("open account");
        Self::reload(store, id)
    }

    /// The account as stored.
    pub fn reload(store: Store, id: AccountId) -> Self {
        let account = store
            .account(id)
            .wait()
            .expect("read")
            .expect("the account");
        let book = AccountState::load(&store, account).wait().expect("load");
        Self {
            store,
            book,
            limits: limits(),
            spend_limits: HashMap::new(),
            now: 1_000_000,
            next_id: 1_000,
        }
    }

    pub fn id(&mut self) -> Uuid {
        self.next_id += 1;
        uuid(self.next_id)
    }

    /// Continues with ids above this one, as after a restart.
    pub fn continue_after(&mut self, id: u128) {
        self.next_id = id;
    }

    /// Decides in one round and commits it.
    pub fn decisions<T>(&mut self, decide: impl FnOnce(&mut Decisions<'_>, &mut Ids) -> T) -> T {
        let now = at(self.now);
        let mut ids = Ids {
            next: &mut self.next_id,
            spend_limits: &mut self.spend_limits,
            now,
        };
        let reads = RoundReads::new(&self.store);
        let mut decisions = self.book.decisions(&reads, self.limits);
        let outcome = decide(&mut decisions, &mut ids);
        let decided = decisions.finish().expect("balances that add up");
        commit_and_wait(&**self.store.engine(), decided.writes).expect("commit");
        self.book.apply(decided.change);
        outcome
    }

    pub fn accept(&mut self, new: NewJob) -> Result<AcceptedJob, AcceptError> {
        self.decisions(|decisions, ids| ids.accept(decisions, new))
    }

    pub fn accept_batch(&mut self, new: &NewBatch) -> Result<AcceptedBatch, AcceptError> {
        self.decisions(|decisions, ids| ids.accept_batch(decisions, new))
    }

    pub fn apply(&mut self, job: JobId, event: JobEvent) -> Result<Job, EventError> {
        self.decisions(|decisions, ids| ids.apply(decisions, job, event))
    }

    /// Accepts and starts a job.
    pub fn running(&mut self, price: &str) -> JobId {
        let job = self.accept(new_job(amount(price))).expect("accept").job;
        self.apply(job, begin()).expect("begin");
        job
    }

    pub fn deposit(&mut self, deposit: Deposit) -> Result<LedgerEntry, DepositError> {
        self.decisions(|decisions, ids| ids.deposit(decisions, deposit))
    }

    pub fn change(&mut self, change: AccountChange) {
        let changed = self.decisions(|decisions, _| decisions.change(change));
        changed.expect("change");
    }

    pub fn books(&self) -> Balances {
        self.book.account().balances
    }

    /// Balance, reserved and available amounts as text.
    pub fn figures(&self) -> [String; 3] {
        let books = self.books();
        [books.balance, books.reserved, books.available()].map(|it| it.to_string())
    }

    /// Checks that a restart would load the same state, and that no invariant is violated.
    pub fn check(&self) {
        let id = self.book.account().id;
        let stored = Self::reload(self.store.clone(), id);
        assert_eq!(stored.book.account(), self.book.account());
        assert_eq!(stored.book.live_jobs(), self.book.live_jobs());
        assert_eq!(self.faults(), Vec::<String>::new());
    }

    pub fn faults(&self) -> Vec<String> {
        verify(&self.store, |_| {}).expect("audit").faults
    }
}

/// Adds a key with these limits and all other rights to the round's cache.
pub fn know_key(decisions: &mut Decisions<'_>, id: KeyId, limits: SpendLimits) {
    let key = ApiKey {
        spend_limit: limits.total,
        spend_limit_monthly: limits.monthly,
        spend_limit_daily: limits.daily,
        ..ApiKey::with_all_rights(id, decisions.account().id, at(0))
    };
    decisions.change_key(id, Some((KeyHash([0; 32]), key)), Vec::new());
}

/// Assigns ids and times to decisions.
pub struct Ids<'a> {
    next: &'a mut u128,
    pub spend_limits: &'a mut HashMap<KeyId, SpendLimits>,
    pub now: Timestamp,
}

impl Ids<'_> {
    pub fn id(&mut self) -> Uuid {
        *self.next += 1;
        uuid(*self.next)
    }

    /// Accepts a job under a key that need not be stored.
    pub fn accept(
        &mut self,
        decisions: &mut Decisions<'_>,
        new: NewJob,
    ) -> Result<AcceptedJob, AcceptError> {
        let limits = self.spend_limits.get(&new.key).copied();
        know_key(decisions, new.key, limits.unwrap_or_default());
        decisions.accept(JobId(self.id()), &new, self.now)
    }

    /// Accepts a batch under a key that need not be stored.
    pub fn accept_batch(
        &mut self,
        decisions: &mut Decisions<'_>,
        new: &NewBatch,
    ) -> Result<AcceptedBatch, AcceptError> {
        let limits = self.spend_limits.get(&new.key).copied();
        know_key(decisions, new.key, limits.unwrap_or_default());
        let id = BatchId(self.id());
        let jobs: Vec<JobId> = new.requests.iter().map(|_| JobId(self.id())).collect();
        decisions.accept_batch(id, &jobs, new, self.now)
    }

    pub fn apply(
        &mut self,
        decisions: &mut Decisions<'_>,
        job: JobId,
        event: JobEvent,
    ) -> Result<Job, EventError> {
        decisions.apply(job, event, TransactionId(self.id()), self.now)
    }

    pub fn deposit(
        &mut self,
        decisions: &mut Decisions<'_>,
        deposit: Deposit,
    ) -> Result<LedgerEntry, DepositError> {
        decisions.deposit(TransactionId(self.id()), &deposit, self.now)
    }
}

/// Random numbers from a seed (splitmix64), equal on every machine, so that failures can be reproduced.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, exclusive.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}
