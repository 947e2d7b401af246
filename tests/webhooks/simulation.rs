//! The actors alone, over an in-memory engine, on tokio's paused clock: an hour passes instantly, and times are exact.

use crate::support::generator::TestGenerator;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::future::{Future, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;
use tintype_actors::account::AccountCommand;
use tintype_actors::backends::{Backend, Route, Routes};
use tintype_actors::clock::Clock;
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::delivery::{DeliveryCommand, DeliveryError};
use tintype_actors::fail_stop::FailStop;
use tintype_actors::ports::{
    AttemptOutcome, CheckedImage, FetchedInputs, GenerateError, GeneratedImage, InputFetcher,
    JobObjects, PortFuture, Transport,
};
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, System, SystemOptions, Threads,
};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId, DeliveryKind};
use tintype_storage::domain::ids::{AccountId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::{Job, JobEvent, PromptText, ResultImage};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook, WebhookId};
use tintype_storage::engine::Wait as _;
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::{Limits, NewJob, Store};
use tintype_storage::testing::samples;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// The start time of every simulation, in milliseconds.
pub const BEGIN: i64 = 1_795_000_000_000;
pub const ACCOUNT: AccountId = AccountId(Uuid::from_u128(0xacc));
const KEY: KeyId = KeyId(Uuid::from_u128(1));
/// The specification's table of retry delays, in seconds.
pub const TABLE: [u64; 6] = [60, 120, 300, 600, 900, 1_200];

/// Runs a test on a clock that advances whenever all tasks are idle.
pub fn in_paused_time<F: Future>(test: F) -> F::Output {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    };
    actix::System::with_tokio_rt(runtime).block_on(test)
}

/// The scripted end of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// `None` for no answer.
    pub status: Option<u16>,
    pub took: Duration,
}

/// An attempt that ends immediately with this status.
pub fn status(status: u16) -> Outcome {
    Outcome {
        status: Some(status),
        took: Duration::ZERO,
    }
}

/// A started attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartedAttempt {
    /// Milliseconds since [`BEGIN`], by the simulation's clock.
    pub at: i64,
    pub delivery: DeliveryId,
    pub webhook: WebhookId,
}

/// A scripted transport that records its attempts. Clones share the state.
#[derive(Clone)]
pub struct ScriptedTransport {
    script: Arc<Mutex<VecDeque<Outcome>>>,
    then: Outcome,
    of_webhook: Arc<Mutex<HashMap<WebhookId, Outcome>>>,
    hold_ups: Arc<AtomicUsize>,
    sent: Arc<Mutex<Vec<StartedAttempt>>>,
    taken: Arc<Mutex<Vec<DeliveryId>>>,
    clock: Clock,
}

impl ScriptedTransport {
    /// Sets the outcome of attempts to this webhook. The script takes precedence.
    pub fn treat(&self, webhook: &Webhook, outcome: Outcome) {
        self.of_webhook.lock().insert(webhook.id, outcome);
    }

    /// The next attempts fail with a fault of the service itself.
    pub fn hold_up(&self, attempts: usize) {
        self.hold_ups.store(attempts, Ordering::SeqCst);
    }

    /// All started attempts.
    pub fn sent(&self) -> Vec<StartedAttempt> {
        self.sent.lock().clone()
    }

    /// The start times of the attempts, in milliseconds since [`BEGIN`].
    pub fn moments(&self) -> Vec<i64> {
        self.sent().iter().map(|it| it.at).collect()
    }

    /// Accepted deliveries, repeated for each acceptance.
    pub fn taken(&self) -> Vec<DeliveryId> {
        self.taken.lock().clone()
    }
}

impl Transport for ScriptedTransport {
    fn attempt(
        &self,
        delivery: Delivery,
        webhook: Webhook,
    ) -> LocalBoxFuture<'static, AttemptOutcome> {
        let transport = self.clone();
        async move {
            let at = (transport.clock)();
            transport.sent.lock().push(StartedAttempt {
                at: at.millis() - BEGIN,
                delivery: delivery.id,
                webhook: webhook.id,
            });
            let of_webhook = transport.of_webhook.lock().get(&webhook.id).copied();
            let scripted = transport.script.lock().pop_front();
            let outcome = scripted.or(of_webhook).unwrap_or(transport.then);
            sleep(outcome.took).await;
            let held_up = |left: usize| left.checked_sub(1);
            let order = Ordering::SeqCst;
            if transport
                .hold_ups
                .fetch_update(order, order, held_up)
                .is_ok()
            {
                return AttemptOutcome::NotSent("held up".into());
            }
            let (round, took) = (delivery.round, outcome.took);
            AttemptOutcome::Made(match outcome.status {
                Some(status) => {
                    if (200..300).contains(&status) {
                        transport.taken.lock().push(delivery.id);
                    }
                    Attempt::responded(round, at, took, status, b"", None)
                }
                None => Attempt::broken(round, at, took, "no answer"),
            })
        }
        .boxed_local()
    }
}

