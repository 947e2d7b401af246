//! A running system over an in-memory engine, with two accounts and a test clock.

use crate::generators::{Act, ScriptedGenerator, Shelf};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tintype_actors::account::{AccountCommand, AccountHandle};
use tintype_actors::backends::{Backend, Route, Routes};
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::node::NodeContext;
use tintype_actors::ports::{
    AttemptOutcome, FetchedInputs, GenerateError, InputFetcher, Observer, PortFuture, Transport,
};
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, QueuedJob, System, SystemOptions, Threads,
};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::backend_pauses::{BackendPause, BackendPauses};
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId, NodeId, TransactionId};
use tintype_storage::domain::job::{InputImage, Job, JobEvent, JobState, Origin, PromptRef};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::pause::Pause;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::{
    AcceptError, AcceptedJob, Deposit, DepositError, EventError, IdempotencyUse, JobRange, Limits,
    NewJob, Part, Store,
};
use tintype_storage::testing::memory::MemoryEngine;
use tintype_storage::testing::samples;
use tintype_storage::testing::stalled::StalledEngine;
use tintype_storage::verify::verify;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

/// Polls before a wait fails: far longer than anything here takes, by the paused clock.
const MAX_POLLS: u32 = 1_000_000;
/// The same for a whole test.
const TEST_TIMEOUT: Duration = Duration::from_secs(1_000_000);
const STEP: Duration = Duration::from_millis(5);
/// The price of every job.
pub const PRICE: &str = "0.039";
pub const A: AccountId = AccountId(Uuid::from_u128(0xa));
pub const B: AccountId = AccountId(Uuid::from_u128(0xb));
/// The first time of the clock, in milliseconds.
pub const START: i64 = 1_000_000;

/// Panics, because no account has a webhook.
struct NoTransport;

/// The time of a fetch of a URL that begins with `slow:`.
pub const SLOW_FETCH: Duration = Duration::from_secs(30);

/// Finds an image at every URL except those that begin with `missing:`. The image's key is the URL, and its size is 2 by 1.
#[derive(Default)]
struct ScriptedFetcher {
    /// The jobs with a URL that begins with `unstored:`: their first fetches fail because of the object store.
    failures: Mutex<HashMap<JobId, u32>>,
}

/// The failed fetches of a URL that begins with `unstored:`.
const FAILED_FETCHES: u32 = 5;

impl InputFetcher for ScriptedFetcher {
    fn fetch(&self, job: &Job) -> PortFuture<FetchedInputs> {
        let Some(InputUrls::Inline(urls)) = job.input_urls() else {
            panic!("job {} has no URLs", job.id);
        };
        let is_slow = urls.iter().any(|url| url.starts_with("slow:"));
        let (found, missing): (Vec<String>, Vec<String>) = urls
            .iter()
            .cloned()
            .partition(|url| !url.starts_with("missing:"));
        let image = |key| InputImage {
            key,
            bytes: 9,
            width: 2,
            height: 1,
        };
        let is_unstored = urls.iter().any(|url| url.starts_with("unstored:"));
        let fails = is_unstored && {
            let mut failures = self.failures.lock();
            let failures = failures.entry(job.id).or_default();
            *failures += 1;
            *failures <= FAILED_FETCHES
        };
        let fetched = match missing.first() {
            _ if fails => Err(GenerateError::Storage("the store fails".into())),
            Some(url) => Err(GenerateError::Refused(format!("there is nothing at {url}"))),
            None => Ok(FetchedInputs {
                inputs: found.into_iter().map(image).collect(),
                ratio: job.ratio,
            }),
        };
        async move {
            if is_slow {
                sleep(SLOW_FETCH).await;
            }
            fetched
        }
        .boxed_local()
    }
}

impl Transport for NoTransport {
    fn attempt(&self, delivery: Delivery, _: Webhook) -> LocalBoxFuture<'static, AttemptOutcome> {
        panic!("delivery {} has no webhook", delivery.id);
    }
}

