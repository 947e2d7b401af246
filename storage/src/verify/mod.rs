//! Recomputes every invariant from the records; no stored total is trusted.

mod batches;
mod daily_usage;
mod deliveries;
mod people;
mod queue;
mod records;
mod refunds;
mod search_index;

use crate::domain::account::Account;
use crate::domain::amount::Amount;
use crate::domain::api_key::ApiKey;
use crate::domain::audit_log::AuditEntry;
use crate::domain::daily_usage::DailyUsage;
use crate::domain::ids::{AccountId, JobId, KeyId, moment_of};
use crate::domain::job::{Job, JobState};
use crate::domain::ledger::{EntryKind, LedgerEntry};
use crate::domain::spending::Spending;
use crate::domain::time::Timestamp;
use crate::engine::Wait as _;
use crate::store::tables::{
    API_KEY_SPENDING, API_KEYS, AUDIT_LOG, DAILY_USAGE, DELETED_IMAGES, ENDED_JOBS, JOBS_FORGOTTEN,
    LEDGER, LIVE_JOBS, RETIRED_API_KEYS,
};
use crate::store::{DailyUsageKey, Store, StoreError};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a verification has read, and the faults that it has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub accounts: u64,
    /// Jobs that are not terminal.
    pub live_jobs: u64,
    pub ended_jobs: u64,
    pub batches: u64,
    pub entries: u64,
    pub deliveries: u64,
    pub audit_entries: u64,
    /// Records of all kinds.
    pub records: u64,
    /// One sentence per fault; at most [`MAX_FAULTS`].
    pub faults: Vec<String>,
}

/// The limit of listed faults; further ones add nothing.
pub const MAX_FAULTS: usize = 1_000;

#[derive(Default)]
struct Sums {
    reserved: Amount,
    done: Amount,
    /// Done jobs without a charge so far: their prices and ends.
    uncharged: HashMap<JobId, (Amount, Timestamp)>,
    /// The account's charges in order.
    spending: Spending,
    /// The account's charges by the UTC day of the job's end, counted from 1970-01-01.
    days: BTreeMap<i64, Amount>,
    /// The sum of all ledger entries.
    balance: Amount,
    /// The sum of the charges.
    charged: Amount,
}

impl Totals {
    /// Adds done jobs that ended on a day.
    fn add_done(
        &mut self,
        account: AccountId,
        key: KeyId,
        day: i64,
        price: Amount,
        report: &mut Report,
    ) {
        let of_account = self.accounts.entry(account).or_default();
        add(report, &mut of_account.done, price);
        add(report, of_account.days.entry(day).or_default(), price);
        add(report, self.spent.entry(key).or_default(), price);
    }
}

impl Report {
    fn fault(&mut self, text: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(text);
        }
    }
}

/// What the records so far add up to.
struct Totals {
    /// Jobs that ended before this time may have been deleted. The daily usage has their prices.
    jobs_forgotten: Timestamp,
    /// Of the accounts whose own record has not been read.
    accounts: HashMap<AccountId, Sums>,
    /// The prices of the done jobs of each key.
    spent: HashMap<KeyId, Amount>,
    /// The refunds of each job, by the ledger.
    refunds: BTreeMap<(AccountId, JobId), Amount>,
}

/// Verifies a store without other users. `visit_job` receives each job, to check its objects elsewhere.
pub fn verify(store: &Store, mut visit_job: impl FnMut(&Job)) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let mut totals = Totals {
        jobs_forgotten: JOBS_FORGOTTEN.mark(store).wait()?,
        accounts: HashMap::new(),
        spent: HashMap::new(),
        refunds: BTreeMap::new(),
    };
    verify_live_jobs(store, &mut visit_job, &mut totals, &mut report)?;
    verify_ended_jobs(store, &mut visit_job, &mut totals, &mut report)?;
    add_forgotten_jobs(store, &mut totals, &mut report)?;
    verify_ledger(store, &mut totals, &mut report)?;
    refunds::verify(store, &totals.refunds, &mut report)?;
    let accounts = verify_accounts(store, totals.accounts, &mut report)?;
    verify_api_keys(store, &accounts, &mut report)?;
    verify_spending(store, totals.spent, &mut report)?;
    verify_audit_log(store, &accounts, &mut report)?;
    batches::verify(store, &mut report)?;
    deliveries::verify(store, &accounts, &mut report)?;
    queue::verify(store, &mut report)?;
    people::verify(store, &accounts, &mut report)?;
    daily_usage::verify(store, &mut report)?;
    search_index::verify(store, &mut report)?;
    records::verify(store, &mut report)?;
    Ok(report)
}

