//! Timestamps as the service writes them: RFC 3339, UTC, milliseconds.

use chrono::{DateTime, Datelike as _, TimeZone, Timelike as _, Utc};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(i64);

/// Milliseconds of a UTC day. Unix time has no leap seconds.
pub const DAY_MILLIS: i64 = 86_400_000;

/// The last timestamp in RFC 3339: 9999-12-31T23:59:59.999Z.
const LAST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z.
    pub const EPOCH: Self = Self(0);

    /// Milliseconds since the Unix epoch, clamped to the years 1970 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LAST))
    }

    /// Reads the system clock. The only place in this crate that does; domain functions take the time as an argument.
    pub fn now() -> Self {
        Self::from_millis(Utc::now().timestamp_millis())
    }

    pub fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the Unix epoch.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// Saturates at the last timestamp.
    pub fn plus(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// Saturates at the first timestamp.
    pub fn minus(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_sub(millis))
    }

    /// The UTC day, counted from 1970-01-01.
    pub fn day(self) -> i64 {
        self.0.div_euclid(DAY_MILLIS)
    }

    /// Midnight of a UTC day.
    pub fn of_day(day: i64) -> Self {
        Self::from_millis(day.saturating_mul(DAY_MILLIS))
    }

    /// The UTC date, such as 2026-11-18.
    pub fn date(self) -> String {
        self.to_datetime().format("%Y-%m-%d").to_string()
    }

    pub fn to_datetime(self) -> DateTime<Utc> {
        Utc.timestamp_millis_opt(self.0)
            .single()
            .unwrap_or(DateTime::UNIX_EPOCH)
    }

    /// In RFC 3339, as it is displayed: `2026-11-18T11:06:40.001Z`.
    pub fn to_ascii(self) -> [u8; 24] {
        // Digit by digit: every response has timestamps, and chrono's formatting takes several times as long.
        let millis = (self.0 % DAY_MILLIS) as u32;
        let seconds = millis / 1_000;
        let (year, month, day) = date_of(self.day() as u32);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, value: u32| {
            text[at] = b'0' + (value / 10 % 10) as u8;
            text[at + 1] = b'0' + (value % 10) as u8;
        };
        put(0, year / 100);
        put(2, year % 100);
        put(5, month);
        put(8, day);
        put(11, seconds / 3_600);
        put(14, seconds / 60 % 60);
        put(17, seconds % 60);
        put(20, millis % 1_000 / 10);
        // Overwrites the second of the three digits and adds the third.
        put(21, millis % 100);
        text
    }

    /// Reads an RFC 3339 date-time of any offset; fractions of a millisecond are dropped. A leap second becomes the second after it.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = DateTime::parse_from_rfc3339(text).ok()?;
        let millis = moment.timestamp_millis();
        let next = Utc.timestamp_millis_opt(millis).single()?;
        // The library accepts second 60 of every minute. Only the last minute of a UTC month can have it.
        let is_leap_second = moment.nanosecond() >= 1_000_000_000;
        let begins_month = next.day() == 1 && next.num_seconds_from_midnight() == 0;
        let is_valid = (0..=LAST).contains(&millis) && (!is_leap_second || begins_month);
        is_valid.then_some(Self(millis))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_ascii()).map_err(|_| fmt::Error)?)
    }
}

/// The year, month and day of the month of a day since 1970-01-01. Years begin in March here, so that a leap day is the last day of its
/// year.
fn date_of(day: u32) -> (u32, u32, u32) {
    const DAYS_OF_4_YEARS: u32 = 1_461;
    const DAYS_OF_400_YEARS: u32 = 146_097;
    // From 0000-03-01 to 1970-01-01.
    let day = day + 719_468;
    let (era, day) = (day / DAYS_OF_400_YEARS, day % DAYS_OF_400_YEARS);
    // Without the leap days of this era. The first century has one more than the others.
    let day_of_common =
        day - day / (DAYS_OF_4_YEARS - 1) + day / 36_524 - day / (DAYS_OF_400_YEARS - 1);
    let year = day_of_common / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months from March and from August have 153 days.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 400 * era + year;
    match month {
        0..10 => (year, month + 3, day),
        _ => (year + 1, month - 9, day),
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(moment: DateTime<Utc>) -> Self {
        Self::from_millis(moment.timestamp_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_written_in_utc_with_milliseconds_and_z() {
        assert_eq!(
            Timestamp::from_millis(0).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(1_795_000_000_001).to_string(),
            "2026-11-18T11:06:40.001Z"
        );
    }

    #[test]
    fn a_timestamp_is_written_as_the_library_writes_it() {
        let step = LAST / 9_973;
        let days = (0..=LAST).step_by(DAY_MILLIS as usize);
        for at in (0..=LAST).step_by(step as usize).chain(days) {
            let moment = Timestamp::from_millis(at);
            let written = moment.to_datetime();
            let written = written.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
            assert_eq!(moment.to_string(), written);
        }
    }

    #[test]
    fn timestamps_are_clamped_to_the_calendar() {
        assert_eq!(
            Timestamp::from_millis(i64::MIN).to_string(),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(i64::MAX).to_string(),
            "9999-12-31T23:59:59.999Z"
        );
        assert_eq!(
            Timestamp::from_millis(i64::MAX).plus(Duration::MAX),
            Timestamp::from_millis(LAST)
        );
    }

    #[test]
    fn a_day_begins_at_midnight_utc() {
        let last = Timestamp::parse("2026-11-17T23:59:59.999Z").unwrap();
        let first = Timestamp::parse("2026-11-18T00:00:00Z").unwrap();
        assert_eq!(first.day(), last.day() + 1);
        assert_eq!(Timestamp::of_day(first.day()), first);
        assert_eq!([last.date(), first.date()], ["2026-11-17", "2026-11-18"]);
        let day = Duration::from_millis(DAY_MILLIS as u64);
        assert_eq!(first.minus(day).date(), "2026-11-17");
        assert_eq!(first.minus(Duration::MAX), Timestamp::EPOCH);
    }

    #[test]
    fn a_date_with_any_offset_is_read() {
        assert_eq!(
            Timestamp::parse("2026-11-18T13:06:40.0019+02:00"),
            Some(Timestamp(1_795_000_000_001))
        );
        assert_eq!(Timestamp::parse("2026-11-18"), None);
    }

    #[test]
    fn a_leap_second_is_read_only_at_the_end_of_a_month() {
        let next = Timestamp::parse("2017-01-01T00:00:00.500Z");
        for leap_second in [
            "2016-12-31T23:59:60.5Z",
            "2016-12-31T15:59:60.5-08:00",
            "2017-01-01T05:29:60.5+05:30",
        ] {
            assert_eq!(Timestamp::parse(leap_second), next, "{leap_second}");
        }
        for invalid in [
            "2030-01-01T12:00:60Z",
            "2016-12-31T22:59:60Z",
            "2016-12-30T23:59:60Z",
            "2016-12-31T23:59:60+01:00",
            "2016-12-31T23:59:61Z",
        ] {
            assert_eq!(Timestamp::parse(invalid), None, "{invalid}");
        }
    }
}