/// Runs a test on one thread. Its clock jumps to the next timer as soon as all tasks are idle.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("it")
    };
    let limited = async {
        timeout(TEST_TIMEOUT, test)
            .await
            .expect("the test is stuck")
    };
    actix::System::with_tokio_rt(runtime).block_on(limited);
}

/// Polls until the condition holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..MAX_POLLS {
        if holds() {
            return;
        }
        sleep(STEP).await;
    }
    panic!("waited in vain until {what}");
}

/// Lets the actors finish all work that is ready: the clock advances only when all tasks are idle.
pub async fn settle() {
    sleep(STEP).await;
}

/// The configuration of a world.
pub struct Plan {
    pub engine: Arc<dyn Engine>,
    /// Each with its number of slots.
    pub backends: Vec<(ScriptedGenerator, usize)>,
    /// Indices of backends in order of preference, for all tiers.
    pub route: Vec<usize>,
    /// The route of the tier `pro`, if it is another one.
    pub pro: Option<Vec<usize>>,
    /// The weight of each entry of the route; missing entries have none.
    pub weights: Vec<Option<u32>>,
    pub max_runs: u32,
    pub retries: u32,
    pub attempt_timeout: Duration,
    pub run_timeout: Duration,
    pub now: i64,
    pub observer: Option<Arc<dyn Observer>>,
    pub threads: Threads,
    /// This process as one of several nodes.
    pub node: Option<Arc<NodeContext>>,
}

impl Plan {
    /// One backend, and two accounts with a balance of 100.
    pub fn with(generator: ScriptedGenerator, slots: usize) -> Self {
        Self::over(fresh("100"), generator, slots)
    }

    pub fn over(engine: Arc<dyn Engine>, generator: ScriptedGenerator, slots: usize) -> Self {
        Self {
            engine,
            backends: vec![(generator, slots)],
            route: vec![0],
            pro: None,
            weights: Vec::new(),
            max_runs: 3,
            retries: 2,
            attempt_timeout: Duration::from_secs(60),
            run_timeout: Duration::from_secs(600),
            now: START,
            observer: None,
            threads: Threads::Callers,
            node: None,
        }
    }

    /// The process is one of several nodes.
    pub fn among_nodes(mut self) -> Self {
        let id = NodeId(Uuid::from_u128(0x1001));
        self.node = Some(Arc::new(NodeContext::new(id, Duration::from_secs(3))));
        self
    }

    pub fn start(self) -> World {
        let engine = Arc::new(StalledEngine::new(self.engine));
        let store = Store::new(Arc::clone(&engine) as Arc<dyn Engine>);
        let now = AtomicI64::new(self.now);
        let (shelf, fail_stop) = (Shelf::default(), FailStop::new());
        let routes = |backends: &[usize]| -> Vec<Route> {
            let weight = |entry: usize| self.weights.get(entry).copied().flatten();
            let entries = backends.iter().enumerate();
            entries
                .map(|(entry, backend)| route(*backend, weight(entry)))
                .collect()
        };
        let (all, pro) = (&self.route, self.pro.as_ref().unwrap_or(&self.route));
        let routes = Routes([routes(all), routes(all), routes(pro)]);
        let backends = self.backends.into_iter().enumerate();
        let system = System::start(SystemOptions {
            store: store.clone(),
            jobs: JobOptions {
                limits: Limits {
                    max_live_per_account: 100_000,
                    idempotency_retention: Duration::from_secs(86_400),
                },
                max_runs: self.max_runs,
                run_timeout: self.run_timeout,
                backends: backends
                    .map(|(at, (generator, slots))| Backend {
                        name: format!("backend-{at}"),
                        generator: Arc::new(generator),
                        slots,
                        is_shared: false,
                        timeout: self.attempt_timeout,
                        retries: self.retries,
                    })
                    .collect(),
                routes,
                job_objects: Arc::new(shelf.clone()),
                input_fetcher: Arc::new(ScriptedFetcher::default()),
            },
            deliveries: DeliveryOptions {
                transport: Arc::new(NoTransport),
                retry_delays: Vec::new(),
                limits: DeliveryLimits {
                    total: 1,
                    per_receiver: 1,
                },
            },
            process: ProcessOptions {
                clock: Arc::new(move || Timestamp::from_millis(now.fetch_add(1, Ordering::SeqCst))),
                observer: self.observer,
                fail_stop: fail_stop.clone(),
                threads: self.threads,
                node: self.node,
                ..ProcessOptions::default()
            },
        })
        .expect("a system");
        World {
            engine,
            store,
            system,
            shelf,
            fail_stop,
        }
    }
}

