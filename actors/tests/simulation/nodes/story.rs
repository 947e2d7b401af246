//! A story: what chance from a seed makes of some nodes and their clients.

use super::account::{amount, fox, only_backend, opened};
use super::engine::{NodeEngine, Still};
use super::generators::NodeGenerator;
use super::ports::Rest;
use super::post::{NodePost, callback, registered, retry_delays};
use super::shared::{PLACES, Shared};
use crate::chance::Chance;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tintype_actors::account::AccountCommand;
use tintype_actors::backends::Backend;
use tintype_actors::clock::Clock;
use tintype_actors::delivery::DeliveryLimits;
use tintype_actors::fail_stop::FailStop;
use tintype_actors::node::NodeContext;
use tintype_actors::system::{
    DeliveryOptions, JobOptions, ProcessOptions, System, SystemOptions, Threads,
};
use tintype_storage::domain::ids::{AccountId, JobId, NodeId};
use tintype_storage::domain::job::Origin;
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::{SealedSecret, Webhook};
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::{Deposit, IdempotencyUse, Limits, NewJob, Store};
use tintype_storage::testing::memory::MemoryEngine;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

/// What a job costs, in the account's currency.
const PRICE: &str = "0.04";
const BALANCE: &str = "100";
pub const ACCOUNTS: [AccountId; 3] = [
    AccountId(Uuid::from_u128(1)),
    AccountId(Uuid::from_u128(2)),
    AccountId(Uuid::from_u128(3)),
];
const DEAD_AFTER: Duration = Duration::from_secs(3);
/// When every story begins.
const BEGIN: i64 = 1_796_040_000_000;
/// Far longer than all that was accepted takes once nothing goes wrong any more.
pub const TO_THE_END: Duration = Duration::from_secs(600);

/// What came of a seed.
pub struct Story {
    pub lines: Vec<String>,
    pub faults: Vec<String>,
    pub counts: BTreeMap<&'static str, u64>,
}

pub struct Node {
    pub id: NodeId,
    pub engine: Arc<NodeEngine>,
    pub system: Arc<System>,
    /// Taken by each change under a lock.
    pub changes: Arc<tokio::sync::Mutex<()>>,
    pub fail_stop: FailStop,
    /// It has died, left, or stood still for so long that it may be taken for dead.
    is_doubtful: bool,
    /// It has the store for itself.
    is_alone: bool,
}

/// What clients have heard.
#[derive(Default)]
pub struct Heard {
    /// Jobs that were accepted, and the names that they were accepted under.
    pub jobs: Vec<(AccountId, JobId)>,
    names: BTreeMap<(AccountId, u64), JobId>,
    pub deposited: BTreeMap<AccountId, u64>,
    /// Changes under a lock.
    pub changes_begun: u64,
    pub changes_made: u64,
}

pub struct World {
    pub shared: Arc<Shared>,
    pub chance: Chance,
    pub heard: Arc<Mutex<Heard>>,
    pub nodes: Vec<Node>,
    joined: u64,
}

