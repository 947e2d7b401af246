//! Several nodes on a real database: each runs jobs, one node freezes during its runs, and the others take over its jobs.

#[path = "../../actors/tests/simulation/nodes/account.rs"]
mod account;
#[path = "../../actors/tests/simulation/nodes/ports.rs"]
mod ports;

use account::{fox, only_backend, opened, with_balance};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use ports::NoopPorts;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tintype_actors::backends::Backend;
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::node::NodeContext;
use tintype_actors::ports::{GeneratedImage, GenerationTask, Generator, PortFuture};
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, System, SystemOptions, Threads,
};
use tintype_postgres::testing::{Database, server};
use tintype_postgres::{DatabaseUrl, PostgresEngine, PostgresOptions};
use tintype_storage::domain::ids::{AccountId, JobId, NodeId};
use tintype_storage::domain::job::{FailureKind, JobState, Origin};
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::Engine;
use tintype_storage::store::tables::{NODES, TAKEN_JOBS, WAITING_CALLERS};
use tintype_storage::store::{All, Limits, NewJob, Store};
use tintype_storage::verify::verify;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

const ACCOUNT: AccountId = AccountId(Uuid::from_u128(1));
/// Jobs created at each node.
const JOBS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

/// The runs of all nodes.
#[derive(Default)]
struct Runs {
    /// The nodes that ran each job.
    by_job: Mutex<HashMap<JobId, Vec<NodeId>>>,
    /// Runs do not end.
    are_held: AtomicBool,
}

/// A slow generator, so that runs are in flight when a node freezes.
struct Slow {
    node: NodeId,
    runs: Arc<Runs>,
}

impl Generator for Slow {
    fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
        let mut by_job = self.runs.by_job.lock();
        by_job.entry(task.job).or_default().push(self.node);
        let runs = Arc::clone(&self.runs);
        async move {
            sleep(Duration::from_millis(300)).await;
            until("runs may end", async || {
                !runs.are_held.load(Ordering::Relaxed)
            })
            .await;
            Ok(GeneratedImage::foreign(vec![1]))
        }
        .boxed_local()
    }
}

struct Node {
    id: NodeId,
    system: System,
    store: Store,
    fail_stop: FailStop,
}

impl Node {
    fn join(database: &Database<'_>, number: u128, runs: &Arc<Runs>) -> Self {
        let id = NodeId(Uuid::from_u128(number));
        let fail_stop = FailStop::new();
        let trips = fail_stop.clone();
        let engine = PostgresEngine::open(PostgresOptions {
            url: DatabaseUrl::parse(&database.url()).expect("a URL"),
            connections: 6,
            node: Some(id),
            host: "localhost".into(),
            outage: PATIENCE,
            on_failure: Arc::new(move |error| trips.trip(error.to_string())),
        });
        let store = Store::new(Arc::new(engine.expect("a node")) as Arc<dyn Engine>);
        let system = System::start(SystemOptions {
            store: store.clone(),
            jobs: JobOptions {
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
                        runs: Arc::clone(runs),
                    }),
                    slots: 2,
                    is_shared: false,
                    timeout: PATIENCE,
                    retries: 0,
                }],
                routes: only_backend(),
                job_objects: Arc::new(NoopPorts),
                input_fetcher: Arc::new(NoopPorts),
            },
            deliveries: DeliveryOptions {
                transport: Arc::new(NoopPorts),
                retry_delays: Vec::new(),
                limits: DeliveryLimits {
                    total: 1,
                    per_receiver: 1,
                },
            },
            process: ProcessOptions {
                fail_stop: fail_stop.clone(),
                threads: Threads::Callers,
                node: Some(Arc::new(NodeContext::new(id, Duration::from_secs(1)))),
                ..ProcessOptions::default()
            },
        });
        Self {
            id,
            system: system.expect("a node"),
            store,
            fail_stop,
        }
    }

    async fn accept(&self, origin: Origin) -> JobId {
        let job = NewJob {
            origin,
            ..fox(ACCOUNT, Tier::Fast, "0.5")
        };
        let account = self
            .system
            .accounts()
            .get_or_start(ACCOUNT)
            .await
            .expect("readable");
        let (reply, answer) = oneshot::channel();
        let _guard = account.expect("an account").accept(job, None, reply);
        answer.await.expect("an answer").expect("accepted").job
    }
}

