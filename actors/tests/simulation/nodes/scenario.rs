//! A scenario: some nodes and their clients, determined by a seed.

use super::account::{amount, fox, only_backend, opened};
use super::deliveries::{NodeTransport, callback, registered, retry_delays};
use super::engine::{NodeEngine, Stall};
use super::generators::NodeGenerator;
use super::limits::{limited_account, refusal};
use super::ports::NoopPorts;
use super::shared::{SLOTS, SharedState};
use crate::rng::Rng;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::{AccountCommand, AccountHandle};
use tintype_actors::backends::Backend;
use tintype_actors::clock::Clock;
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::node::NodeContext;
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, System, SystemOptions, Threads,
};
use tintype_storage::domain::ids::{AccountId, BatchId, JobId, NodeId};
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook};
use tintype_storage::engine::{Engine, Wait as _, commit_and_wait};
use tintype_storage::store::{Deposit, IdempotencyUse, Limits, NewJob, Store};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

/// The price of a job.
pub const PRICE: &str = "0.04";
pub const ACCOUNTS: [AccountId; 3] = [
    AccountId(Uuid::from_u128(1)),
    AccountId(Uuid::from_u128(2)),
    AccountId(Uuid::from_u128(3)),
];
const DEAD_AFTER: Duration = Duration::from_secs(3);
/// When every scenario begins, in milliseconds.
const BEGIN: i64 = 1_796_040_000_000;
/// Far longer than all accepted jobs take in the calm phase.
pub const TO_THE_END: Duration = Duration::from_secs(600);

/// The result of a seed.
pub struct Scenario {
    pub lines: Vec<String>,
    pub faults: Vec<String>,
    pub counts: BTreeMap<&'static str, u64>,
}

pub struct Node {
    pub id: NodeId,
    pub engine: Arc<NodeEngine>,
    pub system: Arc<System>,
    /// Serializes the changes under a lock.
    pub changes: Arc<tokio::sync::Mutex<()>>,
    pub fail_stop: FailStop,
    /// The node has died, left, or stalled for so long that it may be declared dead.
    is_doubtful: bool,
}

/// The answers that clients have received.
#[derive(Default)]
pub struct AcknowledgedCalls {
    pub jobs: Vec<(AccountId, JobId)>,
    pub batches: Vec<(AccountId, BatchId)>,
    /// The jobs that a client has asked to cancel.
    pub cancellations: BTreeSet<JobId>,
    /// The jobs by their idempotency keys.
    names: BTreeMap<(AccountId, u64), JobId>,
    pub deposited: BTreeMap<AccountId, u64>,
    /// Changes under a lock.
    pub changes_begun: u64,
    pub changes_made: u64,
}

pub struct World {
    pub shared: Arc<SharedState>,
    pub rng: Rng,
    pub acknowledged: Arc<Mutex<AcknowledgedCalls>>,
    pub nodes: Vec<Node>,
    joined: u64,
}

pub fn simulate(seed: u64) -> Scenario {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("it")
    };
    actix::System::with_tokio_rt(runtime).block_on(async {
        let mut world = World::new(seed);
        world.begin().await;
        world.act().await;
        world.finish().await;
        let (lines, faults, counts) = world.shared.report();
        Scenario {
            lines,
            faults,
            counts,
        }
    })
}

impl World {
    fn new(seed: u64) -> Self {
        let memory = Arc::new(MemoryEngine::new());
        open_accounts(&memory);
        Self {
            shared: Arc::new(SharedState::new(memory, seed % 2 == 1)),
            rng: Rng::new(seed),
            acknowledged: Arc::default(),
            nodes: Vec::new(),
            joined: 0,
        }
    }

    pub fn join(&mut self) {
        let id = self.next_id();
        let node = NodeContext::new(id, DEAD_AFTER);
        self.start(id, Some(Arc::new(node)));
        self.shared.count("nodes joined");
        self.shared.trace(format!("{id} joins"));
    }

    pub fn next_id(&mut self) -> NodeId {
        self.joined += 1;
        NodeId(Uuid::from_u128(0x1000 + u128::from(self.joined)))
    }

