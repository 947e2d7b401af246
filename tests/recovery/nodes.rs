//! Several nodes on a real database: each makes pictures, one of them stands still with runs under way, and its jobs go on at the others.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::backends::{Backend, Route, Routes};
use tintype_actors::clock::{random_jitter, system_clock};
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::node::NodeContext;
use tintype_actors::ports::{
    AttemptOutcome, FetchedInputs, GenerateError, GenerationTask, Generator, ImageStore,
    InputFetcher, Picture, Transport,
};
use tintype_actors::system::{System, SystemOptions, Threads};
use tintype_postgres::testing::{Database, server};
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::aspect_ratio::{AspectChoice, AspectRatio};
use tintype_storage::domain::delivery::Delivery;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId, NodeId, TransactionId};
use tintype_storage::domain::job::{Job, JobState, Origin, PromptRef, PromptText, ResultImage};
use tintype_storage::domain::ledger::{Balances, EntryKind, LedgerEntry};
use tintype_storage::domain::tier::{Mode, Resolution, Tier};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Webhook;
use tintype_storage::engine::Engine;
use tintype_storage::store::tables::{NODES, TAKEN_JOBS};
use tintype_storage::store::{All, Limits, NewJob, Store};
use tintype_storage::verify::verify;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

const ACCOUNT: AccountId = AccountId(Uuid::from_u128(1));
/// How many pictures are asked for at each node.
const JOBS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// Where each job has been made.
type Made = Arc<Mutex<HashMap<JobId, Vec<NodeId>>>>;

/// Makes pictures slowly, so that runs are under way when a node stands still.
struct Slow {
    node: NodeId,
    made: Made,
}

impl Generator for Slow {
    fn generate(
        &self,
        task: GenerationTask,
    ) -> LocalBoxFuture<'static, Result<Picture, GenerateError>> {
        self.made
            .lock()
            .entry(task.job)
            .or_default()
            .push(self.node);
        async move {
            sleep(Duration::from_millis(300)).await;
            Ok(Picture::foreign(vec![1]))
        }
        .boxed_local()
    }
}

/// Keeps every picture; there are no inputs and no webhooks.
struct Rest;

impl ImageStore for Rest {
    fn keep(
        &self,
        job: &Job,
        _: Picture,
    ) -> LocalBoxFuture<'static, Result<ResultImage, GenerateError>> {
        let image = ResultImage {
            key: format!("results/{}.png", job.id),
            bytes: 1,
            width: 1,
            height: 1,
            backend: None,
        };
        ready(Ok(image)).boxed_local()
    }

    fn words(&self, _: String) -> LocalBoxFuture<'static, Result<PromptText, GenerateError>> {
        ready(Ok(PromptText::default())).boxed_local()
    }

    fn forget_inputs(&self, _: &Job) -> LocalBoxFuture<'static, ()> {
        ready(()).boxed_local()
    }
}

impl InputFetcher for Rest {
    fn fetch(&self, job: &Job) -> LocalBoxFuture<'static, Result<FetchedInputs, GenerateError>> {
        panic!("job {} has no input images", job.id);
    }
}

impl Transport for Rest {
    fn attempt(&self, delivery: Delivery, _: Webhook) -> LocalBoxFuture<'static, AttemptOutcome> {
        panic!("delivery {} was owed to nobody", delivery.id);
    }
}

struct Node {
    id: NodeId,
    system: System,
    store: Store,
    fail_stop: FailStop,
}

impl Node {
    fn join(database: &Database<'_>, number: u128, made: &Made) -> Self {
        let id = NodeId(Uuid::from_u128(number));
        let fail_stop = FailStop::new();
        let trips = fail_stop.clone();
        let engine = PostgresEngine::open(PostgresOptions {
            url: DatabaseUrl::parse(&database.url()).expect("a URL"),
            connections: 6,
            node: Some(id),
            outage: PATIENCE,
            on_failure: Arc::new(move |error| trips.trip(error.to_string())),
        });
        let store = Store::new(Arc::new(engine.expect("a node")) as Arc<dyn Engine>);
        let route = || {
            vec![Route {
                backend: 0,
                model: None,
                weight: None,
            }]
        };
        let system = System::start(SystemOptions {
            store: store.clone(),
            clock: system_clock(),
            jitter: random_jitter(),
            limits: Limits {
                max_live_per_account: 1_000,
                idempotency_retention: Duration::from_secs(86_400),
            },
            max_runs: 9,
            run_timeout: PATIENCE,
            backends: vec![Backend {
                name: "slow".into(),
                generator: Arc::new(Slow {
                    node: id,
                    made: Arc::clone(made),
                }),
                slots: 2,
                timeout: PATIENCE,
                retries: 0,
            }],
            routes: Routes([route(), route(), route()]),
            image_store: Arc::new(Rest),
            input_fetcher: Arc::new(Rest),
            transport: Arc::new(Rest),
            operator: None,
            retry_delays: Vec::new(),
            delivery_limits: DeliveryLimits {
                total: 1,
                per_receiver: 1,
            },
            observer: None,
            fail_stop: fail_stop.clone(),
            threads: Threads::Callers,
            node: Some(Arc::new(NodeContext::new(id, Duration::from_secs(1)))),
        });
        Self {
            id,
            system: system.expect("a node"),
            store,
            fail_stop,
        }
    }