struct NullImages;

impl JobObjects for NullImages {
    fn check_image(&self, _: &Job, image: GeneratedImage) -> PortFuture<CheckedImage> {
        let checked = CheckedImage {
            bytes: image.bytes,
            width: 1,
            height: 1,
        };
        ready(Ok(checked)).boxed_local()
    }

    fn store_image(&self, job: &Job, _: CheckedImage) -> PortFuture<ResultImage> {
        let key = format!("results/{}.png", job.id);
        let image = ResultImage {
            key,
            bytes: 1,
            width: 1,
            height: 1,
            backend: None,
        };
        async move { Ok(image) }.boxed_local()
    }

    fn read_prompt(&self, _: String) -> PortFuture<PromptText> {
        async {
            Err(GenerateError::BackendFault(
                "no prompt is stored here".into(),
            ))
        }
        .boxed_local()
    }

    fn delete_inputs(&self, _: &Job) -> LocalBoxFuture<'static, ()> {
        async {}.boxed_local()
    }
}

impl InputFetcher for NullImages {
    fn fetch(&self, _: &Job) -> PortFuture<FetchedInputs> {
        async { Err(GenerateError::Refused("no images are found here".into())) }.boxed_local()
    }
}

/// The running actors with their test doubles.
pub struct Simulation {
    pub store: Store,
    pub system: System,
    pub transport: ScriptedTransport,
    pub generator: TestGenerator,
    pub fail_stop: FailStop,
    /// Milliseconds by which the clock was adjusted.
    pub set_by: Arc<AtomicI64>,
    clock: Clock,
}

/// The options of a simulation.
pub struct SimulationOptions {
    /// The simulation recovers the records in it.
    pub engine: Arc<dyn Engine>,
    /// The outcomes of the first attempts.
    pub script: Vec<Outcome>,
    /// The outcome of all other attempts.
    pub then: Outcome,
    /// The start time in milliseconds after [`BEGIN`].
    pub after: i64,
    pub limits: DeliveryLimits,
}

impl SimulationOptions {
    /// A simulation over this engine: the first attempts follow the script, all others succeed.
    pub fn over(engine: Arc<dyn Engine>, script: Vec<Outcome>) -> Self {
        Self {
            engine,
            script,
            then: status(200),
            after: 0,
            limits: DeliveryLimits {
                total: 512,
                per_receiver: 16,
            },
        }
    }
}

