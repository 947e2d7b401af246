//! The reference model: computes the expected records from the specification alone, in plain integers and sets.
//!
//! It receives the requests of callers, the results of backends and receivers, and each durable commit. It decodes the records of a
//! commit; each must follow from the state before by a step that a request explains. The model reads types of the domain, but calls none
//! of its functions.

mod backend_pauses;
mod batches;
mod ceilings;
mod deliveries;
mod expiries;
mod external_work;
mod forgotten;
mod hooks;
mod jobs;
mod keys;
mod log;
mod money;
mod names;
mod records;
mod requests;
mod spending;

pub use backend_pauses::backend_name;
pub use hooks::HookChange;
pub use jobs::JobStatus;
pub use keys::{KeyChange, KeyState, Limits};
pub use records::amount;
pub use requests::{CallOutcome, DepositRequest, Request};

use backend_pauses::PausedBackends;
use batches::{JoinedJob, KnownBatch};
use ceilings::Ceiling;
use deliveries::Deliveries;
use forgotten::ForgottenJobs;
use hooks::Hooks;
use jobs::{KnownJob, LifeEvents};
use keys::KeyStates;
use log::AuditedChanges;
use money::AccountMoney;
use names::Names;
use records::{Change, KeyUse};
use requests::Window;
use spending::{GrantedJob, KeyMoney};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::audit_log::AuditEntry;
use tintype_storage::domain::batch::{Batch, BatchProgress};
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId};
use tintype_storage::domain::ids::{AccountId, AuditId, BatchId, JobId, KeyId, TransactionId};
use tintype_storage::domain::job::Job;
use tintype_storage::domain::ledger::LedgerEntry;
use tintype_storage::domain::spending::Spending;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::{Key, Value};
use tintype_storage::store::IdempotencyRecord;

/// The settings of a scenario.
#[derive(Clone, Debug)]
pub struct Rules {
    pub max_runs: u32,
    pub max_live: usize,
    /// How long an idempotency key is remembered, in milliseconds.
    pub retention: i64,
    /// The delay before each retry of a delivery, in milliseconds.
    pub delays: Vec<i64>,
}

/// The state on which a decision was built, captured when its commit is submitted.
#[derive(Clone)]
pub struct Before {
    hooks: Arc<Hooks>,
    set_back: i64,
}

/// How often each kind of event happened.
pub type Counts = BTreeMap<&'static str, u64>;

pub struct Model {
    pub rules: Rules,
    pub faults: Vec<String>,
    pub counts: Counts,
    pub requests: Vec<Request>,
    pub deposits: Vec<DepositRequest>,
    windows: BTreeMap<u64, Window>,
    next_window: u64,
    account_money: BTreeMap<AccountId, AccountMoney>,
    keys: BTreeMap<KeyId, KeyMoney>,
    ceilings: BTreeMap<AccountId, Ceiling>,
    pub key_states: KeyStates,
    /// Jobs that the current commit has accepted.
    granted: Vec<GrantedJob>,
    /// Images, failures and charges of an account's key on a day.
    daily_usage: BTreeMap<(AccountId, i64, KeyId), (u64, u64, i64)>,
    pub jobs: BTreeMap<JobId, KnownJob>,
    life_events: BTreeMap<JobId, LifeEvents>,
    batches: BTreeMap<BatchId, KnownBatch>,
    /// Batch jobs that the current commit has accepted.
    joined: Vec<JoinedJob>,
    names: Names,
    forgotten_jobs: ForgottenJobs,
    pub deliveries: Deliveries,
    hooks: Arc<Hooks>,
    hook_accounts: BTreeMap<WebhookId, AccountId>,
    hooks_asked: BTreeMap<WebhookId, HookChange>,
    /// The audit log.
    log: BTreeSet<AuditId>,
    /// Changes of the current commit that need an audit log entry.
    audited_changes: AuditedChanges,
    paused: [bool; 3],
    /// Changes of the paused tiers in this life.
    pauses_asked: Vec<[bool; 3]>,
    paused_since: i64,
    paused_backends: PausedBackends,
    /// Independent of clock steps.
    uptime: i64,
    /// By how much the clock was set back in total.
    pub set_back: i64,
    /// The latest time that the clock has shown.
    clock_high: i64,
    /// Has storage failed in this life?
    pub storage_failed: bool,
    /// Has an orderly stop begun in this life?
    pub stopping: bool,
}