fn route(backend: usize, weight: Option<u32>) -> Route {
    Route {
        backend,
        model: Some(format!("model-{backend}")),
        weight,
    }
}

/// The hash of the text of an account's key.
fn key_text(account: AccountId) -> [u8; 32] {
    [account.0.as_bytes()[15]; 32]
}

/// An in-memory engine with both accounts, each with a key.
pub fn fresh(balance: &str) -> Arc<MemoryEngine> {
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(Arc::clone(&engine) as Arc<dyn Engine>);
    let balance: Amount = balance.parse().expect("an amount");
    for (number, id) in [(1, A), (2, B)] {
        let opening = LedgerEntry::opening(
            TransactionId(Uuid::from_u128(number)),
            balance,
            Timestamp::from_millis(0),
        );
        let account = Account {
            balances: Balances::default().deposit(balance).expect("a deposit"),
            ..Account::new(id, "an account".into(), Timestamp::from_millis(0))
        };
        let mut writes = store.open_account(&account, Some(&opening));
        let key = ApiKey::with_all_rights(KeyId(id.0), id, account.created_at);
        writes.extend(store.put_key(&KeyHash(key_text(id)), &key));
        commit_and_wait(&*engine, writes).expect("an account");
    }
    engine
}

/// A generator that returns every image at once.
pub fn quick() -> ScriptedGenerator {
    ScriptedGenerator::always(Act::Image)
}

pub type Answer<T, E> = oneshot::Receiver<Result<T, E>>;

pub struct World {
    pub engine: Arc<StalledEngine>,
    pub store: Store,
    pub system: System,
    pub shelf: Shelf,
    pub fail_stop: FailStop,
}

impl World {
    /// Reports a change of the paused models, which the caller has written.
    pub fn pause_changed(&self, pause: Pause) {
        self.system.accounts().publish_pause(pause);
    }

    /// Reports a change of the paused backends, which the caller has written.
    pub fn backends_paused(&self, backends: &[usize]) {
        let pause = |at: &usize| (format!("backend-{at}"), BackendPause::default());
        let paused = backends.iter().map(pause).collect();
        let accounts = self.system.accounts();
        accounts.publish_backend_pauses(BackendPauses { paused });
    }

    pub fn handle(&self, account: AccountId) -> AccountHandle {
        let handle = self.system.accounts().get_or_start(account).wait();
        handle.expect("readable").expect("an account")
    }

    /// Sends a job with the idempotency key `name`. The caller of a prompt that begins with `waits:` waits for the image.
    pub fn send(
        &self,
        account: AccountId,
        tier: Tier,
        prompt: &str,
        name: Option<&str>,
    ) -> Answer<AcceptedJob, AcceptError> {
        self.send_job(account, new_job(account, tier, prompt, name))
    }

    /// Sends a job that fails if it is still queued after `cancel_after`.
    pub fn send_until(
        &self,
        account: AccountId,
        tier: Tier,
        prompt: &str,
        cancel_after: Option<Duration>,
    ) -> Answer<AcceptedJob, AcceptError> {
        let job = NewJob {
            cancel_after,
            ..new_job(account, tier, prompt, None)
        };
        self.send_job(account, job)
    }

    fn send_job(&self, account: AccountId, job: NewJob) -> Answer<AcceptedJob, AcceptError> {
        let (reply, answer) = oneshot::channel();
        let _ = self.handle(account).accept(job, None, reply);
        answer
    }

