//! The requests of clients, and the checks of their answers.

use super::keys::Text;
use super::{JobStatus, Limits, Model};
use std::collections::BTreeMap;
use tintype_storage::domain::ids::{AccountId, JobId, KeyId};
use tintype_storage::domain::ledger::LedgerError;
use tintype_storage::domain::spending::Period;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::{AcceptError, AcceptedBatch, AcceptedJob, DepositError};
use uuid::Uuid;

/// A generation request. It may be sent several times.
#[derive(Clone, Debug)]
pub struct Request {
    pub account: AccountId,
    pub key: KeyId,
    /// Of all its images together.
    pub price: i64,
    pub tier: Tier,
    /// The number of images of a batch; `None` for a single job.
    pub size: Option<u32>,
    /// Does its caller wait for the image?
    pub synchronous: bool,
    pub callback: Option<(WebhookId, String)>,
    /// Its idempotency key.
    pub name: Option<String>,
    /// Is its prompt in the object store?
    pub stored: bool,
    /// Its job fails if it is still queued after this time, in milliseconds.
    pub cancel_after: Option<i64>,
    /// How often it was sent.
    pub issues: u64,
    /// Was it sent in this life of the process?
    pub sent: bool,
    /// The jobs or batches that it created.
    pub made: Vec<Uuid>,
}

impl Request {
    /// The price of one image.
    pub fn unit(&self) -> i64 {
        self.price / i64::from(self.jobs())
    }

    pub fn jobs(&self) -> u32 {
        self.size.unwrap_or(1)
    }
}

/// A job or a batch that a call created or replayed.
#[derive(Clone, Copy, Debug)]
pub struct CallOutcome {
    pub id: Uuid,
    pub replayed: bool,
}

impl From<AcceptedJob> for CallOutcome {
    fn from(job: AcceptedJob) -> Self {
        Self {
            id: job.job.0,
            replayed: job.replayed,
        }
    }
}

impl From<AcceptedBatch> for CallOutcome {
    fn from(batch: AcceptedBatch) -> Self {
        Self {
            id: batch.batch.0,
            replayed: batch.replayed,
        }
    }
}

/// A deposit. It may be sent several times.
#[derive(Clone, Debug)]
pub struct DepositRequest {
    pub account: AccountId,
    pub amount: i64,
    pub name: Option<String>,
    pub issues: u64,
    pub lines: u64,
}

/// A call that waits for its answer, with the extremes of the state on which it may have been decided.
pub struct Window {
    request: usize,
    account: AccountId,
    key: KeyId,
    /// The strictest limits of its key.
    limits: Limits,
    /// May the account have rejected the key's text?
    may_be_refused: bool,
    /// Tiers that were paused, or about to be.
    paused: [bool; 3],
    pub least_available: i64,
    pub most_live: usize,
    pub most_used: i64,
    pub most_used_in_day: i64,
    pub most_used_in_month: i64,
    most_live_of_key: i64,
    /// The strictest limits of its account.
    ceiling: Limits,
    /// In a day, and in a month.
    most_used_by_account: [i64; 2],
    pub clock_low: i64,
}

impl Model {
    /// A request is sent with this text of its key, under these limits. Returns the number of the call.
    pub fn issue(&mut self, request: usize, limits: Limits, text: &Text, now: i64) -> u64 {
        self.saw_clock(now);
        self.count("calls");
        let asked = &mut self.requests[request];
        asked.issues += 1;
        asked.sent = true;
        let (account, key) = (asked.account, asked.key);
        let window = Window {
            request,
            account,
            key,
            limits,
            may_be_refused: !self.key_states.is_current(key, text),
            paused: self.may_be_paused(),
            least_available: self.available(account),
            most_live: self.live(account),
            most_used: self.used(key),
            most_used_in_day: self.used_in_day(key),
            most_used_in_month: self.used_in_month(key),
            most_live_of_key: self.live_of_key(key),
            ceiling: self.limits_of_account(account),
            most_used_by_account: self.used_by_account(account),
            clock_low: now,
        };
        self.next_window += 1;
        self.windows.insert(self.next_window, window);
        self.next_window
    }