fn verify_live_jobs(
    store: &Store,
    mut visit_job: impl FnMut(&Job),
    totals: &mut Totals,
    report: &mut Report,
) -> Result<(), StoreError> {
    let visit = |_, job: Job| {
        report.live_jobs += 1;
        if job.state.is_terminal() {
            report.fault(format!(
                "job {} is {} but still among the live ones",
                job.id,
                job.state.as_str()
            ));
        }
        let of_account = totals.accounts.entry(job.account).or_default();
        add(report, &mut of_account.reserved, job.price);
        visit_job(&job);
        Ok(())
    };
    LIVE_JOBS.visit(store, visit)
}

fn verify_ended_jobs(
    store: &Store,
    mut visit_job: impl FnMut(&Job),
    totals: &mut Totals,
    report: &mut Report,
) -> Result<(), StoreError> {
    let visit = |key, job: Job| {
        report.ended_jobs += 1;
        if LIVE_JOBS.get(store, &key).wait()?.is_some() {
            report.fault(format!("job {} is both live and ended", job.id));
        }
        match &job.state {
            JobState::Done { finished_at, .. } => {
                if job.is_erased() && DELETED_IMAGES.get(store, &key).wait()?.is_none() {
                    report.fault(format!(
                        "job {} is erased, but its image is not marked as deleted",
                        job.id
                    ));
                }
                let ended = (job.price, *finished_at);
                let of_account = totals.accounts.entry(job.account).or_default();
                of_account.uncharged.insert(job.id, ended);
                if *finished_at >= totals.jobs_forgotten {
                    let (account, day) = (job.account, finished_at.day());
                    totals.add_done(account, job.key, day, job.price, report);
                }
            }
            JobState::Failed { .. } => {}
            JobState::Queued | JobState::Processing { .. } => {
                report.fault(format!(
                    "job {} is {} but among the ended ones",
                    job.id,
                    job.state.as_str()
                ));
            }
        }
        visit_job(&job);
        Ok(())
    };
    ENDED_JOBS.visit(store, visit)
}

/// Adds the prices of all jobs of the days whose jobs may have been deleted.
fn add_forgotten_jobs(
    store: &Store,
    totals: &mut Totals,
    report: &mut Report,
) -> Result<(), StoreError> {
    let first_kept = totals.jobs_forgotten.day();
    let visit = |key: DailyUsageKey, usage: DailyUsage| {
        let spent = usage.totals().spent;
        if key.day < first_kept && spent != Amount::ZERO {
            totals.add_done(key.account, key.key, key.day, spent, report);
        }
        Ok(())
    };
    DAILY_USAGE.visit(store, visit)
}

fn verify_ledger(
    store: &Store,
    totals: &mut Totals,
    report: &mut Report,
) -> Result<(), StoreError> {
    let visit = |(account, _), entry: LedgerEntry| {
        report.entries += 1;
        let of_account = totals.accounts.entry(account).or_default();
        let is_forgotten = entry.created_at < totals.jobs_forgotten;
        verify_entry(account, &entry, of_account, is_forgotten, report);
        if let Some(job) = entry.refunded_job() {
            let refunded = totals.refunds.entry((account, job)).or_default();
            add(report, refunded, entry.amount);
        }
        Ok(())
    };
    LEDGER.visit(store, visit)
}

/// Returns the accounts that exist.
fn verify_accounts(
    store: &Store,
    mut sums: HashMap<AccountId, Sums>,
    report: &mut Report,
) -> Result<HashSet<AccountId>, StoreError> {
    let mut accounts = HashSet::new();
    let visit = |account: Account| {
        report.accounts += 1;
        let sums = sums.remove(&account.id).unwrap_or_default();
        verify_account(&account, &sums, report);
        accounts.insert(account.id);
        Ok(())
    };
    store.each_account(visit).wait()?;
    for account in sums.keys() {
        report.fault(format!(
            "there are jobs or ledger entries of account {account}, which does not exist"
        ));
    }
    Ok(accounts)
}

fn verify_api_keys(
    store: &Store,
    accounts: &HashSet<AccountId>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let visit = |_, key: ApiKey| {
        for retired in &key.retired {
            if RETIRED_API_KEYS.get(store, &retired.hash).wait()? != Some(key.id) {
                report.fault(format!("an earlier value of key {} is not found", key.id));
            }
        }
        if !accounts.contains(&key.account) {
            report.fault(format!(
                "key {} is of account {}, which does not exist",
                key.id, key.account
            ));
        }
        Ok(())
    };
    API_KEYS.visit(store, visit)
}

fn verify_audit_log(
    store: &Store,
    accounts: &HashSet<AccountId>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let visit = |id, entry: AuditEntry| {
        report.audit_entries += 1;
        if entry.id != id {
            report.fault(format!(
                "line {} of the audit log is found as {id}",
                entry.id
            ));
        }
        if let Some(account) = entry.account.filter(|it| !accounts.contains(it)) {
            report.fault(format!(
                "line {id} of the audit log is about account {account}, which does not exist"
            ));
        }
        Ok(())
    };
    AUDIT_LOG.visit(store, visit)
}

