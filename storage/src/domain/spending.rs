//! Spending of a key or an account: in total, in the current month and in the current day; and whether one more price is within
//! the limits.
//!
//! Days and months are UTC. A price counts on the day on which its job ends. Reserved prices always count, because they may be
//! charged at any time: so no day and no month is ever charged more than its limit.
//!
//! If the clock is set back after the first charge of a day, later charges count in that day, even with an earlier date. So the earlier day
//! may get more charges than its limit by date, but both days together never get more than two limits.

use super::amount::{Amount, AmountError};
use super::time::Timestamp;
use chrono::Datelike as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// The lifetime of the key.
    Total,
    /// A UTC calendar month.
    Month,
    /// A UTC day.
    Day,
}

impl Period {
    const ALL: [Self; 3] = [Self::Total, Self::Month, Self::Day];

    /// The number of the day or month of `at`. Numbers rise.
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

/// `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendLimits {
    /// Over the lifetime.
    pub total: Option<Amount>,
    /// Per UTC calendar month.
    pub monthly: Option<Amount>,
    /// Per UTC day.
    pub daily: Option<Amount>,
}

/// One more price would exceed a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a spend limit of {limit} {period} is reached")]
pub struct LimitReached {
    pub period: Period,
    pub limit: Amount,
    /// Spent and reserved.
    pub used: Amount,
    pub price: Amount,
}

impl SpendLimits {
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

