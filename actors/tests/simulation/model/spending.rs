//! The spending of keys in total, per month and per day, and its limits.

use super::jobs::JobEnd;
use super::money::DAY;
use super::records::millionths;
use super::{ChangedRecords, KeyState, Limits, Model};
use std::collections::BTreeMap;
use tintype_storage::domain::ids::KeyId;

/// The number of the calendar month of a day since 1970.
pub(super) fn month(day: i64) -> i64 {
    let leaps = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let (mut left, mut year) = (day, 1_970);
    loop {
        let february = if leaps(year) { 29 } else { 28 };
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in lengths.into_iter().enumerate() {
            if left < length {
                return year * 12 + month as i64;
            }
            left -= length;
        }
        year += 1;
    }
}

/// An accepted job, with the limits under which it was sent.
pub struct GrantedJob {
    pub key: KeyId,
    pub at: i64,
    pub limits: Limits,
}

/// The reserved and spent money of a key, and its loosest limits ever.
#[derive(Clone, Copy, Default)]
pub struct KeyMoney {
    loosest: Limits,
    pub held: i64,
    pub live: i64,
    pub spent: i64,
    windows: Windows,
}

/// The charges of the newest day and month with a charge.
#[derive(Clone, Copy, Default)]
pub(super) struct Windows {
    pub day: i64,
    pub spent_in_day: i64,
    pub month: i64,
    pub spent_in_month: i64,
}

impl Windows {
    pub fn charge(&mut self, at: i64, price: i64) {
        let day = at.div_euclid(DAY);
        charged(&mut self.day, &mut self.spent_in_day, day, price);
        charged(&mut self.month, &mut self.spent_in_month, month(day), price);
    }
}

/// Adds a charge to a day or month. A clock that is set back starts no new one.
fn charged(known: &mut i64, spent: &mut i64, number: i64, price: i64) {
    if *known < number {
        (*known, *spent) = (number, 0);
    }
    *spent += price;
}

impl Model {
    /// Adds a key before the scenario begins.
    pub fn key(&mut self, key: KeyId, key_state: KeyState) {
        let money = KeyMoney {
            loosest: key_state.limits,
            ..KeyMoney::default()
        };
        self.keys.insert(key, money);
        self.key_states.add(key, key_state);
    }

    pub(super) fn may_spend(&mut self, key: KeyId, limits: Limits) {
        let money = self.keys.entry(key).or_default();
        money.loosest = money.loosest.or_looser(limits);
    }

    pub fn used(&self, key: KeyId) -> i64 {
        self.keys.get(&key).map_or(0, |it| it.held + it.spent)
    }

    pub fn live_of_key(&self, key: KeyId) -> i64 {
        self.keys.get(&key).map_or(0, |it| it.live)
    }

    /// The most that may count as used by a key on one day.
    pub fn used_in_day(&self, key: KeyId) -> i64 {
        let money = self.keys.get(&key);
        money.map_or(0, |it| it.held + it.windows.spent_in_day)
    }

    /// The same in one month.
    pub fn used_in_month(&self, key: KeyId) -> i64 {
        let money = self.keys.get(&key);
        money.map_or(0, |it| it.held + it.windows.spent_in_month)
    }

    /// Checks the spending of keys against the jobs that this commit has finished.
    pub(super) fn spending_step(&mut self, changed: &ChangedRecords, ended: &[JobEnd]) {
        for done in ended.iter().filter(|it| it.done) {
            let money = self.keys.entry(done.key).or_default();
            money.windows.charge(done.at, done.price);
            let money = *money;
            for (spent, most, of) in [
                (money.windows.spent_in_day, money.loosest.daily, "day"),
                (money.windows.spent_in_month, money.loosest.monthly, "month"),
            ] {
                if most.is_some_and(|most| spent > most) {
                    self.fault(format!(
                        "a key has spent {spent} in a {of}, but its limit is {most:?}"
                    ));
                }
            }
            if !changed.spent.contains_key(&done.key) {
                self.fault("a charge is not in its key's spending".to_owned());
            }
        }
        for (key, record) in &changed.spent {
            let spent = self.keys.get(key).map_or(0, |it| it.spent);
            if record.map(|it| millionths(it.total)) != Some(spent) {
                self.fault(format!(
                    "a key has spent {spent}, its record says {record:?}"
                ));
            }
        }
    }

    /// Checks that the reservations of this commit are within their limits. Later events only lower the counted usage, and the last of
    /// several reservations must be within the loosest of their limits.
    pub(super) fn limits_step(&mut self) {
        let mut granted: BTreeMap<KeyId, (i64, Limits)> = BTreeMap::new();
        for GrantedJob { key, at, limits } in std::mem::take(&mut self.granted) {
            let of_key = granted.entry(key).or_insert((at, limits));
            *of_key = (of_key.0.max(at), of_key.1.or_looser(limits));
        }
        for (key, (at, limits)) in granted {
            let money = self.keys.get(&key).copied().unwrap_or_default();
            let day = at.div_euclid(DAY);
            let within =
                |known: i64, number: i64, spent: i64| if known >= number { spent } else { 0 };
            let windows = money.windows;
            let in_day = within(windows.day, day, windows.spent_in_day);
            let in_month = within(windows.month, month(day), windows.spent_in_month);
            if limits.live.is_some_and(|most| money.live > most) {
                self.fault(format!(
                    "a key has {} live jobs, but its limit is {:?}",
                    money.live, limits.live
                ));
            }
            for (spent, most, of) in [
                (money.spent, limits.total, "in all"),
                (in_month, limits.monthly, "in a month"),
                (in_day, limits.daily, "in a day"),
            ] {
                if most.is_some_and(|most| spent + money.held > most) {
                    self.fault(format!(
                        "a key has reserved {} and spent {spent} {of}, but its limit is {most:?}",
                        money.held
                    ));
                }
            }
        }
    }
}
