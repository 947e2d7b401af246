//! The money of all accounts together.
//!
//! The totals are sums over the account records, so they show the store and not a separate counter. A scan takes about a
//! microsecond per account. A cache keeps the cost of scans below a twentieth of one core, for any number of accounts and scrapes.

use super::exposition::Exposition;
use crate::cost_cache::CostCache;
use parking_lot::Mutex;
use std::fmt;
use std::time::Instant;
use tintype_storage::domain::account::Account;
use tintype_storage::domain::amount::Amount;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};

/// The cached totals.
#[derive(Default)]
pub struct LedgerTotals {
    cached: CostCache<(), Totals>,
    /// One scrape scans at a time.
    turn: Mutex<()>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    accounts: u64,
    low: u64,
    balance: Millionths,
    reserved: Millionths,
    deposited: Millionths,
    charged: Millionths,
    refunded: Millionths,
}

/// An amount of money that may exceed the range of a single account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Millionths(i128);

impl fmt::Display for Millionths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let value = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:06}", value / 1_000_000, value % 1_000_000)
    }
}

impl Totals {
    fn add(&mut self, account: &Account) {
        let balances = &account.balances;
        self.accounts += 1;
        self.low += u64::from(account.is_low());
        self.balance.0 += balances.balance.millionths();
        self.reserved.0 += balances.reserved.millionths();
        self.deposited.0 += balances.deposited.millionths();
        self.charged.0 += balances.charged.millionths();
    }
}

impl LedgerTotals {
    /// Blocking: it may read all accounts.
    pub fn collect(
        &self,
        out: &mut Exposition,
        store: &Store,
        currency: &str,
    ) -> Result<(), StoreError> {
        let totals = self.current(store)?;
        out.gauge("tintype_accounts", "Accounts.")
            .value(&[], totals.accounts);
        out.gauge(
            "tintype_accounts_low_balance",
            "Accounts with less available than their low_balance.",
        )
        .value(&[], totals.low);
        let currency = [("currency", currency)];
        out.gauge(
            "tintype_ledger_balance",
            "Balance of all accounts: deposits minus charges.",
        )
        .value(&currency, totals.balance);
        out.gauge(
            "tintype_ledger_reserved",
            "Money of all accounts reserved for live jobs.",
        )
        .value(&currency, totals.reserved);
        out.gauge(
            "tintype_ledger_deposited",
            "Sum of all deposits and refunds, less corrections.",
        )
        .value(&currency, totals.deposited);
        out.gauge("tintype_ledger_refunded", "Sum of all refunds of jobs.")
            .value(&currency, totals.refunded);
        out.counter("tintype_ledger_charged_total", "Sum of all charges.")
            .value(&currency, totals.charged);
        Ok(())
    }

    fn current(&self, store: &Store) -> Result<Totals, StoreError> {
        // Concurrent scrapes wait for the result of the scan instead of scanning too.
        let _turn = self.turn.lock();
        if let Some(totals) = self.cached.get(&()) {
            return Ok(totals);
        }
        let began = Instant::now();
        let mut totals = Totals::default();
        store
            .each_account(|account| {
                totals.add(&account);
                Ok(())
            })
            .wait()?;
        let add_refunds = |refunded: Amount| totals.refunded.0 += refunded.millionths();
        store.each_account_refunds(add_refunds).wait()?;
        self.cached.put((), totals, began.elapsed());
        Ok(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        use tintype_storage::domain::ids::AccountId;
        use tintype_storage::domain::ledger::Balances;
        use tintype_storage::domain::time::Timestamp;
        let mut totals = Totals::default();
        let balances = Balances::default().deposit("999999999.123456".parse().unwrap());
        let balances = balances.unwrap().hold("0.000001".parse().unwrap()).unwrap();
        let account = Account {
            balances,
            ..Account::new(
                AccountId(uuid::Uuid::nil()),
                "a".into(),
                Timestamp::from_millis(0),
            )
        };
        (0..3).for_each(|_| totals.add(&account));
        assert_eq!((totals.accounts, totals.low), (3, 0));
        assert_eq!(totals.balance.to_string(), "2999999997.370368");
        assert_eq!(totals.reserved.to_string(), "0.000003");
        assert_eq!(Millionths(-1_500_000).to_string(), "-1.500000");
    }
}