/// Tells the story of a seed.
pub fn tell(seed: u64) -> Story {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("it")
    };
    actix::System::with_tokio_rt(runtime).block_on(async {
        let mut world = World::new(seed);
        world.begin().await;
        world.act().await;
        world.come_to_an_end().await;
        let (lines, faults, counts) = world.shared.report();
        Story {
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
            shared: Arc::new(Shared::new(memory, seed % 2 == 1)),
            chance: Chance::new(seed),
            heard: Arc::default(),
            nodes: Vec::new(),
            joined: 0,
        }
    }

    /// A node joins.
    pub fn join(&mut self) {
        let id = self.next_id();
        let node = NodeContext::new(id, DEAD_AFTER);
        self.start(id, Some(Arc::new(node)));
        self.shared.count("nodes joined");
        self.shared.tell(format!("{id} joins"));
    }

    pub fn next_id(&mut self) -> NodeId {
        self.joined += 1;
        NodeId(Uuid::from_u128(0x1000 + u128::from(self.joined)))
    }

    /// Starts a process. Its clock is set by that of the store, so it is a little off.
    pub fn start(&mut self, id: NodeId, node: Option<Arc<NodeContext>>) {
        let is_alone = node.is_none();
        let engine = NodeEngine::new(id, &self.shared, &self.chance);
        actix::spawn(Arc::clone(&engine).run());
        let (began, off) = (Instant::now(), self.chance.between(-30, 30));
        let passed = self.uptime();
        let fail_stop = FailStop::new();
        let generator = NodeGenerator {
            node: id,
            shared: Arc::clone(&self.shared),
            chance: self.chance.clone(),
        };
        let clock: Clock = Arc::new(move || {
            let own = (passed + began.elapsed()).as_millis() as i64;
            Timestamp::from_millis(BEGIN + own + off)
        });
        let post = NodePost {
            node: id,
            clock: Arc::clone(&clock),
            shared: Arc::clone(&self.shared),
            chance: self.chance.clone(),
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
                    slots: PLACES,
                    is_shared: self.shared.has_shared_places,
                    timeout: Duration::from_secs(30),
                    retries: 0,
                }],
                routes: only_backend(),
                image_store: Arc::new(Rest),
                input_fetcher: Arc::new(Rest),
            },
            deliveries: DeliveryOptions {
                transport: Arc::new(post),
                operator_webhook: Some(Arc::new(operator)),
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
            is_alone,
        });
    }

    fn uptime(&self) -> Duration {
        // The paused clock begins with the story.
        thread_local!(static BEGAN: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) });
        if self.joined == 1 {
            BEGAN.set(Some(Instant::now()));
        }
        BEGAN.get().map_or(Duration::ZERO, |it| it.elapsed())
    }

    pub fn healthy(&self) -> Vec<usize> {
        (0..self.nodes.len())
            .filter(|at| !self.nodes[*at].is_doubtful && !self.nodes[*at].engine.is_cut())
            .collect()
    }

    async fn act(&mut self) {
        for step in 0..60 {
            sleep(self.chance.millis(0, 500)).await;
            let Some(at) = self.chance.pick(&self.healthy()) else {
                self.join();
                continue;
            };
            for _ in 0..self.chance.below(4) {
                self.change(at);
            }
            match self.chance.below(27) {
                0 if step > 3 => self.die(at),
                1 if step > 3 => self.stand_still(at),
                2 if self.healthy().len() > 1 => self.leave(at).await,
                3 if self.healthy().len() < 4 => self.join(),
                4..=6 => self.cancel(at),
                7 => self.deposit(at),
                8..=10 => self.send_again(at),
                11..=12 => self.redeliver(at),
                13 => self.audit(),
                _ => {
                    for _ in 0..=self.chance.below(4) {
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
        self.shared.tell(format!("{} dies", node.id));
        self.shared.died(node.id);
        node.engine.cut();
        node.system.stop();
    }

    pub fn stand_still(&mut self, at: usize) {
        let span = self.chance.millis(300, 9_000);
        let kinds = [Still::Breaks, Still::LosesBeats, Still::IsLate];
        let still = self.chance.pick(&kinds).expect("one of them");
        let node = &mut self.nodes[at];
        // The store keeps what a late node holds, its own record too, so that no other node can take it for dead.
        node.is_doubtful = span > Duration::from_millis(1_500) && still != Still::IsLate;
        self.shared.count("nodes stood still");
        self.shared
            .tell(format!("{} stands still for {span:?}: {still:?}", node.id));
        node.engine.stand_still(span, still);
    }

    async fn leave(&mut self, at: usize) {
        self.nodes[at].is_doubtful = true;
        let (id, system) = (self.nodes[at].id, Arc::clone(&self.nodes[at].system));
        self.shared.tell(format!("{id} leaves"));
        let grace = self.chance.millis(0, 4_000);
        let (shared, engine) = (Arc::clone(&self.shared), Arc::clone(&self.nodes[at].engine));
        actix::spawn(async move {
            system.drain(grace).await;
            system.leave().await;
            shared.count("nodes left");
            shared.tell(format!("{id} has left"));
            shared.died(id);
            engine.cut();
        });
    }

    pub fn send(&self, at: usize, name: Option<u64>) {
        let account = self.chance.pick(&ACCOUNTS).expect("an account");
        let name = name.or_else(|| self.chance.one_in(3).then(|| self.chance.below(1 << 40)));
        self.send_for(at, account, name);
    }

    /// Sends a call again, at any node, whose answer was heard.
    fn send_again(&self, at: usize) {
        let names: Vec<(AccountId, u64)> = self.heard.lock().names.keys().copied().collect();
        match self.chance.pick(&names) {
            Some((account, name)) => self.send_for(at, account, Some(name)),
            None => self.send(at, None),
        }
    }

    fn send_for(&self, at: usize, account: AccountId, name: Option<u64>) {
        let tier = self.chance.pick(&[Tier::Fast, Tier::Pro]).expect("a model");
        let job = NewJob {
            cancel_after: self.chance.one_in(6).then(|| self.chance.millis(1, 4_000)),
            idempotency: name.map(|name| IdempotencyUse {
                name: name.to_string(),
                fingerprint: Fingerprint([7; 32]),
            }),
            callback: callback(account, &self.chance),
            // A failed job of a caller who waits for it keeps no name.
            origin: match self.nodes[at].is_alone && name.is_none() && self.chance.one_in(3) {
                true => Origin::Synchronous,
                false => Origin::Native,
            },
            ..fox(account, tier, PRICE)
        };
        let (reply, answer) = oneshot::channel();
        let accounts = self.nodes[at].system.accounts();
        let handle = accounts
            .get(account)
            .expect("readable")
            .expect("an account");
        let Ok(guard) = handle.accept(job, None, reply) else {
            return;
        };
        let (shared, heard) = (Arc::clone(&self.shared), Arc::clone(&self.heard));
        actix::spawn(async move {
            let _guard = guard;
            let Ok(Ok(answer)) = timeout(TO_THE_END, answer).await else {
                return shared.count("calls without an answer");
            };
            let accepted = match answer {
                Ok(accepted) => accepted,
                Err(error) => return shared.tell(format!("refused: {error}")),
            };
            shared.count(if accepted.replayed {
                "replayed at another node"
            } else {
                "accepted"
            });
            let mut heard = heard.lock();
            if !accepted.replayed {
                shared.tell(format!("{} is accepted", accepted.job));
                heard.jobs.push((account, accepted.job));
            }
            if let Some(name) = name {
                let first = *heard.names.entry((account, name)).or_insert(accepted.job);
                if first != accepted.job {
                    shared.fault(format!(
                        "{} and {first} were made of one name",
                        accepted.job
                    ));
                }
            }
        });
    }

    pub fn cancel(&self, at: usize) {
        let jobs = self.heard.lock().jobs.clone();
        let Some((account, job)) = self.chance.pick(&jobs) else {
            return;
        };
        let accounts = self.nodes[at].system.accounts();
        let handle = accounts
            .get(account)
            .expect("readable")
            .expect("an account");
        let answer = handle.cancel(job);
        let shared = Arc::clone(&self.shared);
        actix::spawn(async move {
            if let Ok(Ok(_)) = answer.await {
                shared.count("canceled");
            }
        });
    }

    fn deposit(&self, at: usize) {
        let account = self.chance.pick(&ACCOUNTS).expect("an account");
        let (reply, answer) = oneshot::channel();
        let command = AccountCommand::Deposit {
            deposit: Deposit {
                amount: amount("1"),
                reference: None,
                idempotency: None,
            },
            note: None,
            reply: reply.into(),
        };
        let accounts = self.nodes[at].system.accounts();
        let handle = accounts
            .get(account)
            .expect("readable")
            .expect("an account");
        let _ = handle.send(command);
        let (shared, heard) = (Arc::clone(&self.shared), Arc::clone(&self.heard));
        actix::spawn(async move {
            if let Ok(Ok(_)) = answer.await {
                shared.count("deposits");
                *heard.lock().deposited.entry(account).or_default() += 1;
            }
        });
    }
}

fn open_accounts(memory: &Arc<MemoryEngine>) {
    let store = Store::new(Arc::clone(memory) as Arc<dyn Engine>);
    let at = Timestamp::from_millis(BEGIN - 1);
    for id in ACCOUNTS {
        let mut writes = opened(&store, id, BALANCE, at);
        writes.extend(registered(&store, id, at));
        commit_and_wait(&**memory, writes).expect("an account");
    }
}
