//! A scenario: several lives of the process, determined by a seed.

use crate::disk::Image;
use crate::keys;
use crate::life::{Death, Ending, Plan, live};
use crate::model::{Counts, Model, Rules, amount};
use crate::rng::Rng;
use crate::world::{BEGIN, World};
use std::fmt;
use std::sync::Arc;
use tintype_actors::delivery::DeliveryLimits;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::KeyHash;
use tintype_storage::domain::ids::{AccountId, KeyId, TransactionId};
use tintype_storage::domain::ledger::{Balances, LedgerEntry};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Engine, commit_and_wait};
use tintype_storage::store::Store;
use tintype_storage::testing::memory::MemoryEngine;
use uuid::Uuid;

/// The result of a seed.
pub struct Scenario {
    pub lines: Vec<String>,
    pub faults: Vec<String>,
    pub counts: EventCounts,
}

/// How often each kind of event happened.
#[derive(Default)]
pub struct EventCounts(Counts);

/// Events that must happen within a few hundred seeds. Without them the simulation proves little.
const EXPECTED: [&str; 48] = [
    "batches accepted",
    "batches replayed",
    "batches canceled",
    "batches ended",
    "input images fetched",
    "accepted",
    "replayed",
    "refused: key reused",
    "refused: balance",
    "accounts given limits",
    "refused: account limit",
    "refused: too many live of a limited account",
    "refused: too many live of a key",
    "refused: key limit",
    "refused: key limit of a day",
    "refused: key limit of a month",
    "calls turned away",
    "keys rotated",
    "keys given limits",
    "keys switched off",
    "refused: too many live",
    "calls without an answer",
    "jobs done",
    "jobs failed",
    "jobs canceled",
    "jobs expired",
    "jobs interrupted",
    "crashes",
    "storage failures",
    "crashes within a stop",
    "orderly stops",
    "clock steps",
    "deposits answered",
    "names forgotten",
    "deliveries forgotten",
    "jobs forgotten",
    "batches forgotten",
    "delivered",
    "given up",
    "webhooks gone",
    "webhooks moved",
    "redeliveries",
    "tests of webhooks",
    "attempts under several secrets",
    "lines of the log",
    "the service paused",
    "backends paused",
    "jobs failed after a wait for the end of a pause",
];

impl EventCounts {
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    pub fn is_varied(&self) -> bool {
        EXPECTED.iter().all(|what| self.0.contains_key(what))
    }
}

impl fmt::Display for EventCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        f.write_str(&parts.join(", "))?;
        let missing: Vec<&str> = EXPECTED
            .iter()
            .filter(|it| !self.0.contains_key(*it))
            .copied()
            .collect();
        if !missing.is_empty() {
            write!(f, "; none of: {}", missing.join(", "))?;
        }
        Ok(())
    }
}

pub fn simulate(seed: u64) -> Scenario {
    let rng = Rng::new(seed);
    let rules = Rules {
        max_runs: 1 + rng.below(4) as u32,
        max_live: rng.pick(&[4, 8, 100]).unwrap_or(8),
        retention: rng.pick(&[60_000, 3_600_000, 86_400_000]).unwrap_or(60_000),
        delays: [60, 120, 300, 600, 900, 1_200]
            .map(|it| it * 1_000)
            .to_vec(),
    };
    let world = World::new(rng.clone(), Model::new(rules));
    let (plan, mut image) = begin(&world);
    let lives = 2 + rng.below(4);
    for life in 0..=lives {
        let ending = if life == lives {
            Ending::Calm
        } else {
            ending(&rng)
        };
        let (disk, next) = live(&world, &plan, image, ending);
        if matches!(ending, Ending::Crash { .. }) {
            world.model.lock().count("crashes");
        }
        drop(disk);
        image = next;
        if !world.model.lock().faults.is_empty() {
            break;
        }
    }
    let mut model = world.model.lock();
    Scenario {
        lines: world.lines(),
        faults: std::mem::take(&mut model.faults),
        counts: EventCounts(std::mem::take(&mut model.counts)),
    }
}

fn ending(rng: &Rng) -> Ending {
    let steps = 6 + rng.below(30);
    match rng.below(10) {
        0..5 => Ending::Crash {
            steps,
            at_commit: Some(1 + rng.below(1 + steps * 3)),
        },
        5..7 => Ending::Crash {
            steps,
            at_commit: None,
        },
        7 => Ending::Failure {
            steps,
            at_commit: 1 + rng.below(1 + steps),
        },
        _ => Ending::Stop {
            steps,
            grace: rng.millis(0, 60_000),
            death: match rng.below(4) {
                0 => Some(Death::After(rng.millis(0, 20_000))),
                1 => Some(Death::AtCommit(1 + rng.below(6))),
                _ => None,
            },
        },
    }
}

/// Opens some accounts with money and keys, and chooses the settings.
fn begin(world: &World) -> (Plan, Image) {
    let rng = &world.rng;
    let engine = Arc::new(MemoryEngine::new());
    let store = Store::new(Arc::clone(&engine) as Arc<dyn Engine>);
    let mut keys = Vec::new();
    for number in 0..1 + u128::from(rng.below(3)) {
        let id = AccountId(Uuid::from_u128(0xa00 + number));
        let balance = rng.between(200_000, 6_000_000);
        let line = LedgerEntry::opening(
            TransactionId(Uuid::from_u128(1 + number)),
            amount(balance),
            Timestamp::from_millis(BEGIN),
        );
        let balances = Balances {
            balance: amount(balance),
            deposited: amount(balance),
            ..Balances::default()
        };
        let account = Account {
            balances,
            ..Account::new(
                id,
                format!("account {number}"),
                Timestamp::from_millis(BEGIN),
            )
        };
        let mut writes = store.open_account(&account, Some(&line));
        let mut model = world.model.lock();
        model.opened(id, balance, line.id);
        for key in 0..2 {
            let key = KeyId(Uuid::from_u128(0xb00 + number * 16 + key));
            let (key_state, record) = keys::first(rng, id, key);
            writes.extend(store.put_key(&KeyHash(key_state.text), &record));
            model.key(key, key_state);
            keys.push((id, key));
        }
        drop(model);
        commit_and_wait(&*engine, writes).expect("an account");
    }
    let weights = rng.pick(&[
        [None; 3],
        [Some(2), Some(1), None],
        [Some(1), Some(1), Some(3)],
    ]);
    let plan = Plan {
        keys,
        slots: [0, 1, 2].map(|_| 1 + rng.below(3) as usize).to_vec(),
        retries: rng.below(3) as u32,
        delivery_limits: DeliveryLimits {
            total: 2 + rng.below(6) as usize,
            per_receiver: 1 + rng.below(3) as usize,
        },
        weights: weights.unwrap_or_default(),
    };
    (plan, engine.image())
}
