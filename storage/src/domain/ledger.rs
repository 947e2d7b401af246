//! The balances of an account: hold, settle, release, deposit, and their invariants.

use super::amount::{Amount, AmountError};
use super::ids::{JobId, TransactionId};
use super::named_enum::named_enum;
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Every step keeps `0 <= reserved <= balance` and `deposited - charged = balance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Balances {
    /// Deposited and not yet charged.
    pub balance: Amount,
    /// Held for jobs that are not terminal.
    pub reserved: Amount,
    /// Sum of all deposits and adjustments.
    pub deposited: Amount,
    /// Sum of all charges.
    pub charged: Amount,
}

/// Why a step was refused. The balances stay unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    #[error("the available balance does not cover the price")]
    Insufficient {
        available: Amount,
        /// For jobs that have not ended.
        reserved: Amount,
        price: Amount,
    },
    /// A correction would withdraw money that is held for jobs.
    #[error("the balance may not fall below the reserved amount of {reserved}")]
    BelowReserved { reserved: Amount },
    /// The amount to settle or release exceeds the held amount: always a bug, never the caller's fault.
    #[error("cannot take {price} from a reservation of {reserved}")]
    NotHeld { reserved: Amount, price: Amount },
    /// A sum is out of an account's range.
    #[error("amount out of range: {0}")]
    Range(#[from] AmountError),
}

impl Balances {
    /// The amount that can be spent now.
    pub fn available(&self) -> Amount {
        self.balance.minus(self.reserved).unwrap_or(Amount::ZERO)
    }

    /// Reserves `price` for a job.
    pub fn hold(&self, price: Amount) -> Result<Self, LedgerError> {
        not_negative(price)?;
        if self.available() < price {
            return Err(LedgerError::Insufficient {
                available: self.available(),
                reserved: self.reserved,
                price,
            });
        }
        Ok(Self {
            reserved: self.reserved.plus(price)?,
            ..*self
        })
    }

    /// Charges a reserved price: `balance` and `reserved` both fall.
    pub fn settle(&self, price: Amount) -> Result<Self, LedgerError> {
        let released = self.release(price)?;
        Ok(Self {
            balance: self.balance.minus(price)?,
            charged: self.charged.plus(price)?,
            ..released
        })
    }

    /// Releases a reserved price.
    pub fn release(&self, price: Amount) -> Result<Self, LedgerError> {
        not_negative(price)?;
        if self.reserved < price {
            return Err(LedgerError::NotHeld {
                reserved: self.reserved,
                price,
            });
        }
        Ok(Self {
            reserved: self.reserved.minus(price)?,
            ..*self
        })
    }

    /// Adds a deposit, or a correction if `amount` is negative.
    pub fn deposit(&self, amount: Amount) -> Result<Self, LedgerError> {
        let balance = self.balance.plus(amount)?;
        if balance < self.reserved {
            return Err(LedgerError::BelowReserved {
                reserved: self.reserved,
            });
        }
        Ok(Self {
            balance,
            deposited: self.deposited.plus(amount)?,
            ..*self
        })
    }

    /// Describes the violated invariant, if one is violated.
    pub fn fault(&self) -> Option<String> {
        if self.reserved.is_negative() || self.reserved > self.balance {
            return Some(format!(
                "reserved {} is not between 0 and balance {}",
                self.reserved, self.balance
            ));
        }
        if self.deposited.minus(self.charged) != Ok(self.balance) {
            return Some(format!(
                "deposits {} minus charges {} do not equal balance {}",
                self.deposited, self.charged, self.balance
            ));
        }
        None
    }
}

/// A negative price would reverse every step.
fn not_negative(price: Amount) -> Result<(), AmountError> {
    if price.is_negative() {
        return Err(AmountError::Negative);
    }
    Ok(())
}

named_enum!(
    EntryKind {
        Deposit = "deposit",
        /// The charge for an image.
        Charge = "charge",
        /// A correction by the operator.
        Adjustment = "adjustment",
    }
);

/// Immutable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Rises with time.
    pub id: TransactionId,
    pub kind: EntryKind,
    /// Negative for a charge.
    pub amount: Amount,
    pub balance_after: Amount,
    /// The job that was charged, or refunded by a deposit.
    pub job: Option<JobId>,
    /// The operator's text, such as an invoice number.
    pub reference: Option<String>,
    pub created_at: Timestamp,
}

impl LedgerEntry {
    /// The job of a refund. `None` for every other entry.
    pub fn refunded_job(&self) -> Option<JobId> {
        self.job.filter(|_| self.kind == EntryKind::Deposit)
    }

    /// The first entry of an account that opens with money.
    pub fn opening(id: TransactionId, balance: Amount, at: Timestamp) -> Self {
        Self {
            id,
            kind: EntryKind::Deposit,
            amount: balance,
            balance_after: balance,
            job: None,
            reference: None,
            created_at: at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    fn balances_of(deposit: &str) -> Balances {
        Balances::default().deposit(amount(deposit)).unwrap()
    }

    #[test]
    fn hostile_39_exactly_the_price_suffices_and_one_unit_less_does_not() {
        let price = amount("0.039");
        assert_eq!(
            balances_of("0.039").hold(price).unwrap().available(),
            Amount::ZERO
        );
        assert!(matches!(
            balances_of("0.038999").hold(price),
            Err(LedgerError::Insufficient { .. })
        ));
    }

    #[test]
    fn hostile_41_settled_or_released_twice_is_refused() {
        let price = amount("0.1");
        let held = balances_of("1").hold(price).unwrap();
        for once in [held.settle(price).unwrap(), held.release(price).unwrap()] {
            assert!(matches!(
                once.settle(price),
                Err(LedgerError::NotHeld { .. })
            ));
            assert!(matches!(
                once.release(price),
                Err(LedgerError::NotHeld { .. })
            ));
        }
    }

    #[test]
    fn hostile_42_a_failed_job_releases_its_whole_hold() {
        let before = balances_of("0.3");
        assert_eq!(
            before
                .hold(amount("0.1"))
                .unwrap()
                .release(amount("0.1"))
                .unwrap(),
            before
        );
    }

    #[test]
    fn a_negative_price_is_rejected() {
        let held = balances_of("1").hold(amount("0.5")).unwrap();
        let refused = Err(LedgerError::Range(AmountError::Negative));
        for price in [amount("-0.000001"), amount("-0.5")] {
            assert_eq!(held.hold(price), refused);
            assert_eq!(held.release(price), refused);
            assert_eq!(held.settle(price), refused);
        }
    }

    #[test]
    fn a_correction_never_takes_reserved_money() {
        let held = balances_of("1").hold(amount("0.4")).unwrap();
        assert_eq!(
            held.deposit(amount("-0.6")).unwrap().available(),
            Amount::ZERO
        );
        assert_eq!(
            held.deposit(amount("-0.600001")),
            Err(LedgerError::BelowReserved {
                reserved: amount("0.4")
            })
        );
    }

    proptest! {
        /// Hostile group 47: random steps agree with sums in plain integers.
        #[test]
        fn hostile_47_random_steps_agree_with_plain_integers(steps in prop::collection::vec((0u8..4, 0i64..500), 1..300)) {
            let (mut balances, mut balance, mut holds) = (Balances::default(), 0i64, Vec::new());
            for (step, size) in steps {
                let units = amount(&format!("0.{size:06}"));
                match step {
                    0 => { balances = balances.deposit(units).unwrap(); balance += size; }
                    1 => {
                        let affordable = balance - holds.iter().sum::<i64>() >= size;
                        prop_assert_eq!(balances.hold(units).is_ok(), affordable);
                        if affordable { balances = balances.hold(units).unwrap(); holds.push(size); }
                    }
                    _ => if let Some(held) = holds.pop() {
                        let price = amount(&format!("0.{held:06}"));
                        if step == 2 { balances = balances.settle(price).unwrap(); balance -= held } else { balances = balances.release(price).unwrap() }
                    }
                }
                prop_assert_eq!(balances.fault(), None);
                prop_assert_eq!(balances.balance, amount(&format!("{}.{:06}", balance / 1_000_000, balance % 1_000_000)));
            }
        }
    }
}
