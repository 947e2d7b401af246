//! Random decisions in random rounds against a model in plain integers, with a crash at any point.

use crate::support::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use tintype_storage::domain::ids::{JobId, KeyId};
use tintype_storage::domain::job::{JobEvent, JobState, TransitionError};
use tintype_storage::domain::ledger::LedgerError;
use tintype_storage::domain::spending::SpendLimits;
use tintype_storage::domain::time::DAY_MILLIS;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{
    AcceptError, AcceptedJob, Deposit, DepositError, EventError, NewJob, Store,
};
use tintype_storage::testing::memory::MemoryEngine;

/// The expected state. Amounts are in millionths.
#[derive(Clone, Default)]
struct Model {
    balance: i64,
    jobs: BTreeMap<JobId, ModelJob>,
    spent: BTreeMap<KeyId, i64>,
    /// By call and name: meaning, job or amount, end.
    used: BTreeMap<(bool, String), (u8, Option<JobId>, i64)>,
}

#[derive(Clone)]
struct ModelJob {
    key: KeyId,
    price: i64,
    /// `None` while queued.
    runs: Option<u32>,
    ended: bool,
}

impl Model {
    fn held(&self, of: impl Fn(&ModelJob) -> bool) -> i64 {
        let live = self.jobs.values().filter(|job| !job.ended && of(job));
        live.map(|job| job.price).sum()
    }

    fn live(&self) -> usize {
        self.jobs.values().filter(|job| !job.ended).count()
    }

    /// The use that has not expired.
    fn use_of(&self, call: bool, name: &str, now: i64) -> Option<(u8, Option<JobId>)> {
        let (meaning, job, end) = self.used.get(&(call, name.to_owned()))?;
        (now < *end).then_some((*meaning, *job))
    }
}

const LIMIT: i64 = 400;
const MAX_LIVE: usize = 12;
const RETENTION: i64 = 10_000;
const KEYS: [u128; 3] = [1, 2, 3];
const NAMES: [&str; 4] = ["k1", "k2", "k3", "k4"];

struct Run {
    till: Till,
    engine: Arc<MemoryEngine>,
    model: Model,
    random: Random,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let engine = Arc::new(MemoryEngine::new());
        let opening = random.below(500) as i64;
        let till = Till::open(engine.clone(), ACCOUNT, units(opening));
        let model = Model {
            balance: opening,
            ..Model::default()
        };
        let mut run = Self {
            till,
            engine,
            model,
            random,
        };
        run.set_limits();
        run
    }

    fn set_limits(&mut self) {
        self.till.limits.max_live_per_account = MAX_LIVE;
        self.till.limits.idempotency_retention = std::time::Duration::from_millis(RETENTION as u64);
    }

    /// Loses everything in memory; the store keeps what was committed.
    fn crash(&mut self) {
        self.engine = Arc::new(MemoryEngine::from_image(self.engine.image()));
        let next_id = self.till.id().as_u128();
        let now = self.till.now;
        self.till = Till::reload(Store::new(self.engine.clone()), ACCOUNT);
        self.till.now = now;
        self.till.continue_after(next_id);
        self.set_limits();
    }

    fn one_batch(&mut self) {
        let (model, random) = (&mut self.model, &mut self.random);
        self.till.now += random.below(3_000) as i64;
        let now = self.till.now;
        let size = 1 + random.below(8);
        self.till.decisions(|decisions, ids| {
            for _ in 0..size {
                let name = (random.below(3) == 0).then(|| *random.pick(&NAMES));
                let meaning = random.below(2) as u8;
                let idempotency = name.and_then(|name| named(name, meaning));
                match random.below(10) {
                    0..4 => {
                        let price = random.below(120) as i64;
                        let new = NewJob {
                            key: key(*random.pick(&KEYS)),
                            idempotency,
                            ..new_job(units(price))
                        };
                        let limits = SpendLimits {
                            total: (random.below(2) == 0).then(|| units(LIMIT)),
                            ..SpendLimits::default()
                        };
                        ids.spend_limits.insert(new.key, limits);
                        let outcome = ids.accept(decisions, new.clone());
                        accepted(model, &new, limits, price, (name, meaning), now, outcome);
                    }
                    4..9 => {
                        let known: Vec<JobId> = model.jobs.keys().copied().collect();
                        let Some(job) = (!known.is_empty()).then(|| *random.pick(&known)) else {
                            continue;
                        };
                        let event = match random.below(6) {
                            0 | 1 => begin(),
                            2 => finish(),
                            3 => fail(),
                            4 => JobEvent::Cancel,
                            _ => JobEvent::CutOff,
                        };
                        let outcome = ids.apply(decisions, job, event.clone());
                        applied(model, job, &event, outcome.map(|job| job.state));
                    }
                    _ => {
                        let amount = random.below(300) as i64 - 100;
                        let outcome = ids.deposit(
                            decisions,
                            Deposit {
                                idempotency,
                                ..deposit(units(amount))
                            },
                        );
                        let outcome = outcome.map(drop);
                        deposited(model, amount, name, meaning, now, outcome);
                    }
                }
            }
        });
    }

    fn compare(&self) {
        let (books, model) = (self.till.books(), &self.model);
        assert_eq!(books.balance, units(model.balance));
        assert_eq!(books.reserved, units(model.held(|_| true)));
        assert_eq!(self.till.book.live_jobs(), model.live());
        for key_id in KEYS.map(key) {
            let spent = model.spent.get(&key_id).copied().unwrap_or_default();
            let stored = self
                .till
                .store
                .key_spending(key_id)
                .wait()
                .expect("spent")
                .total;
            assert_eq!(stored, units(spent));
        }
        for (id, job) in &model.jobs {
            let stored = self.till.store.job(ACCOUNT, *id).wait().expect("read");
            let stored = stored.expect("an accepted job is there");
            assert_eq!(stored.state.is_terminal(), job.ended);
        }
        self.till.check();
    }
}

