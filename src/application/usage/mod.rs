//! The usage of accounts by day, model and key, summed up from the daily records.

pub mod hourly;
pub mod list;

use crate::application::core::Core;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::daily_usage::{DailyUsage, UsageTotals};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{DailyUsageKey, StoreError};

/// Sums of the usage of one or many accounts. Days are in UTC and count from 1970.
#[derive(Default)]
pub struct Sums {
    pub total: UsageTotals,
    pub days: BTreeMap<i64, UsageTotals>,
    pub models: BTreeMap<(Tier, Resolution), UsageTotals>,
    pub day_models: BTreeMap<(i64, Tier), UsageTotals>,
    pub keys: BTreeMap<KeyId, UsageTotals>,
}

/// An account with its usage.
pub struct AccountUsage {
    pub id: AccountId,
    pub name: String,
    pub totals: UsageTotals,
}

/// The usage of an account, or of one of its keys. Blocks on reads of the store.
pub fn of_account(
    core: &Core,
    account: AccountId,
    key: Option<KeyId>,
    days: RangeInclusive<i64>,
) -> Result<Sums, StoreError> {
    let mut sums = Sums::default();
    let add = |at: DailyUsageKey, usage: DailyUsage| {
        if key.is_none_or(|it| it == at.key) {
            sums.add(&at, &usage);
        }
        Ok(())
    };
    core.store.each_daily_usage(account, days, add).wait()?;
    Ok(sums)
}

/// The usage of all accounts, and the accounts that have any, by descending spend. Blocks on reads of the store.
pub fn of_all_accounts(
    core: &Core,
    days: RangeInclusive<i64>,
) -> Result<(Sums, Vec<AccountUsage>), StoreError> {
    let mut sums = Sums::default();
    let mut accounts = Vec::new();
    let visit = |account: Account| {
        let mut totals = UsageTotals::default();
        let add = |at: DailyUsageKey, usage: DailyUsage| {
            sums.add(&at, &usage);
            totals.add(usage.totals());
            Ok(())
        };
        let days = days.clone();
        core.store.each_daily_usage(account.id, days, add).wait()?;
        if totals != UsageTotals::default() {
            let Account { id, name, .. } = account;
            accounts.push(AccountUsage { id, name, totals });
        }
        Ok(())
    };
    core.store.each_account(visit).wait()?;
    accounts.sort_by_key(|it| by_spend(&it.totals));
    Ok((sums, accounts))
}

/// The order of lists: by descending spend.
pub fn by_spend(totals: &UsageTotals) -> impl Ord + use<> {
    Reverse((totals.spent, totals.done))
}

impl Sums {
    fn add(&mut self, at: &DailyUsageKey, usage: &DailyUsage) {
        let totals = usage.totals();
        self.total.add(totals);
        self.days.entry(at.day).or_default().add(totals);
        self.keys.entry(at.key).or_default().add(totals);
        for it in &usage.models {
            let model = self.models.entry((it.tier, it.resolution));
            model.or_default().add(it.totals);
            let day_model = self.day_models.entry((at.day, it.tier));
            day_model.or_default().add(it.totals);
        }
    }
}