    /// Refuses a `price` that does not fit together with the amounts spent and `held`.
    pub fn check(
        &self,
        spending: &Spending,
        held: Amount,
        price: Amount,
        now: Timestamp,
    ) -> Result<(), LimitReached> {
        for period in Period::ALL {
            let Some(limit) = self.of(period) else {
                continue;
            };
            // A sum out of range exceeds every limit.
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

/// The charges of a key's or an account's jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Over the lifetime.
    pub total: Amount,
    month: SpendingWindow,
    day: SpendingWindow,
}

/// The newest day or month with a charge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SpendingWindow {
    number: i64,
    spent: Amount,
}

impl SpendingWindow {
    fn charge(self, price: Amount, number: i64) -> Result<Self, AmountError> {
        // A clock set back starts no new window: counted charges stay counted.
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

impl Spending {
    /// Builds the spending from the charges per day, in ascending order of days.
    pub fn of_days(days: impl IntoIterator<Item = (i64, Amount)>) -> Result<Self, AmountError> {
        days.into_iter()
            .try_fold(Self::default(), |spending, (day, spent)| {
                spending.charge(spent, Timestamp::of_day(day))
            })
    }

    /// The amount spent in the period of `now`.
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

    /// Adds the charge of a job that ended at `ended`.
    pub fn charge(&self, price: Amount, ended: Timestamp) -> Result<Self, AmountError> {
        Ok(Self {
            total: self.total.plus(price)?,
            month: self.month.charge(price, Period::Month.number(ended))?,
            day: self.day.charge(price, Period::Day.number(ended))?,
        })
    }

    /// Describes how this differs from the account's charges, if it does. `in_order` sums the charges in order, `days` by day.
    /// The two differ only if the clock was set back; then every amount between them is accepted. `in_order` may then count a charge
    /// of a deleted job on an earlier day than `days`.
    pub fn differs_from(&self, in_order: &Self, days: &BTreeMap<i64, Amount>) -> Option<String> {
        if self.total != in_order.total {
            return Some(format!(
                "spent {} in all by its record, {} by its charges",
                self.total, in_order.total
            ));
        }
        let windows = [
            (Period::Month, self.month, in_order.month),
            (Period::Day, self.day, in_order.day),
        ];
        windows.into_iter().find_map(|(period, recorded, charged)| {
            let counts = |day: i64| period.number(Timestamp::of_day(day)) >= recorded.number;
            let of_days = days.iter().filter(|(day, _)| counts(**day));
            let least = of_days.fold(Amount::ZERO, |sum, (_, it)| sum.plus(*it).unwrap_or(sum));
            let most = charged.spent.max(least);
            let newest = days.keys().next_back();
            let newest = newest.map(|day| period.number(Timestamp::of_day(*day)));
            let is_newest = Some(recorded.number) == newest.max(Some(charged.number));
            let is_right = is_newest && (least..=most).contains(&recorded.spent);
            (!is_right).then(|| {
                format!(
                    "spent {} {period} by its record, {least} to {most} by its charges",
                    recorded.spent
                )
            })
        })
    }

    /// Describes an inconsistency: a day above its month, or a month above the total.
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

    fn spent(charges: &[(&str, &str)]) -> Spending {
        charges
            .iter()
            .fold(Spending::default(), |spending, (moment, price)| {
                spending.charge(amount(price), at(moment)).unwrap()
            })
    }

    fn seen(spending: &Spending, now: &str) -> [String; 3] {
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
    fn a_clock_that_is_set_back_does_not_reset_a_spending_window() {
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
    fn two_days_never_cost_more_than_two_limits_although_the_clock_is_set_back_between_them() {
        let limits = SpendLimits {
            daily: Some(amount("1")),
            ..SpendLimits::default()
        };
        let first_day = at("2026-11-30T23:59:00Z");
        let spending = spent(&[
            ("2026-11-30T23:00:00Z", "1"),
            ("2026-12-01T00:01:00Z", "0.4"),
        ]);
        let admits = |price: &str| {
            let outcome = limits.check(&spending, Amount::ZERO, amount(price), first_day);
            outcome.is_ok()
        };
        assert!(admits("0.6"));
        assert!(!admits("0.600001"));
    }

    #[test]
    fn a_day_above_its_month_or_a_month_above_the_total_is_a_fault() {
        let is_faulty = |[day, month, total]: [&str; 3]| {
            let window = |spent| SpendingWindow {
                number: 1,
                spent: amount(spent),
            };
            let spending = Spending {
                total: amount(total),
                month: window(month),
                day: window(day),
            };
            spending.fault().is_some()
        };
        assert!(!is_faulty(["0", "0", "0"]));
        assert!(!is_faulty(["1", "1", "1"]));
        assert!(is_faulty(["1.01", "1", "2"]));
        assert!(is_faulty(["1", "2.01", "2"]));
        assert!(is_faulty(["-0.01", "1", "2"]));
    }

    fn by_day(charges: &[(&str, &str)]) -> BTreeMap<i64, Amount> {
        let charges = charges.iter();
        charges
            .map(|(moment, price)| (at(moment).day(), amount(price)))
            .collect()
    }

    #[test]
    fn spending_by_day_equals_the_sum_of_the_charges() {
        let charges = [
            ("2026-11-30T00:00:00Z", "4"),
            ("2026-12-14T00:00:00Z", "2"),
            ("2026-12-15T00:00:00Z", "0.5"),
        ];
        let spending = Spending::of_days(by_day(&charges)).unwrap();
        assert_eq!(spending, spent(&charges));
        assert_eq!(
            seen(&spending, "2026-12-15T23:00:00Z"),
            ["6.50", "2.50", "0.50"]
        );
        assert_eq!(Spending::of_days([]), Ok(Spending::default()));
    }

    #[test]
    fn a_record_that_differs_from_its_charges_is_reported() {
        let charges = [("2026-12-14T00:00:00Z", "2"), ("2026-12-15T00:00:00Z", "1")];
        let in_order = spent(&charges);
        let differs = |record: &Spending| record.differs_from(&in_order, &by_day(&charges));
        assert_eq!(differs(&in_order), None);
        assert!(
            differs(&spent(&charges[..1]))
                .unwrap()
                .contains("spent 2.00 in all by its record, 3.00 by its charges")
        );
        let of_another_month =
            spent(&[("2026-11-14T00:00:00Z", "2"), ("2026-12-15T00:00:00Z", "1")]);
        assert_eq!(
            differs(&of_another_month).as_deref(),
            Some("spent 1.00 a month (UTC) by its record, 3.00 to 3.00 by its charges")
        );
        let of_one_day = spent(&[("2026-12-15T00:00:00Z", "3")]);
        assert_eq!(
            differs(&of_one_day).as_deref(),
            Some("spent 3.00 a day (UTC) by its record, 1.00 to 1.00 by its charges")
        );
    }

    #[test]
    fn a_clock_set_back_allows_amounts_between_the_two_sums() {
        let charges = [("2026-12-15T00:00:00Z", "1"), ("2026-12-14T00:00:00Z", "2")];
        let (in_order, days) = (spent(&charges), by_day(&charges));
        let of_days = Spending::of_days(days.clone()).unwrap();
        assert_ne!(of_days, in_order);
        assert_eq!(of_days.differs_from(&in_order, &days), None);
        assert_eq!(in_order.differs_from(&in_order, &days), None);
        let (record, counted_early) = (
            spent(&charges[..1]),
            spent(&[("2026-12-14T00:00:00Z", "1")]),
        );
        let of_day = by_day(&charges[..1]);
        assert_eq!(record.differs_from(&counted_early, &of_day), None);
        assert!(
            counted_early
                .differs_from(&counted_early, &of_day)
                .is_some()
        );
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