    async fn accept(&self) -> JobId {
        let job = NewJob {
            key: KeyId(ACCOUNT.0),
            shown: None,
            account_rate_limit: None,
            tier: Tier::Fast,
            mode: Mode::TextToImage,
            aspect: AspectChoice::Fixed(AspectRatio::SQUARE),
            ratio: AspectRatio::SQUARE,
            resolution: Resolution::K1,
            brief: PromptRef::Inline(PromptText {
                prompt: "a fox".into(),
                metadata: None,
            }),
            callback: None,
            origin: Origin::Native,
            inputs: Vec::new(),
            price: amount("0.5"),
            cancel_after: None,
            idempotency: None,
        };
        let account = self.system.accounts().get(ACCOUNT).expect("readable");
        let (reply, answer) = oneshot::channel();
        let _guard = account.expect("an account").accept(job, None, reply);
        answer.await.expect("an answer").expect("accepted").job
    }
}

fn amount(text: &str) -> Amount {
    text.parse().expect("an amount")
}

async fn open_account(store: &Store) {
    let at = Timestamp::from_millis(0);
    let balance = amount("100");
    let opening = LedgerEntry {
        id: TransactionId(ACCOUNT.0),
        kind: EntryKind::Deposit,
        amount: balance,
        balance_after: balance,
        job: None,
        reference: None,
        created_at: at,
    };
    let account = Account {
        balances: Balances::default().deposit(balance).expect("a deposit"),
        ..Account::new(ACCOUNT, "an account".into(), at)
    };
    let mut writes = store.open_account(&account, Some(&opening));
    let key = ApiKey::with_all_rights(KeyId(ACCOUNT.0), ACCOUNT, at);
    writes.extend(store.put_key(&KeyHash([1; 32]), &key));
    let (told, durable) = oneshot::channel();
    store.commit(writes, |outcome| drop(told.send(outcome)));
    durable.await.expect("an outcome").expect("an account");
}

/// Asks again until it holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let asks = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let held = timeout(PATIENCE, asks).await;
    held.unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

#[test]
fn the_jobs_of_a_node_that_stands_still_go_on_at_the_others_and_are_charged_once() {
    let Some(server) = server() else { return };
    let database = server.database();
    actix_web::rt::System::new().block_on(async {
        let made = Made::default();
        let nodes = [1, 2, 3].map(|number| Node::join(&database, number, &made));
        let [still, second, third] = &nodes;
        open_account(&still.store).await;
        let mut jobs = Vec::new();
        for _ in 0..JOBS {
            for node in &nodes {
                jobs.push(node.accept().await);
            }
        }
        until("the first node has runs under way", async || {
            made.lock().values().flatten().any(|it| *it == still.id)
        })
        .await;
        // Its beats and takes end; what it has under way goes on, and is refused.
        still.system.stop();
        let store = &second.store;
        until("all jobs have ended", async || {
            let mut done = 0;
            for job in &jobs {
                let job = store.job(ACCOUNT, *job).await.expect("readable");
                done += usize::from(job.is_some_and(|it| it.state.is_terminal()));
            }
            done == jobs.len()
        })
        .await;
        until("the node is off the record", async || {
            NODES
                .get(store, &still.id)
                .await
                .expect("readable")
                .is_none()
        })
        .await;
        for id in &jobs {
            let job = third.store.job(ACCOUNT, *id).await.expect("readable");
            let state = job.expect("the job").state;
            assert!(matches!(state, JobState::Done { .. }), "{id}: {state:?}");
        }
        let account = store.account(ACCOUNT).await.expect("readable");
        let balances = account.expect("an account").balances;
        assert_eq!(
            [balances.balance.to_string(), balances.reserved.to_string()],
            ["88.00", "0.00"]
        );
        let left = TAKEN_JOBS.each(store, &All, |(node, job), _| {
            panic!("{node} still has {job}");
        });
        left.await.expect("readable");
        let makers: std::collections::HashSet<NodeId> =
            made.lock().values().flatten().copied().collect();
        assert_eq!(makers.len(), 3, "each node has made some");
        assert!(!second.fail_stop.has_tripped() && !third.fail_stop.has_tripped());
        let report = verify(store, |_| {}).expect("an audit");
        assert_eq!(report.faults, Vec::<String>::new());
    });
}