    /// Widens the extremes after a commit that released `given_back` of an account's money and ended `ended` of its jobs.
    pub fn widen(&mut self, account: AccountId, given_back: i64, ended: usize) {
        let (available, live) = (self.available(account), self.live(account));
        let used = |key: &KeyId| {
            (
                *key,
                [
                    self.used(*key),
                    self.used_in_day(*key),
                    self.used_in_month(*key),
                    self.live_of_key(*key),
                ],
            )
        };
        let by_account = self.used_by_account(account);
        let used: BTreeMap<KeyId, [i64; 4]> = self.keys.keys().map(used).collect();
        for window in self.windows.values_mut().filter(|it| it.account == account) {
            window.least_available = window.least_available.min(available - given_back);
            window.most_live = window.most_live.max(live + ended);
            let [used, in_day, in_month, live_of_key] =
                used.get(&window.key).copied().unwrap_or_default();
            window.most_used = window.most_used.max(used + given_back);
            window.most_used_in_day = window.most_used_in_day.max(in_day + given_back);
            window.most_used_in_month = window.most_used_in_month.max(in_month + given_back);
            window.most_live_of_key = window.most_live_of_key.max(live_of_key + ended as i64);
            for (most, used) in window.most_used_by_account.iter_mut().zip(by_account) {
                *most = (*most).max(used + given_back);
            }
        }
    }

    /// A key was changed while calls with it were in flight.
    pub(super) fn key_changed(&mut self, key: KeyId, limits: Limits) {
        for window in self.windows.values_mut().filter(|it| it.key == key) {
            window.limits = window.limits.or_stricter(limits);
            window.may_be_refused = true;
        }
    }

    /// The limits of an account were changed while its calls were in flight.
    pub(super) fn ceiling_changed(&mut self, account: AccountId, limits: Limits) {
        for window in self.windows.values_mut().filter(|it| it.account == account) {
            window.ceiling = window.ceiling.or_stricter(limits);
        }
    }

    /// The operator is about to pause or resume tiers.
    pub fn pause_asked(&mut self, tiers: [bool; 3]) {
        self.pauses_asked.push(tiers);
        let paused = self.may_be_paused();
        for window in self.windows.values_mut() {
            window.paused = [0, 1, 2].map(|at| window.paused[at] || paused[at]);
        }
    }

    /// Tiers that are paused, or may be while the commits of the last changes are in flight.
    fn may_be_paused(&self) -> [bool; 3] {
        [0, 1, 2].map(|at| self.paused[at] || self.pauses_asked.iter().any(|it| it[at]))
    }

    pub fn unanswered(&mut self, call: u64) {
        self.windows.remove(&call);
        self.count("calls without an answer");
    }

