//! The money of all accounts together.
//!
//! Summed over the accounts' records, so that it is what the store says and not what was counted beside it. That takes about a
//! microsecond for each account: a sum is told again until twenty times as long has passed as it took to make, so that however
//! many accounts there are, and however often somebody asks, it costs a twentieth of one core at most.

use super::exposition::Exposition;
use parking_lot::Mutex;
use std::fmt;
use std::time::{Duration, Instant};
use tintype_storage::domain::account::Account;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};

const SHARE: u32 = 20;

/// The last sums, for as long as they are told again.
#[derive(Default)]
pub struct LedgerTotals(Mutex<Option<Summed>>);

#[derive(Clone, Copy)]
struct Summed {
    totals: Totals,
    at: Instant,
    took: Duration,
}

/// Sums over all accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    accounts: u64,
    low: u64,
    balance: Millionths,
    reserved: Millionths,
    deposited: Millionths,
    charged: Millionths,
}

/// An amount of money that may pass what a single account can hold.
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
        let books = &account.balances;
        self.accounts += 1;
        self.low += u64::from(account.is_low());
        self.balance.0 += books.balance.millionths();
        self.reserved.0 += books.reserved.millionths();
        self.deposited.0 += books.deposited.millionths();
        self.charged.0 += books.charged.millionths();
    }
}

impl LedgerTotals {
    /// Tells them. May read all accounts, so it blocks.
    pub fn collect(
        &self,
        told: &mut Exposition,
        store: &Store,
        currency: &str,
    ) -> Result<(), StoreError> {
        let totals = self.current(store)?;
        told.gauge("tintype_accounts", "Accounts.")
            .value(&[], totals.accounts);
        told.gauge(
            "tintype_accounts_low_balance",
            "Accounts with less available than their low_balance.",
        )
        .value(&[], totals.low);
        let currency = [("currency", currency)];
        told.gauge(
            "tintype_ledger_balance",
            "Deposited and not yet charged, over all accounts.",
        )
        .value(&currency, totals.balance);
        told.gauge(
            "tintype_ledger_reserved",
            "Held for jobs that have not ended, over all accounts.",
        )
        .value(&currency, totals.reserved);
        told.gauge(
            "tintype_ledger_deposited",
            "All deposits ever, corrections taken off, over all accounts.",
        )
        .value(&currency, totals.deposited);
        told.counter(
            "tintype_ledger_charged_total",
            "All charges ever, over all accounts.",
        )
        .value(&currency, totals.charged);
        Ok(())
    }

    fn current(&self, store: &Store) -> Result<Totals, StoreError> {
        // Held while the sums are made: who comes meanwhile waits for them instead of making them too.
        let mut last = self.0.lock();
        if let Some(summed) = *last
            && still_holds(summed.at.elapsed(), summed.took)
        {
            return Ok(summed.totals);
        }
        let began = Instant::now();
        let mut totals = Totals::default();
        store
            .each_account(|account| {
                totals.add(&account);
                Ok(())
            })
            .wait()?;
        let at = Instant::now();
        *last = Some(Summed {
            totals,
            at,
            took: at - began,
        });
        Ok(totals)
    }
}

fn still_holds(age: Duration, took: Duration) -> bool {
    age < took * SHARE
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
        let books = Balances::default().deposit("999999999.123456".parse().unwrap());
        let books = books.unwrap().hold("0.000001".parse().unwrap()).unwrap();
        let account = Account {
            balances: books,
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

    #[test]
    fn making_sums_takes_a_twentieth_of_the_time_at_most() {
        let took = Duration::from_millis(50);
        assert!(still_holds(Duration::from_millis(999), took));
        assert!(!still_holds(Duration::from_millis(1_000), took));
    }
}
