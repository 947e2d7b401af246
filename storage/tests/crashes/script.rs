//! The scripted scenario: accounts, jobs, batches, money, idempotency keys, webhooks and deliveries through every state, as
//! reproducible commits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::delivery::{self, Attempt, DeliveryId};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{
    FailureKind, InputImage, JobEvent, PromptRef, PromptText, ResultImage,
};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Engine, Key, Value};
use tintype_storage::store::{
    AccountState, Decisions, Deposit, IdempotencyUse, Limits, NewBatch, NewBatchJob, NewJob,
    RoundReads, Store, Writes,
};
use tintype_storage::testing::samples;
use uuid::Uuid;

const ACCOUNT: AccountId = AccountId(Uuid::from_u128(0xa));
const LIMITS: Limits = Limits {
    max_live_per_account: 100,
    idempotency_retention: Duration::from_secs(60),
};
/// Each round opens the engine that the previous one closed.
pub const ROUNDS: u32 = 2;

/// Commits a step's writes and returns when they are durable.
pub type CommitStep<'a> = dyn FnMut(Writes) + 'a;

fn at(step: u32) -> Timestamp {
    Timestamp::from_millis(1_795_000_000_000 + i64::from(step) * 1_000)
}

fn amount(text: &str) -> Amount {
    text.parse().expect("an amount")
}

fn uuid(round: u32, number: u32) -> Uuid {
    Uuid::from_u128((u128::from(round) << 64) + (1 << 32) + u128::from(number))
}

fn job(round: u32, number: u32) -> JobId {
    JobId(uuid(round, number))
}

fn batch(round: u32) -> BatchId {
    BatchId(uuid(round, 0xb0))
}

fn webhook(round: u32) -> Webhook {
    Webhook::new(
        WebhookId(uuid(round, 0xff)),
        ACCOUNT,
        format!("https://receiver.example/{round}"),
        SealedSecret(vec![7; 40]),
        at(round),
    )
}

fn new_job(prompt: &str, name: Option<&str>) -> NewJob {
    NewJob {
        prompt: samples::prompt(prompt),
        idempotency: name.map(|name| IdempotencyUse {
            name: name.into(),
            fingerprint: Fingerprint([3; 32]),
        }),
        ..samples::new_job(KeyId(Uuid::from_u128(0xb)), amount("0.039"))
    }
}

/// The writes that open the account: the very first commit.
fn opening(store: &Store) -> Writes {
    let balance = amount("10");
    let line = LedgerEntry::opening(TransactionId(Uuid::from_u128(1)), balance, at(0));
    let account = Account {
        balances: Balances::default().deposit(balance).expect("a deposit"),
        ..Account::new(ACCOUNT, "an account".into(), at(0))
    };
    store.open_account(&account, Some(&line))
}

/// Plays one round on an engine.
struct ScenarioPlayer<'a> {
    store: Store,
    book: AccountState,
    round: u32,
    step: u32,
    commit: &'a mut CommitStep<'a>,
}

