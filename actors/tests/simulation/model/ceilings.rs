//! The limits of accounts over all keys: their spending and their live jobs.

use super::jobs::JobEnd;
use super::money::DAY;
use super::records::millionths;
use super::spending::{Windows, month};
use super::{Limits, Model};
use std::collections::BTreeMap;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::AccountId;

/// The limits of an account, and the usage that counts against them.
#[derive(Clone, Copy, Default)]
pub struct Ceiling {
    pub limits: Limits,
    /// The limits of the operator's change in flight.
    asked: Option<Limits>,
    windows: Windows,
    /// When the current commit accepted its last job.
    granted: Option<i64>,
}

impl Model {
    /// The operator changes the limits. There is one change at a time.
    pub fn ceiling_asked(&mut self, account: AccountId, limits: Limits) {
        self.ceilings.entry(account).or_default().asked = Some(limits);
    }

    pub fn ceiling_answered(&mut self, account: AccountId) {
        self.ceilings.entry(account).or_default().asked = None;
    }

    pub(super) fn ceilings_life_begins(&mut self) {
        self.ceilings.values_mut().for_each(|it| it.asked = None);
    }

    pub(super) fn grant_of_account(&mut self, account: AccountId, at: i64) {
        let ceiling = self.ceilings.entry(account).or_default();
        ceiling.granted = ceiling.granted.max(Some(at));
    }

    pub fn limits_of_account(&self, account: AccountId) -> Limits {
        self.ceilings
            .get(&account)
            .map_or_else(Limits::default, |it| it.limits)
    }

    /// The most that may count as used by an account on one day, and in one month.
    pub fn used_by_account(&self, account: AccountId) -> [i64; 2] {
        let reserved = self.reserved(account);
        let windows = self.ceilings.get(&account).map(|it| it.windows);
        let windows = windows.unwrap_or_default();
        [windows.spent_in_day, windows.spent_in_month].map(|spent| spent + reserved)
    }

    /// Checks that the jobs of this commit are within the limits before or after it, and that limits change as the operator requested.
    pub(super) fn ceilings_step(
        &mut self,
        accounts: &BTreeMap<AccountId, Option<Account>>,
        ended: &[JobEnd],
    ) {
        for done in ended.iter().filter(|it| it.done) {
            let ceiling = self.ceilings.entry(done.account).or_default();
            ceiling.windows.charge(done.at, done.price);
        }
        let written: BTreeMap<AccountId, &Account> = accounts
            .iter()
            .filter_map(|(id, record)| Some((*id, record.as_ref()?)))
            .collect();
        let granted: Vec<(AccountId, i64)> = self
            .ceilings
            .iter_mut()
            .filter_map(|(account, it)| Some((*account, it.granted.take()?)))
            .collect();
        for (account, at) in granted {
            let before = self.limits_of_account(account);
            let after = written.get(&account).map_or(before, |it| read(it));
            self.check_grant(account, at, before.or_looser(after));
        }
        for (account, record) in written {
            self.ceiling_written(account, record);
        }
    }

    /// Counts only the usage that must count: after the clock was set back, the record may contain less than all charges of the newest day.
    fn check_grant(&mut self, account: AccountId, at: i64, limits: Limits) {
        let windows = self.ceilings.get(&account).map(|it| it.windows);
        let windows = windows.unwrap_or_default();
        let today = at.div_euclid(DAY);
        let spent = |counts: &dyn Fn(i64) -> bool| -> i64 {
            let of_account = self
                .daily_usage
                .iter()
                .filter(|((id, day, _), _)| *id == account && counts(*day));
            of_account.map(|(_, (_, _, spent))| spent).sum()
        };
        let in_day = match windows.day >= today {
            true => spent(&|day| day >= windows.day),
            false => 0,
        };
        let in_month = match windows.month >= month(today) {
            true => spent(&|day| month(day) >= windows.month),
            false => 0,
        };
        let (reserved, live) = (self.reserved(account), self.live(account) as i64);
        for (used, most, what) in [
            (in_day + reserved, limits.daily, "used in a day"),
            (in_month + reserved, limits.monthly, "used in a month"),
            (live, limits.live, "live jobs"),
        ] {
            if most.is_some_and(|most| used > most) {
                self.fault(format!(
                    "account {account} has {used} {what}, but its limit is {most:?}"
                ));
            }
        }
    }

    fn ceiling_written(&mut self, account: AccountId, record: &Account) {
        let limits = read(record);
        let ceiling = self.ceilings.entry(account).or_default();
        let before = ceiling.limits;
        if limits != before {
            let asked = ceiling.asked.take();
            ceiling.limits = limits;
            self.audited_changes
                .insert((Action::AccountChange.as_str(), account.0));
            self.count("accounts given limits");
            self.ceiling_changed(account, limits);
            if asked != Some(limits) {
                self.fault(format!(
                    "account {account} has limits {limits:?}, requested were {asked:?}"
                ));
            }
        }
        let counts = limits.daily.is_some() || limits.monthly.is_some();
        let total = record.spending.map(|it| millionths(it.total));
        let charged = millionths(record.balances.charged);
        if total != counts.then_some(charged) {
            self.fault(format!(
                "account {account} was charged {charged}, counted for {limits:?} is {total:?}"
            ));
        }
    }
}

fn read(account: &Account) -> Limits {
    let limits = &account.limits;
    Limits {
        total: None,
        monthly: limits.spend_per_month.map(millionths),
        daily: limits.spend_per_day.map(millionths),
        live: limits.max_concurrent.map(i64::from),
    }
}