    /// Starts a process. Its clock is synchronized with that of the store, and deviates a little.
    pub fn start(&mut self, id: NodeId, node: Option<Arc<NodeContext>>) {
        let engine = NodeEngine::new(id, &self.shared, &self.rng);
        actix::spawn(Arc::clone(&engine).run());
        let (began, off) = (Instant::now(), self.rng.between(-30, 30));
        let passed = self.uptime();
        let fail_stop = FailStop::new();
        let generator = NodeGenerator {
            node: id,
            shared: Arc::clone(&self.shared),
            rng: self.rng.clone(),
        };
        let clock: Clock = Arc::new(move || {
            let own = (passed + began.elapsed()).as_millis() as i64;
            Timestamp::from_millis(BEGIN + own + off)
        });
        let transport = NodeTransport {
            node: id,
            clock: Arc::clone(&clock),
            shared: Arc::clone(&self.shared),
            rng: self.rng.clone(),
        };
        let operator = Webhook::of_operator("https://it/".into(), SealedSecret(Vec::new()));
        let system = System::start(SystemOptions {
            store: Store::new(Arc::clone(&engine) as Arc<dyn Engine>),
            jobs: JobOptions {
                limits: Limits {
                    max_live_per_account: 1_000,
                    idempotency_retention: Duration::from_secs(86_400),
                },
                max_runs: 50,
                run_timeout: Duration::from_secs(60),
                backends: vec![Backend {
                    name: "it".into(),
                    generator: Arc::new(generator),
                    slots: SLOTS,
                    is_shared: self.shared.has_shared_slots,
                    timeout: Duration::from_secs(30),
                    retries: 0,
                }],
                routes: only_backend(),
                job_objects: Arc::new(NoopPorts),
                input_fetcher: Arc::new(NoopPorts),
            },
            deliveries: DeliveryOptions {
                transport: Arc::new(transport),
                retry_delays: retry_delays(),
                limits: DeliveryLimits {
                    total: 8,
                    per_receiver: 2,
                },
            },
            process: ProcessOptions {
                clock,
                jitter: Arc::new(|| 0.5),
                observer: None,
                fail_stop: fail_stop.clone(),
                operator: Some(Arc::new(operator)),
                threads: Threads::Callers,
                node,
            },
        })
        .expect("a node");
        self.nodes.push(Node {
            id,
            engine,
            system: Arc::new(system),
            changes: Arc::default(),
            fail_stop,
            is_doubtful: false,
        });
    }