fn accepted(
    model: &mut Model,
    new: &NewJob,
    limits: SpendLimits,
    price: i64,
    (name, meaning): (Option<&str>, u8),
    now: i64,
    outcome: Result<AcceptedJob, AcceptError>,
) {
    if let Some((first, job)) = name.and_then(|name| model.use_of(true, name, now)) {
        match outcome {
            Ok(it) => assert!(it.replayed && Some(it.job) == job && first == meaning),
            Err(error) => assert!(matches!(error, AcceptError::KeyReused) && first != meaning),
        }
        return;
    }
    let held_by_key = model.held(|job| job.key == new.key);
    let used = model.spent.get(&new.key).copied().unwrap_or_default() + held_by_key;
    let expected = if model.live() >= MAX_LIVE {
        "too many"
    } else if model.balance - model.held(|_| true) < price {
        "balance"
    } else if limits.any() && used + price > LIMIT {
        "key limit"
    } else {
        "accepted"
    };
    let found = match &outcome {
        Ok(_) => "accepted",
        Err(AcceptError::TooManyLive { .. }) => "too many",
        Err(AcceptError::Ledger(LedgerError::Insufficient { .. })) => "balance",
        Err(AcceptError::KeyLimit(_)) => "key limit",
        Err(error) => panic!("{error}"),
    };
    assert_eq!(found, expected);
    let Ok(it) = outcome else { return };
    assert!(!it.replayed);
    let job = ModelJob {
        key: new.key,
        price,
        runs: None,
        ended: false,
    };
    model.jobs.insert(it.job, job);
    if let Some(name) = name {
        let record = (meaning, Some(it.job), now + RETENTION);
        model.used.insert((true, name.to_owned()), record);
    }
}

fn applied(model: &mut Model, id: JobId, event: &JobEvent, outcome: Result<JobState, EventError>) {
    let job = model.jobs.get_mut(&id).expect("a known job");
    let expected = match (job.ended, job.runs, event) {
        (true, _, _) => Err("over"),
        (false, None, JobEvent::Begin { .. }) => Ok(Some(1)),
        (
            false,
            runs,
            JobEvent::Cancel | JobEvent::Abandon | JobEvent::Unserved | JobEvent::Expire { .. },
        ) => match runs {
            None => Ok(None),
            Some(_) => Err("started"),
        },
        (false, None, _) => Err("not started"),
        (false, Some(3), JobEvent::Begin { .. }) => Ok(None),
        (false, Some(runs), JobEvent::Begin { .. }) => Ok(Some(runs + 1)),
        (false, Some(runs), JobEvent::CutOff) => Ok(Some(runs.saturating_sub(1))),
        (false, Some(runs), JobEvent::InputsFetched { .. }) => Ok(Some(runs)),
        (false, Some(_), JobEvent::Finish { .. } | JobEvent::Fail { .. }) => Ok(None),
    };
    let found = match &outcome {
        Ok(JobState::Processing { runs, .. }) => Ok(Some(*runs)),
        Ok(_) => Ok(None),
        Err(EventError::Transition(TransitionError::NotStarted)) => Err("not started"),
        Err(EventError::Transition(TransitionError::AlreadyStarted)) => Err("started"),
        Err(EventError::Transition(TransitionError::AlreadyTerminal(_))) => Err("over"),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(found, expected, "{event:?}");
    match outcome {
        Ok(JobState::Processing { runs, .. }) => job.runs = Some(runs),
        Ok(JobState::Done { .. }) => {
            job.ended = true;
            model.balance -= job.price;
            *model.spent.entry(job.key).or_default() += job.price;
        }
        Ok(_) => job.ended = true,
        Err(_) => {}
    }
}

fn deposited(
    model: &mut Model,
    amount: i64,
    name: Option<&str>,
    meaning: u8,
    now: i64,
    outcome: Result<(), DepositError>,
) {
    if let Some((first, _)) = name.and_then(|name| model.use_of(false, name, now)) {
        match outcome {
            Ok(()) => assert_eq!(first, meaning),
            Err(error) => assert!(matches!(error, DepositError::KeyReused) && first != meaning),
        }
        return;
    }
    let allowed = model.balance + amount >= model.held(|_| true);
    assert_eq!(outcome.is_ok(), allowed, "{amount}: {outcome:?}");
    if allowed {
        model.balance += amount;
        if let Some(name) = name {
            let record = (meaning, None, now + 400 * DAY_MILLIS);
            model.used.insert((false, name.to_owned()), record);
        }
    }
}

#[test]
fn hostile_47_random_decisions_agree_with_a_model_over_crashes() {
    for seed in 0..400 {
        let run = std::panic::catch_unwind(|| {
            let mut run = Run::new(seed);
            for _ in 0..20 {
                run.one_batch();
                if run.random.below(6) == 0 {
                    run.crash();
                }
                run.compare();
            }
        });
        assert!(run.is_ok(), "seed {seed}");
    }
}
