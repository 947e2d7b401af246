//! Balances, reservations, ledgers and daily usage, all in millionths.

use super::jobs::JobEnd;
use super::records::{KeyUse, millionths};
use super::spending::GrantedJob;
use super::{ChangedRecords, Limits, Model, MovedMoney};
use std::collections::BTreeMap;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::daily_usage::DailyUsage;
use tintype_storage::domain::ids::{AccountId, KeyId, TransactionId};
use tintype_storage::domain::ledger::{EntryKind, LedgerEntry};
use tintype_storage::store::Made;

pub(super) const DAY: i64 = 86_400_000;

#[derive(Default)]
pub struct AccountMoney {
    pub balance: i64,
    pub reserved: i64,
    deposited: i64,
    charged: i64,
    last_line: Option<TransactionId>,
    pub live: usize,
    /// The figures of the account's record.
    recorded: [i64; 4],
}

impl AccountMoney {
    fn figures(&self) -> [i64; 4] {
        [self.balance, self.reserved, self.deposited, self.charged]
    }
}

impl Model {
    /// Adds an account before the scenario begins.
    pub fn opened(&mut self, account: AccountId, balance: i64, line: TransactionId) {
        let of_account = AccountMoney {
            balance,
            deposited: balance,
            last_line: Some(line),
            recorded: [balance, 0, balance, 0],
            ..AccountMoney::default()
        };
        self.account_money.insert(account, of_account);
    }

    pub fn available(&self, account: AccountId) -> i64 {
        self.account_money
            .get(&account)
            .map_or(0, |it| it.balance - it.reserved)
    }

    pub fn reserved(&self, account: AccountId) -> i64 {
        self.account_money.get(&account).map_or(0, |it| it.reserved)
    }

    pub fn live(&self, account: AccountId) -> usize {
        self.account_money.get(&account).map_or(0, |it| it.live)
    }

    pub fn all_live(&self) -> usize {
        self.account_money.values().map(|it| it.live).sum()
    }

    /// Reserves the price of a job. `limits` are the loosest under which it may have been accepted.
    pub(super) fn hold(
        &mut self,
        account: AccountId,
        key: KeyId,
        price: i64,
        at: i64,
        limits: Limits,
    ) {
        self.granted.push(GrantedJob { key, at, limits });
        self.grant_of_account(account, at);
        let of_account = self.account_money.entry(account).or_default();
        of_account.reserved += price;
        of_account.live += 1;
        let money = self.keys.entry(key).or_default();
        money.held += price;
        money.live += 1;
    }

    /// Charges or releases the reservation of an ended job.
    pub(super) fn settle(&mut self, ended: &JobEnd, moved: &mut MovedMoney) {
        let of_account = self.account_money.entry(ended.account).or_default();
        of_account.reserved -= ended.price;
        of_account.live -= 1;
        moved.ended += 1;
        let key = self.keys.entry(ended.key).or_default();
        key.held -= ended.price;
        key.live -= 1;
        if ended.done {
            moved.settled += ended.price;
            key.spent += ended.price;
        } else {
            moved.released += ended.price;
        }
    }

    /// Checks new ledger entries: a charge for each job that this commit has finished, and requested deposits.
    pub(super) fn ledger_step(
        &mut self,
        changed: &mut ChangedRecords,
        moved: &mut BTreeMap<AccountId, MovedMoney>,
    ) {
        let lines = std::mem::take(&mut changed.lines);
        for ((account, id), line) in lines {
            let Some(line) = line else {
                self.fault(format!("ledger entry {id} was deleted"));
                continue;
            };
            let of_account = moved.entry(account).or_default();
            match line.kind {
                EntryKind::Charge => of_account.settled += millionths(line.amount),
                EntryKind::Deposit | EntryKind::Adjustment => {
                    of_account.deposited += millionths(line.amount).max(0);
                    self.deposited(account, &line, changed);
                }
            }
            self.line(account, id, &line);
        }
        for (account, moved) in moved {
            // The charges cancel out the finished jobs.
            if moved.settled != 0 {
                self.fault(format!(
                    "account {account}: done jobs and charges differ by {}",
                    moved.settled
                ));
            }
        }
    }

