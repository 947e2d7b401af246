//! API keys: the texts that open the door, and what may be spent with them.

use super::Model;
use super::records::millionths;
use std::collections::BTreeMap;
use tintype_storage::domain::api_key::{ApiKey, KeyHash};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::ids::{AccountId, KeyId};

/// The hash of a text.
pub type Text = [u8; 32];

/// What a key or an account may spend, in all, in a month and in a day, and how many live jobs it may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    pub total: Option<i64>,
    pub monthly: Option<i64>,
    pub daily: Option<i64>,
    pub live: Option<i64>,
}

impl Limits {
    /// The looser of each two.
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
    /// The stricter of each two.
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

/// A key as its records say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyState {
    pub account: AccountId,
    pub text: Text,
    pub active: bool,
    pub limits: Limits,
    /// Earlier texts, with the moments from which they open nothing.
    pub earlier: Vec<(Text, i64)>,
}

/// What the operator does to a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyChange {
    Limits(Limits),
    Active(bool),
    /// The old text is valid for so long, or no longer, and no older one either.
    Rotates {
        text: Text,
        overlap: Option<i64>,
        at: i64,
    },
}

/// All keys, and what is being done to them.
#[derive(Default)]
pub struct KeyStates {
    key_states: BTreeMap<KeyId, KeyState>,
    /// All texts that a key ever had, oldest first.
    texts: BTreeMap<KeyId, Vec<Text>>,
    /// Where earlier texts are found by.
    earlier: BTreeMap<Text, KeyId>,
    asked: BTreeMap<KeyId, KeyChange>,
}

/// The records of one commit that are about keys.
#[derive(Default)]
pub struct Step {
    pub by_text: BTreeMap<Text, Option<ApiKey>>,
    pub by_id: BTreeMap<KeyId, Option<KeyHash>>,
    pub of_account: BTreeMap<(AccountId, KeyId), Option<KeyHash>>,
    pub earlier: BTreeMap<Text, Option<KeyId>>,
}

impl KeyStates {
    /// A key is there from the beginning.
    pub fn add(&mut self, key: KeyId, key_state: KeyState) {
        self.texts.insert(key, vec![key_state.text]);
        self.key_states.insert(key, key_state);
    }

    pub fn texts(&self, key: KeyId) -> &[Text] {
        self.texts.get(&key).map_or(&[], Vec::as_slice)
    }

    /// What a text opens at a moment.
    pub fn opened_by(&self, text: &Text, now: i64) -> Option<(KeyId, Limits)> {
        let opens = |key_state: &&KeyState| {
            let earlier = key_state
                .earlier
                .iter()
                .any(|(it, until)| it == text && now < *until);
            key_state.active && (key_state.text == *text || earlier)
        };
        let found = self
            .key_states
            .iter()
            .find(|(_, key_state)| opens(key_state));
        found.map(|(key, key_state)| (*key, key_state.limits))
    }

    /// Is this the text that the key has now?
    pub fn is_current(&self, key: KeyId, text: &Text) -> bool {
        self.key_states
            .get(&key)
            .is_some_and(|key_state| key_state.text == *text)
    }

    /// The loosest limits under which a job may be accepted in a commit that changes keys so; `None` where the key is not
    /// active before it nor after.
    pub fn terms_in(&self, key: KeyId, step: &Step) -> Option<Limits> {
        let changed = step.by_text.values().flatten().find(|it| it.id == key);
        let after = changed.map(|it| KeyState::read(it, [0; 32]));
        let key_states = [self.key_states.get(&key).cloned(), after];
        let open = key_states
            .into_iter()
            .flatten()
            .filter(|key_state| key_state.active);
        open.map(|key_state| key_state.limits)
            .reduce(Limits::or_looser)
    }

    /// The operator asks for a change. One at a time: they take turns.
    pub fn ask(&mut self, key: KeyId, change: KeyChange) {
        self.asked.insert(key, change);
    }

    pub fn life_begins(&mut self) {
        self.asked.clear();
    }
}

impl KeyState {
    fn after(&self, change: KeyChange) -> Self {
        let mut key_state = self.clone();
        match change {
            KeyChange::Limits(limits) => key_state.limits = limits,
            KeyChange::Active(active) => key_state.active = active,
            KeyChange::Rotates { text, overlap, at } => {
                key_state
                    .earlier
                    .retain(|(_, until)| overlap.is_some() && at < *until);
                key_state
                    .earlier
                    .extend(overlap.map(|overlap| (self.text, at + overlap)));
                key_state.text = text;
            }
        }
        key_state
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
    /// A key's records are changed: all that lead to it, and to just what was asked for.
    pub(super) fn keys_step(&mut self, mut step: Step) {
        let written: Vec<(Text, ApiKey)> = step
            .by_text
            .iter()
            .filter_map(|(text, key)| Some((*text, key.clone()?)))
            .collect();
        for (text, key) in written {
            let (id, key_states) = (key.id, &mut self.key_states);
            let before = key_states.key_states.get(&id).cloned();
            let Some((before, change)) = before.zip(key_states.asked.remove(&id)) else {
                self.fault(format!("nobody asked for key {id} to become {key:?}"));
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
            key_states.key_states.insert(id, expected);
            if !whole {
                self.fault(format!(
                    "key {id} was {before:?}, then came {change:?}: {key:?}"
                ));
            }
            self.may_spend(id, limits);
            self.key_changed(id, limits);
            let action = match change {
                KeyChange::Rotates { .. } => Action::KeyRotate,
                KeyChange::Limits(_) | KeyChange::Active(_) => Action::KeyChange,
            };
            self.count(match change {
                KeyChange::Rotates { .. } => "keys rotated",
                KeyChange::Limits(_) => "keys given limits",
                KeyChange::Active(true) => "keys switched on",
                KeyChange::Active(false) => "keys switched off",
            });
            self.audited_changes.insert((action.word(), id.0));
        }
        let Step {
            by_text,
            by_id,
            of_account,
            earlier,
        } = step;
        let left = by_text.len() + by_id.len() + of_account.len() + earlier.len();
        if left > 0 {
            self.fault(format!("{left} records lead to keys that were not changed"));
        }
    }
}
