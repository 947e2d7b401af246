//! What a key has spent, in all and in the day and month at hand, and whether one more price is within its limits.
//!
//! Days and months are those of UTC. A price counts for the day on which its job ends; what is held counts always, since it may
//! be charged at any moment: so no day and no month is ever charged more than its limit, whenever jobs end. That holds under a
//! clock that is set back as well, for no job ends before the day on which it was accepted.

use super::amount::{Amount, AmountError};
use super::time::Timestamp;
use chrono::Datelike as _;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a limit is counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// The key's whole life.
    Total,
    /// A calendar month of UTC.
    Month,
    /// A day of UTC.
    Day,
}

impl Period {
    const ALL: [Self; 3] = [Self::Total, Self::Month, Self::Day];

    /// Which day or month `at` belongs to: numbers that rise.
    fn number(self, at: Timestamp) -> i64 {
        match self {
            Self::Total => 0,
            Self::Month => {
                let date = at.to_datetime();
                i64::from(date.year()) * 12 + i64::from(date.month0())
            }
            Self::Day => at.day(),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Total => "in total",
            Self::Month => "a month (UTC)",
            Self::Day => "a day (UTC)",
        })
    }
}

/// The most that a key may spend; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendLimits {
    /// Over all its life.
    pub total: Option<Amount>,
    /// In a calendar month of UTC.
    pub monthly: Option<Amount>,
    /// In a day of UTC.
    pub daily: Option<Amount>,
}

/// One more price would pass a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the API key has a spend limit of {limit} {period}, of which {used} is spent or held; the price is {price}"
)]
pub struct LimitReached {
    pub period: Period,
    pub limit: Amount,
    /// Spent and held.
    pub used: Amount,
    pub price: Amount,
}

impl SpendLimits {
    /// Is there any limit at all?
    pub fn any(&self) -> bool {
        Period::ALL.iter().any(|period| self.of(*period).is_some())
    }

    fn of(&self, period: Period) -> Option<Amount> {
        match period {
            Period::Total => self.total,
            Period::Month => self.monthly,
            Period::Day => self.daily,
        }
    }

    /// May `price` be held besides what is spent and `held` already?
    pub fn check(
        &self,
        spending: &KeySpending,
        held: Amount,
        price: Amount,
        now: Timestamp,
    ) -> Result<(), LimitReached> {
        for period in Period::ALL {
            let Some(limit) = self.of(period) else {
                continue;
            };
            // A sum past what an amount can say is past every limit.
            let used = spending.within(period, now).plus(held).unwrap_or(limit);
            if !used.plus(price).is_ok_and(|sum| sum <= limit) {
                return Err(LimitReached {
                    period,
                    limit,
                    used,
                    price,
                });
            }
        }
        Ok(())
    }
}

/// What a key has spent: the charges of its jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySpending {
    /// Over all its life.
    pub total: Amount,
    month: Counted,
    day: Counted,
}

/// The newest day or month with a charge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counted {
    number: i64,
    spent: Amount,
}

impl Counted {
    fn charge(self, price: Amount, number: i64) -> Result<Self, AmountError> {
        // A clock that is set back begins no window anew: what counted already counts on.
        let spent = if self.number >= number {
            self.spent.plus(price)?
        } else {
            price
        };
        Ok(Self {
            number: self.number.max(number),
            spent,
        })
    }
}

impl KeySpending {
    /// What was spent in the day or month of `now`, or in all.
    pub fn within(&self, period: Period, now: Timestamp) -> Amount {
        let counted = match period {
            Period::Total => return self.total,
            Period::Month => self.month,
            Period::Day => self.day,
        };
        if counted.number >= period.number(now) {
            counted.spent
        } else {
            Amount::ZERO
        }
    }

    /// The spending with one more charge, of a job that ended at this moment.
    pub fn charge(&self, price: Amount, ended: Timestamp) -> Result<Self, AmountError> {
        Ok(Self {
            total: self.total.plus(price)?,
            month: self.month.charge(price, Period::Month.number(ended))?,
            day: self.day.charge(price, Period::Day.number(ended))?,
        })
    }

    /// What cannot be: a day that has spent more than its month, or a month more than there is in all.
    pub fn fault(&self) -> Option<String> {
        let rises = !self.day.spent.is_negative()
            && self.day.spent <= self.month.spent
            && self.month.spent <= self.total;
        (!rises).then(|| {
            format!(
                "spent {} in a day, {} in its month and {} in all",
                self.day.spent, self.month.spent, self.total
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    fn spent(charges: &[(&str, &str)]) -> KeySpending {
        charges
            .iter()
            .fold(KeySpending::default(), |spending, (moment, price)| {
                spending.charge(amount(price), at(moment)).unwrap()
            })
    }

    fn seen(spending: &KeySpending, now: &str) -> [String; 3] {
        Period::ALL.map(|period| spending.within(period, at(now)).to_string())
    }

    #[test]
    fn days_and_months_begin_at_midnight_utc() {
        let spending = spent(&[
            ("2026-11-30T23:59:59.999Z", "1"),
            ("2026-12-01T00:00:00Z", "2"),
            ("2026-12-01T01:30:00+02:00", "4"),
        ]);
        assert_eq!(
            seen(&spending, "2026-12-01T00:00:00Z"),
            ["7.00", "6.00", "6.00"]
        );
        assert_eq!(
            seen(&spending, "2026-12-02T00:00:00Z"),
            ["7.00", "6.00", "0.00"]
        );
        assert_eq!(
            seen(&spending, "2027-12-01T00:00:00Z"),
            ["7.00", "0.00", "0.00"]
        );
    }

    #[test]
    fn a_clock_that_is_set_back_opens_no_window_anew() {
        let spending = spent(&[("2026-12-01T00:00:00Z", "2"), ("2026-11-30T12:00:00Z", "1")]);
        assert_eq!(
            seen(&spending, "2026-11-30T12:00:00Z"),
            ["3.00", "3.00", "3.00"]
        );
        assert_eq!(
            seen(&spending, "2026-12-01T12:00:00Z"),
            ["3.00", "3.00", "3.00"]
        );
        assert_eq!(spending.fault(), None);
    }

    #[test]
    fn the_limit_that_is_reached_is_named() {
        let now = at("2026-12-01T12:00:00Z");
        let spending = spent(&[("2026-11-30T12:00:00Z", "4"), ("2026-12-01T11:00:00Z", "1")]);
        let limits = |total: &str, monthly: &str, daily: &str| SpendLimits {
            total: total.parse().ok(),
            monthly: monthly.parse().ok(),
            daily: daily.parse().ok(),
        };
        let check = |limits: SpendLimits| {
            let outcome = limits.check(&spending, amount("0.5"), amount("0.5"), now);
            outcome.err().map(|it| (it.period, it.used.to_string()))
        };
        assert_eq!(check(limits("6", "2", "2")), None);
        assert_eq!(check(SpendLimits::default()), None);
        assert_eq!(
            check(limits("5.99", "1", "1")),
            Some((Period::Total, "5.50".into()))
        );
        assert_eq!(
            check(limits("-", "1.99", "1")),
            Some((Period::Month, "1.50".into()))
        );
        assert_eq!(
            check(limits("6", "-", "1.99")),
            Some((Period::Day, "1.50".into()))
        );
    }
}
