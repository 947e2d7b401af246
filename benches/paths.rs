//! Criterion benchmarks of the hot paths, without the network.
//!
//! `cargo bench --bench paths`. The load run beside this measures HTTP against a ceiling.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::ids::{AccountId, IdSource, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent, PromptRef, PromptText, ResultImage, transition};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Encoding;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::sled::{SledEngine, SledOptions};
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::json::Json;
use tintype_storage::store::tables::LIVE_JOBS;
use tintype_storage::store::{AccountState, Limits, NewJob, RoundReads, Store};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use tintype_storage::webhook_wire::canonical::canonical;

const LIMITS: Limits = Limits {
    max_live_per_account: usize::MAX,
    idempotency_retention: Duration::from_secs(86_400),
};
const BATCH: usize = 64;

fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

struct World {
    store: Store,
    ids: IdSource,
    book: AccountState,
    key: KeyId,
}

impl World {
    fn on(engine: Arc<dyn Engine>) -> Self {
        let (store, ids) = (Store::new(engine), IdSource::new(now()));
        let balance: Amount = "900000000000".parse().expect("amount");
        let balances = Balances::default().deposit(balance).expect("deposit");
        let account = Account {
            balances,
            ..Account::new(AccountId(ids.next(now())), "bench".into(), now())
        };
        let opening = LedgerEntry::opening(TransactionId(ids.next(now())), balance, now());
        let key = KeyId(ids.next(now()));
        let mut writes = store.open_account(&account, Some(&opening));
        let known = ApiKey::with_all_rights(key, account.id, now());
        writes.extend(store.put_key(&KeyHash([1; 32]), &known));
        commit_and_wait(store.engine().as_ref(), writes).expect("commit");
        Self {
            store,
            ids,
            book: AccountState::without_jobs(account),
            key,
        }
    }