async fn open_account(store: &Store) {
    let writes = opened(
        store,
        with_balance(ACCOUNT, "100", Timestamp::from_millis(0)),
    );
    let (sender, durable) = oneshot::channel();
    store.commit(writes, |outcome| drop(sender.send(outcome)));
    durable.await.expect("an outcome").expect("an account");
}

/// Polls until the condition holds.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let asks = async {
        while !holds().await {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let held = timeout(PATIENCE, asks).await;
    held.unwrap_or_else(|_| panic!("timed out waiting until {what}"));
}

async fn all_end(store: &Store, jobs: &[JobId]) {
    until("all jobs have ended", async || {
        let mut done = 0;
        for job in jobs {
            let job = store.job(ACCOUNT, *job).await.expect("readable");
            done += usize::from(job.is_some_and(|it| it.state.is_terminal()));
        }
        done == jobs.len()
    })
    .await;
}

#[test]
fn queued_jobs_whose_callers_waited_at_a_dead_node_are_canceled() {
    let Some(server) = server() else { return };
    let database = server.database();
    actix_web::rt::System::new().block_on(async {
        let runs = Arc::new(Runs::default());
        let nodes = [1, 2].map(|number| Node::join(&database, number, &runs));
        let [dead, other] = &nodes;
        open_account(&dead.store).await;
        // So that jobs are still queued when the node stops.
        runs.are_held.store(true, Ordering::Relaxed);
        let (mut of_dead, mut of_other) = (Vec::new(), Vec::new());
        for _ in 0..4 * JOBS {
            of_dead.push(dead.accept(Origin::Synchronous).await);
        }
        for _ in 0..JOBS {
            of_other.push(other.accept(Origin::Synchronous).await);
        }
        dead.system.stop();
        let store = &other.store;
        until("the dead node is off the record", async || {
            NODES
                .get(store, &dead.id)
                .await
                .expect("readable")
                .is_none()
        })
        .await;
        runs.are_held.store(false, Ordering::Relaxed);
        all_end(store, &of_dead).await;
        all_end(store, &of_other).await;
        let mut canceled = 0;
        for id in &of_dead {
            let job = store.job(ACCOUNT, *id).await.expect("readable");
            match job.expect("the job").state {
                JobState::Done { .. } => {}
                JobState::Failed { kind, .. } => {
                    assert_eq!(kind, FailureKind::Canceled);
                    canceled += 1;
                }
                state => panic!("{state:?}"),
            }
        }
        assert!(canceled > 0, "none waited");
        for id in &of_other {
            let job = store.job(ACCOUNT, *id).await.expect("readable");
            let state = job.expect("the job").state;
            assert!(matches!(state, JobState::Done { .. }), "{id}: {state:?}");
        }
        let left = WAITING_CALLERS.each(store, &All, |job, _| panic!("{job} is waited for"));
        left.await.expect("readable");
        let report = verify(store, |_| {}).expect("an audit");
        assert_eq!(report.faults, Vec::<String>::new());
    });
}

#[test]
fn the_jobs_of_a_frozen_node_continue_at_other_nodes_and_are_charged_once() {
    let Some(server) = server() else { return };
    let database = server.database();
    actix_web::rt::System::new().block_on(async {
        let runs = Arc::new(Runs::default());
        let nodes = [1, 2, 3].map(|number| Node::join(&database, number, &runs));
        let [still, second, third] = &nodes;
        open_account(&still.store).await;
        let mut jobs = Vec::new();
        for _ in 0..JOBS {
            for node in &nodes {
                jobs.push(node.accept(Origin::Native).await);
            }
        }
        until("the first node has runs under way", async || {
            runs.by_job
                .lock()
                .values()
                .flatten()
                .any(|it| *it == still.id)
        })
        .await;
        // The node's heartbeats and takes stop; its runs continue, and their commits are refused.
        still.system.stop();
        let store = &second.store;
        all_end(store, &jobs).await;
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
        let makers: HashSet<NodeId> = runs.by_job.lock().values().flatten().copied().collect();
        assert_eq!(makers.len(), 3, "each node has made some");
        assert!(!second.fail_stop.has_tripped() && !third.fail_stop.has_tripped());
        let report = verify(store, |_| {}).expect("an audit");
        assert_eq!(report.faults, Vec::<String>::new());
    });
}