    pub fn answered(&mut self, call: u64, outcome: &Result<CallOutcome, AcceptError>, now: i64) {
        self.saw_clock(now);
        let Some(window) = self.windows.remove(&call) else {
            return;
        };
        let number = window.request;
        let request = self.requests[number].clone();
        let fault = match outcome {
            Ok(CallOutcome {
                id,
                replayed: false,
            }) => {
                self.count("accepted");
                (!request.made.contains(id))
                    .then(|| format!("request {number} was answered {id} before that was durable"))
            }
            Ok(CallOutcome { id, replayed: true }) => {
                self.count(match request.size {
                    Some(_) => "batches replayed",
                    None => "replayed",
                });
                let known = request.made.contains(id);
                let remembered = request.name.as_deref().is_some_and(|name| {
                    let is_it = |made| made == *id;
                    self.names
                        .stood_for(request.account, name, window.clock_low, is_it)
                });
                (!known || !remembered).then(|| format!("request {number} was replayed as {id}"))
            }
            Err(AcceptError::KeyReused) => {
                self.count("refused: key reused");
                let remembered = request.name.as_deref().is_some_and(|name| {
                    let other = |made| !request.made.contains(&made);
                    self.names
                        .stood_for(request.account, name, window.clock_low, other)
                });
                (!remembered).then(|| format!("request {number}: its key was reported as reused"))
            }
            Err(AcceptError::TooManyLive { .. }) => {
                self.count("refused: too many live");
                let most = window.ceiling.live.map(|it| it as usize);
                let most = most.map_or(self.rules.max_live, |it| it.min(self.rules.max_live));
                if most < self.rules.max_live {
                    self.count("refused: too many live of a limited account");
                }
                (window.most_live + request.jobs() as usize <= most).then(|| {
                    format!(
                        "request {number}: {} live jobs were too many",
                        window.most_live
                    )
                })
            }
            Err(AcceptError::TooManyLiveOfKey { .. }) => {
                self.count("refused: too many live of a key");
                let (most, live) = (window.limits.live, window.most_live_of_key);
                most.is_none_or(|most| live + i64::from(request.jobs()) <= most)
                    .then(|| format!("request {number}: {live} live jobs of its key were too many"))
            }
            Err(AcceptError::AccountLimit(limit)) => {
                self.count("refused: account limit");
                let [in_day, in_month] = window.most_used_by_account;
                let (most, used) = match limit.period {
                    Period::Total => (None, 0),
                    Period::Day => (window.ceiling.daily, in_day),
                    Period::Month => (window.ceiling.monthly, in_month),
                };
                most.is_none_or(|most| used + request.price <= most)
                    .then(|| {
                        format!(
                            "request {number}: {used} used was over the account's limit {:?}",
                            limit.period
                        )
                    })
            }
            Err(AcceptError::Ledger(LedgerError::Insufficient { .. })) => {
                self.count("refused: balance");
                (window.least_available >= request.price).then(|| {
                    format!(
                        "request {number}: {} did not cover {}",
                        window.least_available, request.price
                    )
                })
            }
            Err(AcceptError::KeyLimit(limit)) => {
                self.count(match limit.period {
                    Period::Total => "refused: key limit",
                    Period::Day => "refused: key limit of a day",
                    Period::Month => "refused: key limit of a month",
                });
                let (most, used) = match limit.period {
                    Period::Total => (window.limits.total, window.most_used),
                    Period::Day => (window.limits.daily, window.most_used_in_day),
                    Period::Month => (window.limits.monthly, window.most_used_in_month),
                };
                most.is_none_or(|most| used + request.price <= most)
                    .then(|| {
                        format!(
                            "request {number}: {used} used was over the key's limit {:?}",
                            limit.period
                        )
                    })
            }
            Err(AcceptError::Caller(_)) => {
                self.count("refused: key changed meanwhile");
                (!window.may_be_refused)
                    .then(|| format!("request {number}: its key was refused, and had not changed"))
            }
            Err(AcceptError::Paused(_)) => {
                self.count("refused: paused");
                (!window.paused[request.tier.index()]).then(|| {
                    format!("request {number} was refused for a pause, but its tier was not paused")
                })
            }
            Err(AcceptError::Store(_)) if self.storage_failed => None,
            Err(error) => Some(format!("request {number} was refused: {error}")),
        };
        self.faults.extend(fault);
    }

    pub fn deposit_issued(&mut self, number: usize) {
        self.deposits[number].issues += 1;
    }

    pub fn deposit_answered(&mut self, number: usize, outcome: &Result<(), DepositError>) {
        let deposit = &self.deposits[number];
        let fault = match outcome {
            Ok(()) => (deposit.lines == 0)
                .then(|| format!("deposit {number} was answered before it was durable")),
            Err(DepositError::KeyReused) => deposit
                .name
                .is_none()
                .then(|| format!("deposit {number} has no key to reuse")),
            Err(DepositError::Ledger(LedgerError::BelowReserved { .. })) => (deposit.amount >= 0)
                .then(|| format!("deposit {number} of {} was refused", deposit.amount)),
            Err(DepositError::Store(_)) if self.storage_failed => None,
            Err(error) => Some(format!("deposit {number} was refused: {error}")),
        };
        self.count("deposits answered");
        self.faults.extend(fault);
    }

    pub fn cancel_asked(&mut self, job: JobId) {
        self.life_events.entry(job).or_default().cancel_asked = true;
    }

    pub fn cancel_answered(&mut self, job: JobId, canceled: bool) {
        let status = self.jobs.get(&job).map(|it| it.status);
        if canceled && status != Some(JobStatus::Failed) {
            self.fault(format!(
                "a cancellation was answered while the job is {status:?}"
            ));
        }
    }
}
