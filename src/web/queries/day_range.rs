//! Parses a range of UTC days.

use crate::web::problem::FieldFault;
use std::ops::RangeInclusive;
use tintype_storage::domain::time::Timestamp;

/// Days of a range without `from`.
const DEFAULT_DAYS: i64 = 30;
const MAX_DAYS: i64 = 366;

/// The parameters `from` and `to`, both inclusive, as days since 1970.
#[derive(Default)]
pub struct DayRange {
    from: Option<i64>,
    to: Option<i64>,
}

impl DayRange {
    pub const NAMES: [&'static str; 2] = ["from", "to"];

    /// Takes the parameter `from` or `to`.
    pub fn take(&mut self, name: &str, value: &str) -> Result<(), FieldFault> {
        let midnight = Timestamp::parse(&format!("{value}T00:00:00Z"));
        let fault = || FieldFault::new(name, "must be a date, such as 2030-01-31");
        let day = midnight.ok_or_else(fault)?.day();
        match name {
            "from" => self.from = Some(day),
            _ => self.to = Some(day),
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.from.is_none() && self.to.is_none()
    }

    /// Without `to`, the range ends today.
    pub fn days(&self, today: i64) -> Result<RangeInclusive<i64>, FieldFault> {
        let last = self.to.unwrap_or(today);
        let default = (last - DEFAULT_DAYS + 1).max(0);
        let first = self.from.unwrap_or(default);
        if first > last {
            let message = "must not be after the last day";
            return Err(FieldFault::new("from", message));
        }
        if last - first >= MAX_DAYS {
            let message = format!("must be at most {MAX_DAYS} days before the end of the last day");
            return Err(FieldFault::new("from", message));
        }
        Ok(first..=last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: Option<&str>, to: Option<&str>) -> Result<RangeInclusive<i64>, FieldFault> {
        let mut range = DayRange::default();
        for (name, value) in [("from", from), ("to", to)] {
            if let Some(value) = value {
                range.take(name, value)?;
            }
        }
        range.days(1_000)
    }

    #[test]
    fn a_range_has_both_days_and_defaults_to_the_last_thirty() {
        assert_eq!(range(None, None).unwrap(), 971..=1_000);
        assert_eq!(range(None, Some("1970-02-10")).unwrap(), 11..=40);
        assert_eq!(range(None, Some("1970-01-03")).unwrap(), 0..=2);
        assert_eq!(range(Some("1972-09-26"), None).unwrap(), 999..=1_000);
        let month = range(Some("1972-02-01"), Some("1972-02-29")).unwrap();
        assert_eq!(month.count(), 29);
    }

    #[test]
    fn a_range_is_at_most_a_leap_year_and_not_reversed() {
        let year = range(Some("1972-01-01"), Some("1972-12-31")).unwrap();
        assert_eq!(year.count(), 366);
        for (from, to, field) in [
            ("1972-01-01", "1973-01-01", "from"),
            ("1972-01-02", "1972-01-01", "from"),
            ("1972-02-30", "1972-03-01", "from"),
            ("1972-01-01", "1972-01-01T00:00:00Z", "to"),
            ("1972-01-01", "", "to"),
        ] {
            assert_eq!(range(Some(from), Some(to)).unwrap_err().field, field);
        }
    }
}