    fn uptime(&self) -> Duration {
        // The paused clock begins with the scenario.
        thread_local!(static BEGAN: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) });
        if self.joined == 1 {
            BEGAN.set(Some(Instant::now()));
        }
        BEGAN.get().map_or(Duration::ZERO, |it| it.elapsed())
    }

    pub fn account_at(&self, at: usize, account: AccountId) -> AccountHandle {
        let accounts = self.nodes[at].system.accounts();
        let handle = accounts.get_or_start(account).wait().expect("readable");
        handle.expect("an account")
    }

    pub fn healthy(&self) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|at| !self.nodes[*at].is_doubtful && !self.nodes[*at].engine.is_cut())
            .collect()
    }

    async fn act(&mut self) {
        for step in 0..60 {
            sleep(self.rng.millis(0, 500)).await;
            let Some(at) = self.rng.pick(&self.healthy()) else {
                self.join();
                continue;
            };
            for _ in 0..self.rng.below(4) {
                self.change(at);
            }
            match self.rng.below(31) {
                0 if step > 3 => self.die(at),
                1 if step > 3 => self.stall(at),
                2 if self.healthy().len() > 1 => {
                    self.leave(at);
                    if step > 3 && self.rng.one_in(2) {
                        self.lose_database().await;
                    }
                }
                3 if self.healthy().len() < 4 => self.join(),
                4..=6 => self.cancel(at),
                7 => self.deposit(at),
                8..=10 => self.send_again(at),
                11..=12 => self.redeliver(at),
                13 => self.shared.verify(),
                14 if step > 3 => self.lose_database().await,
                15..=16 => self.send_batch(at),
                17 => self.cancel_batch(at),
                _ => {
                    for _ in 0..=self.rng.below(4) {
                        self.send(at, None);
                    }
                }
            }
        }
    }

    pub fn die(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        node.is_doubtful = true;
        self.shared.count("nodes died");
        self.shared.trace(format!("{} dies", node.id));
        self.shared.died(node.id);
        node.engine.cut();
        node.system.stop();
    }

    pub fn stall(&mut self, at: usize) {
        let span = self.rng.millis(300, 9_000);
        let kinds = [Stall::Breaks, Stall::LosesBeats, Stall::IsLate];
        let stall = self.rng.pick(&kinds).expect("one of them");
        let node = &mut self.nodes[at];
        // The store keeps the locks of a late node, including the lock on its own record, so no other node can declare it dead.
        node.is_doubtful = span > Duration::from_millis(1_500) && stall != Stall::IsLate;
        self.shared.count("nodes stood still");
        self.shared
            .trace(format!("{} status stall for {span:?}: {stall:?}", node.id));
        node.engine.stall(span, stall);
    }

    /// An outage of the database, which none of the nodes may take for the death of another one. The nodes reconnect one after another.
    async fn lose_database(&mut self) {
        let lasts = self.rng.millis(100, 8_000);
        self.shared.count("outages of the database");
        self.shared
            .trace(format!("the database is away for {lasts:?}"));
        while self.nodes.iter().any(|it| it.engine.flush()) {}
        let longest = match lasts > DEAD_AFTER / 2 {
            true => Duration::from_secs(2),
            false => lasts.min(Duration::from_secs(1)),
        };
        for node in &self.nodes {
            let pause = self.rng.millis(0, longest.as_millis() as i64);
            let until = Instant::now() + lasts + pause;
            Arc::clone(&node.engine).disconnect(until);
        }
        sleep(lasts).await;
    }

    fn leave(&mut self, at: usize) {
        self.nodes[at].is_doubtful = true;
        let (id, system) = (self.nodes[at].id, Arc::clone(&self.nodes[at].system));
        self.shared.trace(format!("{id} leaves"));
        let (grace, end) = (self.rng.millis(0, 4_000), self.rng.millis(0, 5_000));
        let (shared, engine) = (Arc::clone(&self.shared), Arc::clone(&self.nodes[at].engine));
        actix::spawn(async move {
            system.drain(grace).await;
            system.return_jobs().await;
            system.leave().await;
            shared.count("nodes left");
            shared.trace(format!("{id} has left"));
            shared.died(id);
            // The process ends a moment later.
            sleep(end).await;
            engine.cut();
        });
    }

    pub fn send(&self, at: usize, name: Option<u64>) {
        let account = self.rng.pick(&ACCOUNTS).expect("an account");
        let name = name.or_else(|| self.rng.one_in(3).then(|| self.rng.below(1 << 40)));
        self.send_for(at, account, name);
    }

    /// Repeats an acknowledged call, at any node.
    fn send_again(&self, at: usize) {
        let names: Vec<(AccountId, u64)> = self.acknowledged.lock().names.keys().copied().collect();
        match self.rng.pick(&names) {
            Some((account, name)) => self.send_for(at, account, Some(name)),
            None => self.send(at, None),
        }
    }

    fn send_for(&self, at: usize, account: AccountId, name: Option<u64>) {
        let tier = self.rng.pick(&[Tier::Fast, Tier::Pro]).expect("a model");
        let job = NewJob {
            cancel_after: self.rng.one_in(6).then(|| self.rng.millis(1, 4_000)),
            idempotency: name.map(|name| IdempotencyUse {
                name: name.to_string(),
                fingerprint: Fingerprint([7; 32]),
            }),
            callback: callback(account, &self.rng),
            // A failed job of a waiting caller does not keep its idempotency key.
            origin: match name.is_none() && self.rng.one_in(3) {
                true => Origin::Synchronous,
                false => Origin::Native,
            },
            ..fox(account, tier, PRICE)
        };
        let (reply, answer) = oneshot::channel();
        let Ok(guard) = self.account_at(at, account).accept(job, None, reply) else {
            return;
        };
        let (shared, acknowledged) = (Arc::clone(&self.shared), Arc::clone(&self.acknowledged));
        actix::spawn(async move {
            let _guard = guard;
            let Ok(Ok(answer)) = timeout(TO_THE_END, answer).await else {
                return shared.count("calls without an answer");
            };
            let accepted = match answer {
                Ok(accepted) => accepted,
                Err(error) => {
                    refusal(&error).into_iter().for_each(|it| shared.count(it));
                    return shared.trace(format!("refused: {error}"));
                }
            };
            shared.count(if accepted.replayed {
                "replayed at another node"
            } else {
                "accepted"
            });
            let mut acknowledged = acknowledged.lock();
            if !accepted.replayed {
                shared.trace(format!("{} is accepted", accepted.job));
                acknowledged.jobs.push((account, accepted.job));
            }
            if let Some(name) = name {
                let first = *acknowledged
                    .names
                    .entry((account, name))
                    .or_insert(accepted.job);
                if first != accepted.job {
                    shared.fault(format!(
                        "{} and {first} were accepted under one idempotency key",
                        accepted.job
                    ));
                }
            }
        });
    }

    pub fn cancel(&self, at: usize) {
        let jobs = self.acknowledged.lock().jobs.clone();
        let Some((account, job)) = self.rng.pick(&jobs) else {
            return;
        };
        self.acknowledged.lock().cancellations.insert(job);
        let handle = self.account_at(at, account);
        let shared = Arc::clone(&self.shared);
        actix::spawn(async move {
            if let Ok(Ok(_)) = handle.cancel(job, None).await {
                shared.count("canceled");
            }
        });
    }

    fn deposit(&self, at: usize) {
        let account = self.rng.pick(&ACCOUNTS).expect("an account");
        let (reply, answer) = oneshot::channel();
        let command = AccountCommand::Deposit {
            deposit: Deposit {
                amount: amount("1"),
                reference: None,
                idempotency: None,
            },
            to_entry: None,
            reply: reply.into(),
        };
        let _ = self.account_at(at, account).send(command);
        let (shared, acknowledged) = (Arc::clone(&self.shared), Arc::clone(&self.acknowledged));
        actix::spawn(async move {
            if let Ok(Ok(_)) = answer.await {
                shared.count("deposits");
                *acknowledged.lock().deposited.entry(account).or_default() += 1;
            }
        });
    }
}

fn open_accounts(memory: &Arc<MemoryEngine>) {
    let store = Store::new(Arc::clone(memory) as Arc<dyn Engine>);
    let at = Timestamp::from_millis(BEGIN - 1);
    for id in ACCOUNTS {
        let mut writes = opened(&store, limited_account(id, at));
        writes.extend(registered(&store, id, at));
        commit_and_wait(&**memory, writes).expect("an account");
    }
}
