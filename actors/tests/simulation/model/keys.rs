//! API keys: their texts and their limits.

use super::Model;
use super::records::millionths;
use std::collections::BTreeMap;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, KeyId};

/// The hash of a text.
pub type Text = [u8; 32];

/// The limits of a key or an account: its spending in total, per month and per day, and its live jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub total: Option<i64>,
    pub monthly: Option<i64>,
    pub daily: Option<i64>,
    pub live: Option<i64>,
}

impl Limits {
    /// The looser of each pair of limits.
    pub fn or_looser(self, other: Self) -> Self {
        let looser = |a: Option<i64>, b: Option<i64>| Some(a?.max(b?));
        Self {
            total: looser(self.total, other.total),
            monthly: looser(self.monthly, other.monthly),
            daily: looser(self.daily, other.daily),
            live: looser(self.live, other.live),
        }
    }
}

impl Limits {
    /// The stricter of each pair of limits.
    pub fn or_stricter(self, other: Self) -> Self {
        let stricter = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self {
            total: stricter(self.total, other.total),
            monthly: stricter(self.monthly, other.monthly),
            daily: stricter(self.daily, other.daily),
            live: stricter(self.live, other.live),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    pub account: AccountId,
    pub text: Text,
    pub active: bool,
    pub limits: Limits,
    /// Earlier texts, with the times of their expiry.
    pub earlier: Vec<(Text, i64)>,
}

#[derive(Clone, Copy, Debug)]
pub enum KeyChange {
    Limits(Limits),
    Active(bool),
    /// The old text stays valid for `overlap`. Without it, the old text and all earlier ones expire at once.
    Rotate {
        text: Text,
        overlap: Option<i64>,
        at: i64,
    },
}

/// All keys, and their changes in flight.
#[derive(Default)]
pub struct KeyStates {
    states: BTreeMap<KeyId, KeyState>,
    /// All texts that a key ever had, oldest first.
    texts: BTreeMap<KeyId, Vec<Text>>,
    /// The index of earlier texts.
    earlier: BTreeMap<Text, KeyId>,
    asked: BTreeMap<KeyId, KeyChange>,
}

/// The key changes of a commit.
#[derive(Default)]
pub struct Step {
    pub by_text: BTreeMap<Text, Option<ApiKey>>,
    pub by_id: BTreeMap<KeyId, Option<KeyHash>>,
    pub of_account: BTreeMap<(AccountId, KeyId), Option<KeyHash>>,
    pub earlier: BTreeMap<Text, Option<KeyId>>,
}

impl KeyStates {
    pub fn add(&mut self, key: KeyId, state: KeyState) {
        self.texts.insert(key, vec![state.text]);
        self.states.insert(key, state);
    }

    pub fn texts(&self, key: KeyId) -> &[Text] {
        self.texts.get(&key).map_or(&[], Vec::as_slice)
    }

    /// The key that a text authenticates at a given time.
    pub fn opened_by(&self, text: &Text, now: i64) -> Option<(KeyId, Limits)> {
        let opens = |state: &&KeyState| {
            let earlier = state
                .earlier
                .iter()
                .any(|(it, until)| it == text && now < *until);
            state.active && (state.text == *text || earlier)
        };
        let found = self.states.iter().find(|(_, state)| opens(state));
        found.map(|(key, state)| (*key, state.limits))
    }

    /// Is this the current text of the key?
    pub fn is_current(&self, key: KeyId, text: &Text) -> bool {
        self.states
            .get(&key)
            .is_some_and(|state| state.text == *text)
    }

    /// The loosest limits under which a commit with these key changes may accept a job; `None` if the key is active neither before nor
    /// after the commit.
    pub fn terms_in(&self, key: KeyId, step: &Step) -> Option<Limits> {
        let changed = step.by_text.values().flatten().find(|it| it.id == key);
        let after = changed.map(|it| KeyState::read(it, [0; 32]));
        let states = [self.states.get(&key).cloned(), after];
        let open = states.into_iter().flatten().filter(|state| state.active);
        open.map(|state| state.limits).reduce(Limits::or_looser)
    }

    /// The operator changes a key. There is one change at a time.
    pub fn ask(&mut self, key: KeyId, change: KeyChange) {
        self.asked.insert(key, change);
    }

    pub fn life_begins(&mut self) {
        self.asked.clear();
    }
}

impl KeyState {
    fn after(&self, change: KeyChange) -> Self {
        let mut state = self.clone();
        match change {
            KeyChange::Limits(limits) => state.limits = limits,
            KeyChange::Active(active) => state.active = active,
            KeyChange::Rotate { text, overlap, at } => {
                state
                    .earlier
                    .retain(|(_, until)| overlap.is_some() && at < *until);
                state
                    .earlier
                    .extend(overlap.map(|overlap| (self.text, at + overlap)));
                state.text = text;
            }
        }
        state
    }

    fn read(key: &ApiKey, text: Text) -> Self {
        let limit = |it: Option<_>| it.map(millionths);
        Self {
            account: key.account,
            text,
            active: key.active,
            limits: Limits {
                total: limit(key.spend_limit),
                monthly: limit(key.spend_limit_monthly),
                daily: limit(key.spend_limit_daily),
                live: key.max_concurrent.map(i64::from),
            },
            earlier: key
                .retired
                .iter()
                .map(|it| (it.hash.0, it.until.millis()))
                .collect(),
        }
    }
}

impl Model {
    /// Checks that a key and its indexes change as the operator requested.
    pub(super) fn keys_step(&mut self, mut step: Step) {
        let written: Vec<(Text, ApiKey)> = step
            .by_text
            .iter()
            .filter_map(|(text, key)| Some((*text, key.clone()?)))
            .collect();
        for (text, key) in written {
            let (id, key_states) = (key.id, &mut self.key_states);
            let before = key_states.states.get(&id).cloned();
            let Some((before, change)) = before.zip(key_states.asked.remove(&id)) else {
                self.fault(format!("no request explains that key {id} becomes {key:?}"));
                continue;
            };
            let expected = before.after(change);
            step.by_text.remove(&text);
            let mut whole = KeyState::read(&key, text) == expected;
            if before.text != expected.text {
                whole &= step.by_text.remove(&before.text) == Some(None);
            }
            let leads = Some(Some(KeyHash(text)));
            whole &= step.by_id.remove(&id) == leads;
            whole &= step.of_account.remove(&(expected.account, id)) == leads;
            for (text, of) in std::mem::take(&mut step.earlier) {
                match of {
                    Some(of) => drop(key_states.earlier.insert(text, of)),
                    None => drop(key_states.earlier.remove(&text)),
                }
            }
            let mut found: Vec<Text> = expected.earlier.iter().map(|(text, _)| *text).collect();
            found.sort_unstable();
            let of_this = key_states.earlier.iter().filter(|(_, of)| **of == id);
            whole &= of_this.map(|(text, _)| *text).eq(found);
            if before.text != expected.text {
                key_states.texts.entry(id).or_default().push(expected.text);
            }
            let limits = expected.limits;
            key_states.states.insert(id, expected);
            if !whole {
                self.fault(format!(
                    "the change {change:?} of key {id} from {before:?} is recorded as {key:?}"
                ));
            }
            self.may_spend(id, limits);
            self.key_changed(id, limits);
            let action = match change {
                KeyChange::Rotate { .. } => Action::KeyRotate,
                KeyChange::Limits(_) | KeyChange::Active(_) => Action::KeyChange,
            };
            self.count(match change {
                KeyChange::Rotate { .. } => "keys rotated",
                KeyChange::Limits(_) => "keys given limits",
                KeyChange::Active(true) => "keys switched on",
                KeyChange::Active(false) => "keys switched off",
            });
            self.audited_changes.insert((action.as_str(), id.0));
        }
        let Step {
            by_text,
            by_id,
            of_account,
            earlier,
        } = step;
        let left = by_text.len() + by_id.len() + of_account.len() + earlier.len();
        if left > 0 {
            self.fault(format!(
                "{left} index entries were changed without their key"
            ));
        }
    }
}