    fn line(&mut self, account: AccountId, id: TransactionId, line: &LedgerEntry) {
        let of_account = self.account_money.entry(account).or_default();
        let amount = millionths(line.amount);
        of_account.balance += amount;
        match line.kind {
            EntryKind::Charge => of_account.charged -= amount,
            EntryKind::Deposit | EntryKind::Adjustment => of_account.deposited += amount,
        }
        let rises = of_account.last_line.is_none_or(|last| last.0 < id.0);
        of_account.last_line = Some(id);
        let balance = of_account.balance;
        if !rises {
            self.fault(format!("ledger entry {id} sorts before an earlier one"));
        }
        if line.id != id || millionths(line.balance_after) != balance {
            self.fault(format!(
                "ledger entry {id} has the balance {}, expected {balance}",
                line.balance_after
            ));
        }
        if let (EntryKind::Charge, Some(job)) = (line.kind, line.job) {
            let job = self.jobs.get_mut(&job);
            let fits = job.is_some_and(|job| {
                job.charges += 1;
                job.charges == 1 && job.account == account && job.price == -amount && job.is_done()
            });
            if !fits {
                self.fault(format!(
                    "charge {id} of {} does not fit its job",
                    line.amount
                ));
            }
        }
    }

    fn deposited(&mut self, account: AccountId, line: &LedgerEntry, changed: &mut ChangedRecords) {
        let number = line
            .reference
            .as_deref()
            .and_then(|it| it.strip_prefix("deposit ")?.parse::<usize>().ok());
        let Some(known) = number.and_then(|it| self.deposits.get_mut(it)) else {
            self.fault(format!(
                "no request explains the deposit {:?}",
                line.reference
            ));
            return;
        };
        known.lines += 1;
        self.audited_changes
            .insert((Action::DepositCreate.as_str(), line.id.0));
        let known = known.clone();
        let at = line.created_at.millis();
        let once = match &known.name {
            None => known.lines <= known.issues,
            Some(name) => {
                let used = KeyUse {
                    account,
                    call: b'd',
                    name: name.clone(),
                    expires_at: at + self.rules.retention.max(400 * DAY),
                };
                let record = changed.names.remove(&used).flatten();
                let doubled = self.names.used(&used, line.id.0, at);
                let recorded = record.is_some_and(|it| {
                    it.made == Made::Entry(line.id) && it.expires_at.millis() == used.expires_at
                });
                if !recorded {
                    self.fault(format!("the key {name} of a deposit has no record"));
                }
                self.faults.extend(doubled);
                true
            }
        };
        if !once || known.account != account || known.amount != millionths(line.amount) {
            self.fault(format!(
                "the deposit {:?} differs from its request, or was made too often",
                line.reference
            ));
        }
    }

    /// Checks that the commit that ends a job counts it on the day of its end.
    pub(super) fn daily_usage_step(
        &mut self,
        written: &BTreeMap<(AccountId, i64, KeyId), Option<DailyUsage>>,
        ended: &[JobEnd],
    ) {
        for job in ended {
            let key = (job.account, job.at.div_euclid(DAY), job.key);
            let (done, failed, spent) = self.daily_usage.entry(key).or_default();
            *done += u64::from(job.done);
            *failed += u64::from(!job.done);
            *spent += if job.done { job.price } else { 0 };
            if !written.contains_key(&key) {
                self.fault("the end of a job is not in the daily usage of its key".to_owned());
            }
        }
        for (key, record) in written {
            let known = self.daily_usage.get(key).copied();
            let found = record
                .as_ref()
                .map(DailyUsage::totals)
                .map(|it| (it.done, it.failed, millionths(it.spent)));
            if found != known {
                self.fault(format!("a daily usage is {found:?}, by the jobs {known:?}"));
            }
        }
    }

    /// Checks that account records are correct, and change in the commit that moves the money.
    pub(super) fn accounts_step(
        &mut self,
        accounts: &BTreeMap<AccountId, Option<Account>>,
        moved: &BTreeMap<AccountId, MovedMoney>,
    ) {
        for (account, record) in accounts {
            let Some(of_account) = self.account_money.get_mut(account) else {
                self.fault(format!("account {account} is unknown"));
                continue;
            };
            let expected = of_account.figures();
            of_account.recorded = expected;
            let balances = record.as_ref().map(|it| it.balances);
            let found = balances
                .map(|it| [it.balance, it.reserved, it.deposited, it.charged].map(millionths));
            if found != Some(expected) {
                self.fault(format!(
                    "account {account} has the balances {found:?}, expected {expected:?}"
                ));
            }
            if expected[1] < 0 || expected[1] > expected[0] {
                self.fault(format!(
                    "account {account}: reserved is not within the balance: {expected:?}"
                ));
            }
        }
        for (account, moved) in moved {
            // A hold and a release of the same amount in one commit leave the record as it is.
            let of_account = self.account_money.get(account);
            if of_account.is_some_and(|it| it.figures() != it.recorded) {
                self.fault(format!(
                    "account {account}: money moved, but its record did not change"
                ));
            }
            // Without the jobs that the same commit has ended.
            let live = self.live(*account);
            if live > self.rules.max_live {
                self.fault(format!("account {account} has {live} live jobs"));
            }
            self.widen(*account, moved.released + moved.deposited, moved.ended);
        }
    }
}