/// The records that one commit changes, by kind.
#[derive(Default)]
struct ChangedRecords {
    accounts: BTreeMap<AccountId, Option<Account>>,
    live: BTreeMap<JobId, Option<Box<Job>>>,
    expiries: BTreeMap<(JobId, i64), Option<AccountId>>,
    ended: BTreeMap<JobId, Option<Box<Job>>>,
    batches: BTreeMap<(AccountId, BatchId), Option<Batch>>,
    progress: BTreeMap<(AccountId, BatchId), Option<BatchProgress>>,
    lines: BTreeMap<(AccountId, TransactionId), Option<LedgerEntry>>,
    spent: BTreeMap<KeyId, Option<Spending>>,
    daily_usage: BTreeMap<(AccountId, i64, KeyId), Option<DailyUsage>>,
    names: BTreeMap<KeyUse, Option<IdempotencyRecord>>,
    deliveries: BTreeMap<DeliveryId, Option<Delivery>>,
    delivery_accounts: BTreeMap<DeliveryId, Option<AccountId>>,
    dues: BTreeMap<(DeliveryId, i64), bool>,
    attempts: BTreeMap<(DeliveryId, u32), Option<Attempt>>,
    keys: keys::Step,
    log: BTreeMap<AuditId, Option<AuditEntry>>,
    /// Deliveries that ended before this time are marked as deleted.
    mark: Option<i64>,
    /// Batches whose file records are deleted.
    no_files: BTreeSet<BatchId>,
    /// Jobs and batches that ended before this time are marked as deleted.
    jobs_mark: Option<i64>,
}

/// The money that the jobs of one commit have moved, per account.
#[derive(Clone, Copy, Default)]
struct MovedMoney {
    settled: i64,
    released: i64,
    deposited: i64,
    ended: usize,
}