impl Simulation {
    /// Starts the simulation. Must be called within [`in_paused_time`].
    pub fn begin(options: SimulationOptions) -> Self {
        let (began, set_by) = (Instant::now(), Arc::new(AtomicI64::new(options.after)));
        let moved = Arc::clone(&set_by);
        let clock: Clock = Arc::new(move || {
            let passed = began.elapsed().as_millis() as i64;
            Timestamp::from_millis(BEGIN + passed + moved.load(Ordering::SeqCst))
        });
        let transport = ScriptedTransport {
            script: Arc::new(Mutex::new(options.script.into())),
            then: options.then,
            of_webhook: Arc::default(),
            hold_ups: Arc::default(),
            sent: Arc::default(),
            taken: Arc::default(),
            clock: Arc::clone(&clock),
        };
        let (store, generator) = (Store::new(options.engine), TestGenerator::default());
        let route = vec![Route {
            backend: 0,
            model: None,
            weight: None,
        }];
        let fail_stop = FailStop::new();
        let system = System::start(SystemOptions {
            store: store.clone(),
            jobs: JobOptions {
                limits: Limits {
                    max_live_per_account: 1_000,
                    idempotency_retention: Duration::from_secs(86_400),
                },
                max_runs: 3,
                run_timeout: Duration::from_secs(60),
                backends: vec![Backend {
                    name: "builtin".into(),
                    generator: Arc::new(generator.clone()),
                    slots: 4,
                    is_shared: false,
                    timeout: Duration::from_secs(30),
                    retries: 0,
                }],
                routes: Routes([route.clone(), route.clone(), route]),
                job_objects: Arc::new(NullImages),
                input_fetcher: Arc::new(NullImages),
            },
            deliveries: DeliveryOptions {
                transport: Arc::new(transport.clone()),
                retry_delays: TABLE.map(Duration::from_secs).to_vec(),
                limits: options.limits,
            },
            process: ProcessOptions {
                clock: Arc::clone(&clock),
                fail_stop: fail_stop.clone(),
                threads: Threads::Callers,
                ..ProcessOptions::default()
            },
        })
        .unwrap();
        Self {
            store,
            system,
            transport,
            generator,
            fail_stop,
            set_by,
            clock,
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Queues a test delivery to this webhook.
    pub async fn send_test(&self, webhook: &Webhook) -> DeliveryId {
        let id = self.system.process().ids.next(self.now());
        let (id, job) = (DeliveryId(id), JobId(id));
        let delivery = Delivery::new(id, webhook, DeliveryKind::Test, job.0, self.now());
        let (reply, answer) = oneshot::channel();
        let writes = self.store.add_delivery(&delivery);
        let command = DeliveryCommand::Add {
            delivery,
            writes,
            reply,
        };
        self.system.deliveries().do_send(command);
        answer.await.unwrap().unwrap().id
    }

    pub async fn redeliver(&self, id: DeliveryId) -> Result<Delivery, DeliveryError> {
        let (reply, answer) = oneshot::channel();
        self.system
            .deliveries()
            .do_send(DeliveryCommand::Redeliver {
                id,
                to_entry: None,
                reply,
            });
        answer.await.unwrap()
    }

    pub async fn accept(&self) -> JobId {
        let (reply, answer) = oneshot::channel();
        let job = new_job();
        let actor = self
            .system
            .accounts()
            .get_or_start(ACCOUNT)
            .await
            .unwrap()
            .unwrap();
        let _counted = actor.accept(job, None, reply).expect("room for it");
        answer.await.unwrap().unwrap().job
    }

    /// Cancels a queued job.
    pub async fn cancel(&self, job: JobId) {
        let (reply, answer) = oneshot::channel();
        let event = JobEvent::Cancel;
        let actor = self
            .system
            .accounts()
            .get_or_start(ACCOUNT)
            .await
            .unwrap()
            .unwrap();
        let command = AccountCommand::Apply {
            job,
            event,
            to_entry: None,
            reply: reply.into(),
        };
        actor.send(command).unwrap();
        answer.await.unwrap().unwrap();
    }

    /// The stored record of a delivery.
    pub fn delivery(&self, id: DeliveryId) -> Delivery {
        self.store.delivery(id).wait().unwrap().expect("a delivery")
    }

    /// Commits the writes and waits until they are durable.
    pub fn write(&self, writes: tintype_storage::store::Writes) {
        commit_and_wait(&**self.store.engine(), writes).unwrap();
    }
}

/// Stores the account and its webhooks.
pub fn furnish(engine: &dyn Engine, store: &Store, webhooks: &[Webhook]) {
    let balance = "100".parse().unwrap();
    let account = Account {
        balances: Balances::default().deposit(balance).unwrap(),
        ..Account::new(ACCOUNT, "a".into(), Timestamp::from_millis(BEGIN))
    };
    let opening = LedgerEntry::opening(
        TransactionId(Uuid::from_u128(1)),
        balance,
        Timestamp::from_millis(BEGIN),
    );
    let mut writes = store.open_account(&account, Some(&opening));
    let key = ApiKey::with_all_rights(KEY, ACCOUNT, account.created_at);
    writes.extend(store.put_key(&KeyHash([1; 32]), &key));
    commit_and_wait(engine, writes).unwrap();
    for webhook in webhooks {
        commit_and_wait(engine, store.put_webhook(webhook)).unwrap();
    }
}

/// A webhook with this number; a smaller number is older.
pub fn webhook(number: u128) -> Webhook {
    Webhook::new(
        WebhookId(Uuid::from_u128(number)),
        ACCOUNT,
        format!("https://receiver.example/{number}"),
        SealedSecret(vec![0]),
        Timestamp::from_millis(BEGIN),
    )
}

fn new_job() -> NewJob {
    samples::new_job(KEY, "0.10".parse().unwrap())
}