    fn new_job(&self) -> NewJob {
        NewJob {
            tier: Tier::Pro,
            prompt: PromptRef::Inline(PromptText {
                prompt: "a red fox in the snow at dawn, woodcut".into(),
                metadata: Some(r#"{"order":1234}"#.into()),
            }),
            ..samples::new_job(self.key, "0.134".parse().expect("price"))
        }
    }

    /// Accepts jobs as one durable commit.
    fn create(&mut self, count: usize) -> Vec<JobId> {
        let ids: Vec<JobId> = (0..count).map(|_| JobId(self.ids.next(now()))).collect();
        let new: Vec<NewJob> = (0..count).map(|_| self.new_job()).collect();
        let reads = RoundReads::new(&self.store);
        let mut decisions = self.book.decisions(&reads, LIMITS);
        for (id, new) in ids.iter().zip(new) {
            decisions.accept(*id, &new, now()).expect("accepted");
        }
        let decided = decisions.finish().expect("writes");
        commit_and_wait(self.store.engine().as_ref(), decided.writes).expect("commit");
        self.book.apply(decided.change);
        ids
    }

    fn apply(&mut self, jobs: &[JobId], event: &JobEvent) {
        let entries: Vec<_> = jobs
            .iter()
            .map(|_| TransactionId(self.ids.next(now())))
            .collect();
        let reads = RoundReads::new(&self.store);
        let mut decisions = self.book.decisions(&reads, LIMITS);
        for (job, entry) in jobs.iter().zip(entries) {
            decisions
                .apply(*job, event.clone(), entry, now())
                .expect("applied");
        }
        let decided = decisions.finish().expect("writes");
        commit_and_wait(self.store.engine().as_ref(), decided.writes).expect("commit");
        self.book.apply(decided.change);
    }
}

fn sled(directory: &std::path::Path) -> Arc<dyn Engine> {
    Arc::new(SledEngine::open(directory, SledOptions::new(Arc::new(|_| {}))).expect("sled"))
}

fn image() -> JobEvent {
    JobEvent::Finish {
        image: ResultImage {
            key: "results/x.png".into(),
            bytes: 9,
            width: 1024,
            height: 1024,
            backend: Some("builtin".into()),
        },
    }
}

fn sample_job() -> Job {
    let mut world = World::on(Arc::new(MemoryEngine::new()));
    let id = world.create(1)[0];
    world
        .store
        .job(world.book.account().id, id)
        .wait()
        .expect("read")
        .expect("job")
}

fn domain(c: &mut Criterion) {
    let job = sample_job();
    let bytes = LIVE_JOBS.encode(&job);
    let mut group = c.benchmark_group("domain");
    group.bench_function("transition: begin", |b| {
        b.iter(|| {
            transition(black_box(&job), JobEvent::Begin { max_runs: 3 }, now()).expect("step")
        });
    });
    group.bench_function("hold, settle", |b| {
        let balances = Balances::default()
            .deposit("100".parse().expect("amount"))
            .expect("deposit");
        b.iter(|| {
            black_box(balances)
                .hold(job.price)
                .and_then(|held| held.settle(job.price))
                .expect("balances")
        });
    });
    group.bench_function("record: encode", |b| {
        b.iter(|| LIVE_JOBS.encode(black_box(&job)))
    });
    group.bench_function("record: decode", |b| {
        b.iter(|| LIVE_JOBS.decode(black_box(&bytes)).expect("job"))
    });
    let metadata = r#"{"order":1234,"customer":"c-77","lines":[{"sku":"a-1","n":2},{"sku":"b-2","n":1}],"gift":true}"#;
    group.bench_function("metadata: parse, write canonically", |b| {
        b.iter(|| {
            let json = Json::parse(black_box(metadata), 32).expect("json");
            canonical(&json, Encoding::Utf8)
        });
    });
    group.finish();
}

fn storage(c: &mut Criterion) {
    let mut group = c.benchmark_group("storage");
    group.sample_size(30);
    group.throughput(Throughput::Elements(BATCH as u64));
    let directory = tempfile::tempdir().expect("directory");
    let mut world = World::on(sled(directory.path()));
    group.bench_function("durable create, 64 in a commit", |b| {
        b.iter(|| world.create(BATCH))
    });
    group.bench_function("settle, 64 in a commit", |b| {
        b.iter_batched(
            || (),
            |()| {
                let jobs = world.create(BATCH);
                world.apply(&jobs, &JobEvent::Begin { max_runs: 3 });
                world.apply(&jobs, &image());
            },
            BatchSize::PerIteration,
        );
    });
    let job = world.create(1)[0];
    let account = world.book.account().id;
    group.throughput(Throughput::Elements(1));
    group.bench_function("lookup", |b| {
        b.iter(|| {
            world
                .store
                .job(account, black_box(job))
                .wait()
                .expect("read")
        })
    });
    group.finish();
}

fn reopening(c: &mut Criterion) {
    let directory = tempfile::tempdir().expect("directory");
    let mut world = World::on(sled(directory.path()));
    for _ in 0..100 {
        world.create(1_000);
    }
    world.store.engine().close();
    drop(world);
    let mut group = c.benchmark_group("start");
    group.sample_size(10);
    group.bench_function("reopen with 100,000 queued jobs and read them", |b| {
        b.iter(|| {
            let store = Store::new(sled(directory.path()));
            let mut jobs = 0;
            store
                .each_live_job(|_| {
                    jobs += 1;
                    Ok(())
                })
                .wait()
                .expect("read");
            assert_eq!(jobs, 100_000);
        });
    });
    group.finish();
}

fn images(c: &mut Criterion) {
    let mut group = c.benchmark_group("image");
    group.sample_size(10);
    for (name, side) in [("1K", 1024), ("4K", 4096)] {
        let brief = tintype_procedural::DrawRequest {
            prompt: "a red fox in the snow",
            width: side,
            height: side,
            inputs: &[],
            has_mask: false,
        };
        group.bench_function(name, |b| {
            b.iter(|| tintype_procedural::draw(black_box(&brief)).expect("image"))
        });
    }
    group.finish();
}

criterion_group!(benches, domain, storage, reopening, images);
criterion_main!(benches);