impl ScenarioPlayer<'_> {
    fn decide(&mut self, decide: impl FnOnce(&mut Decisions<'_>, Timestamp, TransactionId)) {
        self.step += 1;
        let number = self.round * 1_000 + self.step;
        let reads = RoundReads::new(&self.store);
        let mut decisions = self.book.decisions(&reads, LIMITS);
        decide(
            &mut decisions,
            at(number),
            TransactionId(uuid(self.round, 0x1_0000 + self.step)),
        );
        let decided = decisions.finish().expect("sound balances");
        (self.commit)(decided.writes);
        self.book.apply(decided.change);
    }

    fn accept(&mut self, jobs: &[(u32, &str, Option<&str>)]) {
        let round = self.round;
        self.decide(|decisions, now, _| {
            for (number, prompt, name) in jobs {
                let new = new_job(prompt, *name);
                // The scenario changes no keys: the round gets this one without a record.
                let key = ApiKey::with_all_rights(new.key, ACCOUNT, at(0));
                decisions.change_key(new.key, Some((KeyHash([0; 32]), key)), Writes::new());
                let accepted = decisions.accept(job(round, *number), &new, now);
                assert!(!accepted.expect("accepted").replayed);
            }
        });
    }

    /// Accepts a batch of these jobs.
    fn accept_batch(&mut self, numbers: [u32; 3]) {
        let round = self.round;
        let prompts = ["one of three", "two of three", "three of three"];
        let single = prompts.map(|prompt| new_job(prompt, None));
        let requests = single.map(|job| NewBatchJob {
            custom_id: Some("named".into()),
            tier: job.tier,
            mode: job.mode,
            aspect: job.aspect,
            ratio: job.ratio,
            resolution: job.resolution,
            prompt: job.prompt,
            price: job.price,
            options: job.options,
            input_urls: InputUrls::Inline(vec!["https://images.example/1".into()]),
        });
        let new = NewBatch {
            key: KeyId(Uuid::from_u128(0xb)),
            shown: None,
            account_rate_limit: None,
            requests: requests.into(),
            price: amount("0.117"),
            text: PromptRef::Inline(PromptText::default()),
            callback: None,
            idempotency: None,
            file: None,
        };
        self.decide(|decisions, now, _| {
            let key = ApiKey::with_all_rights(new.key, ACCOUNT, at(0));
            decisions.change_key(new.key, Some((KeyHash([0; 32]), key)), Writes::new());
            let jobs = numbers.map(|number| job(round, number));
            let accepted = decisions.accept_batch(batch(round), &jobs, &new, now);
            assert!(!accepted.expect("accepted").replayed);
        });
    }

    fn apply(&mut self, number: u32, event: JobEvent) {
        let id = job(self.round, number);
        self.decide(|decisions, now, line| {
            drop(decisions.apply(id, event, line, now).expect("applied"))
        });
    }

    fn attempt(&mut self, number: u32, status: u16) {
        let id = DeliveryId(job(self.round, number).0);
        self.step += 1;
        let before = self
            .store
            .delivery(id)
            .wait()
            .expect("readable")
            .expect("a delivery");
        let took = Duration::from_millis(5);
        let begun = at(self.round * 1_000 + self.step);
        let attempt = Attempt::responded(before.round, begun, took, status, b"said so", None);
        let after = delivery::record_attempt(
            &before,
            &attempt,
            attempt.ended_at(),
            &[Duration::from_secs(60)],
        );
        let writes = self.store.record_attempt(&before, &after, &attempt);
        (self.commit)(writes);
    }

    fn redeliver(&mut self, number: u32) {
        let id = DeliveryId(job(self.round, number).0);
        self.step += 1;
        let before = self
            .store
            .delivery(id)
            .wait()
            .expect("readable")
            .expect("a delivery");
        let after = delivery::redeliver(&before, at(self.round * 1_000 + self.step));
        let writes = self.store.change_delivery(Some(&before), &after);
        (self.commit)(writes);
    }

    /// One image is generated, then the rest is canceled.
    fn play_batch(&mut self, begin: JobEvent, finish: JobEvent) {
        let round = self.round;
        self.accept_batch([6, 7, 8]);
        self.apply(6, begin.clone());
        let fetched = JobEvent::InputsFetched {
            inputs: vec![InputImage {
                key: "inputs/x".into(),
                bytes: 9,
                width: 1,
                height: 1,
            }],
            ratio: AspectRatio::SQUARE,
        };
        self.apply(6, fetched);
        self.decide(|decisions, now, _| {
            let canceled = decisions.cancel_batch(batch(round), now);
            assert!(canceled.expect("canceled").ended_at.is_none());
        });
        // Canceled instead of started.
        self.apply(7, begin);
        self.apply(8, JobEvent::Cancel);
        self.apply(6, finish);
    }

    fn play(&mut self) {
        let (begin, image) = (JobEvent::Begin { max_runs: 3 }, image());
        let finish = JobEvent::Finish { image };
        let fail = JobEvent::Fail {
            error: "the generator gave up".into(),
            kind: FailureKind::Broken,
        };
        let long = "a very long walk through the forest ".repeat(90);
        let hook = self.store.put_webhook(&webhook(self.round));
        (self.commit)(hook);
        self.accept(&[(1, "a fox", Some("first"))]);
        self.accept(&[
            (2, "a hare", None),
            (3, &long, Some("long")),
            (4, &long, None),
        ]);
        self.apply(1, begin.clone());
        self.apply(1, finish.clone());
        self.attempt(1, 500);
        self.apply(2, begin.clone());
        self.apply(2, fail);
        self.apply(3, JobEvent::Cancel);
        self.attempt(1, 200);
        self.attempt(2, 204);
        self.decide(|decisions, now, line| {
            let deposit = Deposit {
                amount: amount("2.50"),
                reference: Some("invoice 7".into()),
                idempotency: Some(IdempotencyUse {
                    name: "money".into(),
                    fingerprint: Fingerprint([9; 32]),
                }),
            };
            decisions.deposit(line, &deposit, now).expect("a deposit");
        });
        self.attempt(3, 410);
        self.attempt(3, 503);
        self.redeliver(3);
        self.apply(4, begin.clone());
        self.apply(4, JobEvent::CutOff);
        self.apply(4, begin.clone());
        self.apply(4, finish.clone());
        self.play_batch(begin, finish);
        let hour = Duration::from_secs(3_600);
        let later = at(self.round * 1_000 + self.step).plus(hour);
        let (forgotten, _) = self
            .store
            .delete_expired(later, &[], 100)
            .wait()
            .expect("readable");
        (self.commit)(forgotten);
        let old = self
            .store
            .find_old_deliveries(later, &[], 100, |_| false)
            .wait();
        (self.commit)(old.expect("readable").writes);
        let gone = self.store.remove_webhook(&webhook(self.round));
        (self.commit)(gone);
        // One job stays for the next start.
        self.accept(&[(5, "left over", None)]);
    }
}

fn image() -> ResultImage {
    ResultImage {
        key: "results/x.png".into(),
        bytes: 9,
        width: 1,
        height: 1,
        backend: None,
    }
}

/// Plays a round on an engine that holds the previous rounds' records.
pub fn play(engine: &Arc<dyn Engine>, round: u32, commit: &mut dyn FnMut(Writes)) {
    let store = Store::new(Arc::clone(engine));
    if store.account(ACCOUNT).wait().expect("readable").is_none() {
        commit(opening(&store));
    }
    let account = store
        .account(ACCOUNT)
        .wait()
        .expect("readable")
        .expect("an account");
    let mut passes_on = |writes: Writes| commit(writes);
    let mut player = ScenarioPlayer {
        book: AccountState::load(&store, account)
            .wait()
            .expect("sound books"),
        store,
        round,
        step: 0,
        commit: &mut passes_on,
    };
    player.play();
}

/// The stored records after each commit of the whole scenario; the first is the empty store.
pub fn images() -> Vec<BTreeMap<Key, Value>> {
    use tintype_storage::engine::commit_and_wait;
    use tintype_storage::testing::memory::MemoryEngine;
    let memory = Arc::new(MemoryEngine::new());
    let engine: Arc<dyn Engine> = Arc::clone(&memory) as _;
    let mut images = vec![memory.image()];
    for round in 0..ROUNDS {
        play(&engine, round, &mut |writes| {
            commit_and_wait(&*memory, writes).expect("memory");
            images.push(memory.image());
        });
    }
    images
}