impl Model {
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            faults: Vec::new(),
            counts: Counts::new(),
            requests: Vec::new(),
            deposits: Vec::new(),
            windows: BTreeMap::new(),
            next_window: 0,
            account_money: BTreeMap::new(),
            keys: BTreeMap::new(),
            ceilings: BTreeMap::new(),
            key_states: KeyStates::default(),
            granted: Vec::new(),
            daily_usage: BTreeMap::new(),
            jobs: BTreeMap::new(),
            life_events: BTreeMap::new(),
            batches: BTreeMap::new(),
            joined: Vec::new(),
            names: Names::default(),
            forgotten_jobs: ForgottenJobs::default(),
            deliveries: Deliveries::none(),
            hooks: Arc::default(),
            hook_accounts: BTreeMap::new(),
            hooks_asked: BTreeMap::new(),
            log: BTreeSet::new(),
            audited_changes: AuditedChanges::new(),
            paused: [false; 3],
            pauses_asked: Vec::new(),
            paused_since: 0,
            paused_backends: PausedBackends::default(),
            uptime: 0,
            set_back: 0,
            clock_high: 0,
            storage_failed: false,
            stopping: false,
        }
    }

    pub fn fault(&mut self, text: String) {
        self.faults.push(text);
    }

    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// The state on which a decision now is built.
    pub fn before(&self) -> Before {
        Before {
            hooks: Arc::clone(&self.hooks),
            set_back: self.set_back,
        }
    }

    /// The process starts again and has lost its memory.
    pub fn life_begins(&mut self, uptime: i64) {
        self.backend_pauses_of_next_life(uptime);
        let open = self.windows.len() as u64;
        if open > 0 {
            *self.counts.entry("calls without an answer").or_default() += open;
        }
        self.windows.clear();
        self.life_events.clear();
        self.deliveries.life_begins();
        self.forgotten_jobs.first_kept = None;
        self.key_states.life_begins();
        self.ceilings_life_begins();
        self.hooks_asked.clear();
        self.requests.iter_mut().for_each(|it| it.sent = false);
        self.pauses_asked.clear();
        self.storage_failed = false;
        self.stopping = false;
    }

    pub fn saw_clock(&mut self, now: i64) {
        self.clock_high = self.clock_high.max(now);
        for window in self.windows.values_mut() {
            window.clock_low = window.clock_low.min(now);
        }
    }

    /// Checks a commit that has become durable. Returns trace lines.
    pub fn commit(
        &mut self,
        writes: &[(Key, Option<Value>)],
        before: &Before,
        now: i64,
        uptime: i64,
    ) -> Vec<String> {
        self.saw_clock(now);
        self.uptime = uptime;
        self.count("commits");
        let (faults, mut trace) = (self.faults.len(), Vec::new());
        let mut changed = self.sort(writes);
        self.cancellations(&changed);
        let (mut moved, ended) = self.jobs_step(&mut changed, &mut trace);
        self.expiries_step(&changed.expiries);
        let batches = self.batches_step(&mut changed, &mut trace);
        self.jobs_forgotten_before(changed.jobs_mark);
        self.ledger_step(&mut changed, &mut moved);
        self.spending_step(&changed, &ended);
        self.limits_step();
        self.keys_step(std::mem::take(&mut changed.keys));
        self.daily_usage_step(&changed.daily_usage, &ended);
        self.names_step(changed.names);
        self.ceilings_step(&changed.accounts, &ended);
        self.accounts_step(&changed.accounts, &moved);
        let deliveries = deliveries::Step {
            written: changed.deliveries,
            accounts: changed.delivery_accounts,
            dues: changed.dues,
            attempts: changed.attempts,
            mark: changed.mark,
            ended,
            batches,
            hooks: &before.hooks,
            set_back: before.set_back,
        };
        self.deliveries_step(deliveries, &mut trace);
        self.log_step(changed.log);
        let new = self.faults[faults..].iter();
        trace.extend(new.map(|fault| format!("FAULT {fault}")));
        trace
    }

    fn sort(&mut self, writes: &[(Key, Option<Value>)]) -> ChangedRecords {
        let mut changed = ChangedRecords::default();
        let (mut seen, uptime) = (BTreeSet::new(), self.uptime);
        let (mut hook_accounts, mut untested) = (BTreeMap::new(), Vec::new());
        for (key, value) in writes {
            if !seen.insert(key) {
                self.fault(format!("a commit writes a key twice: {key:?}"));
            }
            let Some(change) = records::read(key, value.as_ref()) else {
                self.fault(format!("an unexpected or damaged record: {key:?}"));
                continue;
            };
            match change {
                Change::Account(id, it) => drop(changed.accounts.insert(id, it)),
                Change::LiveJob(id, it) => drop(changed.live.insert(id, it)),
                Change::Expiry(due, id, it) => drop(changed.expiries.insert((id, due), it)),
                Change::EndedJob(id, it) => drop(changed.ended.insert(id, it)),
                Change::Batch(account, id, it) => drop(changed.batches.insert((account, id), it)),
                Change::Progress(account, id, it) => {
                    changed.progress.insert((account, id), it);
                }
                Change::NoFileBatch(id) => drop(changed.no_files.insert(id)),
                Change::Line(account, id, it) => drop(changed.lines.insert((account, id), it)),
                Change::Spent(id, it) => drop(changed.spent.insert(id, it)),
                Change::DailyUsage(account, day, key, it) => {
                    changed.daily_usage.insert((account, day, key), it);
                }
                Change::Name(used, it) => drop(changed.names.insert(used, it)),
                Change::Delivery(id, it) => drop(changed.deliveries.insert(id, it)),
                Change::DeliveryAccount(id, it) => drop(changed.delivery_accounts.insert(id, it)),
                Change::Due(at, id, it) => drop(changed.dues.insert((id, at), it.is_some())),
                Change::Attempt(id, number, it) => drop(changed.attempts.insert((id, number), it)),
                Change::Webhook(id, it) => self.hook_changed(id, it.as_ref()),
                Change::WebhookAccount(id, it) => drop(hook_accounts.insert(id, it)),
                Change::NoTestDelivery(id) => untested.push(id),
                Change::Key(text, it) => drop(changed.keys.by_text.insert(text, it)),
                Change::KeyById(id, it) => drop(changed.keys.by_id.insert(id, it)),
                Change::KeyOfAccount(account, id, it) => {
                    changed.keys.of_account.insert((account, id), it);
                }
                Change::EarlierText(text, it) => drop(changed.keys.earlier.insert(text, it)),
                Change::LogLine(id, it) => drop(changed.log.insert(id, it)),
                Change::ForgottenBefore(mark) => changed.mark = Some(mark),
                Change::JobsForgottenBefore(mark) => changed.jobs_mark = Some(mark),
                Change::Pause(it) => {
                    self.paused =
                        it.map_or([false; 3], |it| it.tiers.map(|tier| tier || it.project));
                    self.paused_since = uptime;
                }
                Change::BackendPauses(it) => self.backend_pauses_recorded(it),
            }
        }
        for id in untested {
            if !matches!(hook_accounts.get(&id), Some(None)) {
                self.fault(format!(
                    "the test delivery of webhook {id} is deleted, but the webhook is not"
                ));
            }
        }
        for (id, account) in hook_accounts {
            let of = self
                .hooks
                .iter()
                .find(|(_, hooks)| hooks.iter().any(|it| it.id == id));
            if of.map(|(account, _)| *account) != account {
                self.fault(format!("the index assigns webhook {id} to {account:?}"));
            }
        }
        changed
    }

    /// Checks that no work is left after the calm phase.
    pub fn check_all_finished(&mut self, now: i64) {
        let unfinished: Vec<String> = self
            .jobs
            .values()
            .filter(|job| !job.status.is_terminal())
            .map(|job| format!("job {} never ended: {:?}", job.number, job.status))
            .collect();
        let held = self
            .account_money
            .values()
            .filter(|money| money.reserved != 0);
        let held: Vec<String> = held
            .map(|it| format!("{} is still reserved", it.reserved))
            .collect();
        let unanswered = self.windows.len();
        let open = self.unfinished_batches();
        self.faults
            .extend(unfinished.into_iter().chain(held).chain(open));
        if unanswered > 0 {
            self.fault(format!("{unanswered} calls were never answered"));
        }
        let late = self.late_expiries(now);
        self.faults.extend(late);
        let pending = self.deliveries.pending();
        self.faults.extend(
            pending
                .into_iter()
                .map(|id| format!("delivery {id} is still pending")),
        );
    }
}