    /// The jobs of an account, newest first.
    pub fn jobs(&self, account: AccountId) -> Vec<Job> {
        let jobs = self
            .store
            .jobs_of(account, Part::All, JobRange::ALL, 100)
            .wait();
        jobs.expect("readable")
    }

    /// Sends a job that must be accepted.
    pub async fn accept(&self, account: AccountId, tier: Tier, prompt: &str) -> JobId {
        let answer = self.send(account, tier, prompt, None).await;
        answer.expect("an answer").expect("accepted").job
    }

    pub fn apply(
        &self,
        account: AccountId,
        job: JobId,
        event: JobEvent,
    ) -> Answer<Job, EventError> {
        let (reply, answer) = oneshot::channel();
        let command = AccountCommand::Apply {
            job,
            event,
            to_entry: None,
            reply: reply.into(),
        };
        let _ = self.handle(account).send(command);
        answer
    }

    pub fn deposit(&self, account: AccountId, amount: &str) -> Answer<LedgerEntry, DepositError> {
        let (reply, answer) = oneshot::channel();
        let deposit = Deposit {
            amount: amount.parse().expect("an amount"),
            reference: None,
            idempotency: None,
        };
        let command = AccountCommand::Deposit {
            deposit,
            to_entry: None,
            reply: reply.into(),
        };
        let _ = self.handle(account).send(command);
        answer
    }

    /// A job of either account.
    pub fn job(&self, id: JobId) -> Job {
        let of = |account| self.store.job(account, id).wait().expect("readable");
        of(A).or_else(|| of(B)).expect("the job")
    }

    /// `None` unless the job is queued.
    pub fn position(&self, id: JobId) -> Option<usize> {
        let queued = QueuedJob::if_queued(&self.job(id))?;
        Some(self.system.queue().position(queued))
    }

    pub fn state(&self, id: JobId) -> JobState {
        self.job(id).state
    }

    /// Waits until the job fails, and returns its error.
    pub async fn failure(&self, id: JobId) -> String {
        until("the job fails", || self.state(id).is_terminal()).await;
        match self.state(id) {
            JobState::Failed { error, .. } => error,
            other => panic!("not failed: {other:?}"),
        }
    }

    pub async fn done(&self, id: JobId) {
        until("the job ends", || self.state(id).is_terminal()).await;
        assert_eq!(self.state(id).as_str(), "done", "{:?}", self.state(id));
    }

    /// Waits until no job is queued or running.
    pub async fn idle(&self) {
        for _ in 0..MAX_POLLS {
            let depths = self.system.queue().depths();
            if depths.queued == [0, 0, 0] && depths.running == 0 {
                return;
            }
            sleep(STEP).await;
        }
        panic!("never idle");
    }

    /// Balance and reserved.
    pub fn money(&self, account: AccountId) -> [String; 2] {
        let account = self.store.account(account).wait().expect("readable");
        let balances = account.expect("an account").balances;
        [balances.balance.to_string(), balances.reserved.to_string()]
    }

    /// Verifies the invariants of the store.
    pub fn check(&self) {
        let report = verify(&self.store, |_| {}).expect("a report");
        assert_eq!(report.faults, Vec::<String>::new());
    }
}

pub fn new_job(account: AccountId, tier: Tier, prompt: &str, name: Option<&str>) -> NewJob {
    NewJob {
        tier,
        prompt: match prompt.strip_prefix("stored:") {
            Some(key) => PromptRef::Stored(key.into()),
            None => samples::prompt(prompt),
        },
        origin: if prompt.starts_with("waits:") {
            Origin::Synchronous
        } else {
            Origin::Native
        },
        idempotency: name.map(|name| IdempotencyUse {
            name: name.into(),
            fingerprint: Fingerprint([7; 32]),
        }),
        ..samples::new_job(KeyId(account.0), PRICE.parse().expect("a price"))
    }
}