/// Checks the spending of keys, including deleted ones, against their done jobs.
fn verify_spending(
    store: &Store,
    mut computed: HashMap<KeyId, Amount>,
    report: &mut Report,
) -> Result<(), StoreError> {
    let differ = |id: KeyId, recorded: Amount, computed: Amount| {
        format!("key {id} has spent {recorded} by its record, {computed} by its jobs")
    };
    API_KEY_SPENDING.visit(store, |id, spending| {
        if let Some(fault) = spending.fault() {
            report.fault(format!("key {id} has {fault}"));
        }
        let computed = computed.remove(&id).unwrap_or_default();
        if spending.total != computed {
            report.fault(differ(id, spending.total, computed));
        }
        Ok(())
    })?;
    for (id, computed) in computed {
        report.fault(differ(id, Amount::ZERO, computed));
    }
    Ok(())
}

/// Checks one ledger entry, after all older ones and after all jobs. `is_forgotten`: the job of a charge may have been deleted.
fn verify_entry(
    id: AccountId,
    entry: &LedgerEntry,
    sums: &mut Sums,
    is_forgotten: bool,
    report: &mut Report,
) {
    add(report, &mut sums.balance, entry.amount);
    if entry.balance_after != sums.balance {
        report.fault(format!(
            "account {id}: entry {} says balance {}, the entries so far give {}",
            entry.id, entry.balance_after, sums.balance
        ));
    }
    if moment_of(&entry.id.0).is_some_and(|of_id| of_id < entry.created_at) {
        report.fault(format!(
            "account {id}: entry {} of {} is later than its id",
            entry.id, entry.created_at
        ));
    }
    let has_wrong_sign = match entry.kind {
        EntryKind::Deposit => entry.amount.is_negative(),
        EntryKind::Adjustment => !entry.amount.is_negative(),
        EntryKind::Charge => entry.amount > Amount::ZERO,
    };
    if has_wrong_sign {
        report.fault(format!(
            "account {id}: entry {} is of kind {}, but its amount is {}",
            entry.id,
            entry.kind.as_str(),
            entry.amount
        ));
    }
    if entry.kind == EntryKind::Charge {
        add(report, &mut sums.charged, entry.amount.negated());
        let job = entry.job.and_then(|job| sums.uncharged.remove(&job));
        let forgotten = is_forgotten.then(|| (entry.amount.negated(), entry.created_at));
        let job = job.or(forgotten);
        if let Some((price, ended)) = job {
            // It may be earlier by any time: earlier versions used the clock, also if that was set back.
            if entry.created_at > ended {
                report.fault(format!(
                    "account {id}: charge {} of {} is later than the end of its job at {ended}",
                    entry.id, entry.created_at
                ));
            }
            sums.spending = sums.spending.charge(price, ended).unwrap_or(sums.spending);
        }
        if job.map(|(price, _)| price) != Some(entry.amount.negated()) {
            report.fault(format!(
                "account {id}: charge {} does not belong to exactly one done job of that price",
                entry.id
            ));
        }
    }
}

fn verify_account(account: &Account, sums: &Sums, report: &mut Report) {
    let (id, balances) = (account.id, &account.balances);
    if let Some(fault) = balances.fault() {
        report.fault(format!("account {id}: {fault}"));
    }
    if balances.reserved != sums.reserved {
        report.fault(format!(
            "account {id}: reserved is {}, the holds of its live jobs are {}",
            balances.reserved, sums.reserved
        ));
    }
    for job in sums.uncharged.keys() {
        report.fault(format!(
            "account {id}: job {job} is done but was not charged"
        ));
    }
    if balances.balance != sums.balance {
        report.fault(format!(
            "account {id}: balance is {}, its entries give {}",
            balances.balance, sums.balance
        ));
    }
    if balances.charged != sums.charged || sums.charged != sums.done {
        report.fault(format!(
            "account {id}: charged is {}, its charges are {}, its done jobs cost {}",
            balances.charged, sums.charged, sums.done
        ));
    }
    if account.spending.is_some() != account.limits.spend_limits().any() {
        report.fault(format!(
            "account {id}: its spending has a limit and is not counted, or is counted without one"
        ));
    }
    let spending = account.spending;
    if let Some(fault) = spending.and_then(|it| it.differs_from(&sums.spending, &sums.days)) {
        report.fault(format!("account {id} has {fault}"));
    }
}

fn add(report: &mut Report, sum: &mut Amount, amount: Amount) {
    match sum.plus(amount) {
        Ok(total) => *sum = total,
        Err(error) => report.fault(format!("a sum is out of range: {error}")),
    }
}
