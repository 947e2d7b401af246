//! API keys that were used lately, so that a call costs one hash and one look into memory; and when they were.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::{self, ApiKey, KeyHash, KeyRefusal, RateLimit};
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{BeforeJobs, Store, StoreError};

/// Keys that are remembered; when there are more, all are looked up anew.
const CAPACITY: usize = 100_000;

/// A copy of some of the store's keys, and of whether their accounts are switched on and how often they may call. What changes any of it must have it forgotten
/// here, once that is on the disk.
///
/// Where several nodes share the store, another node may change a key at any moment. Each call reads the key then, and what is
/// remembered says only of which account it is.
#[derive(Default)]
pub struct ApiKeyCache {
    state: RwLock<State>,
    is_shared: bool,
}

/// What a call needs of its key, where several nodes share the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The key as it is now.
    Key,
    /// The same with what a call that asks for jobs is checked against.
    BeforeJobs,
    /// What is remembered of the key: a decision that reads it anew has the last word.
    Nothing,
}

#[derive(Default)]
struct State {
    keys: HashMap<KeyHash, Found>,
    /// Rises when a key is forgotten, so that nobody puts back what was read before that.
    forgotten: u64,
    /// Of every key that was found since the start.
    uses: HashMap<KeyId, Arc<LastUse>>,
}

/// A key that a text has opened.
#[derive(Clone)]
pub struct Found {
    /// What is known about it.
    pub key: Arc<ApiKey>,
    /// SHA-256 of the text.
    pub hash: KeyHash,
    account_is_active: bool,
    /// How often all keys of the account may call.
    pub account_rate_limit: Option<RateLimit>,
    /// The text has been replaced and ends then.
    until: Option<Timestamp>,
    last_use: Arc<LastUse>,
    /// What was read with the key.
    pub before_jobs: Option<Arc<BeforeJobs>>,
    /// Another node may have changed the key since it was read.
    pub is_remembered: bool,
}

/// When a key was last used, in milliseconds: as it happened, and as far as it has been written down.
#[derive(Default)]
struct LastUse {
    seen: AtomicI64,
    written: AtomicI64,
}

impl Found {
    /// May it be used at `now`?
    pub fn admit(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        self.key.admit(self.account_is_active, now)
    }

    /// Notes that the key was used. Costs no lock and no write.
    pub fn note_use(&self, now: Timestamp) {
        self.last_use
            .seen
            .fetch_max(now.millis(), Ordering::Relaxed);
    }

    fn is_like(&self, other: &Self) -> bool {
        let what = |it: &Self| (it.account_is_active, it.account_rate_limit, it.until);
        self.key == other.key && what(self) == what(other)
    }

    fn if_open(self, now: Timestamp) -> Option<Self> {
        let is_open = self.until.is_none_or(|until| now < until);
        is_open.then_some(self)
    }
}

impl ApiKeyCache {
    /// `is_shared`: several nodes share the store.
    pub fn new(is_shared: bool) -> Self {
        Self {
            is_shared,
            ..Self::default()
        }
    }

    /// The key that this text opens; `None` when it is malformed, not known, or was replaced and has ended.
    pub async fn find(
        &self,
        store: &Store,
        text: &str,
        now: Timestamp,
        reading: Reading,
    ) -> Result<Option<Found>, StoreError> {
        let hash = api_key::hash(text);
        let (known, forgotten) = {
            let state = self.state.read();
            (state.keys.get(&hash).cloned(), state.forgotten)
        };
        match known {
            Some(found) if self.is_shared && reading == Reading::Nothing => {
                return Ok(found.if_open(now).map(|found| Found {
                    is_remembered: true,
                    ..found
                }));
            }
            Some(found) if self.is_shared => {
                let account = found.key.account;
                let read = store.key_with_account(&hash, account, reading == Reading::BeforeJobs);
                let read = read.await?;
                // Otherwise the text is an earlier one of the key by now, or the key is gone.
                if let Some(key) = read.key {
                    let now = self.found(key, hash, None, read.account);
                    if !now.is_like(&found) {
                        self.remember(now.clone(), forgotten);
                    }
                    let before_jobs = read.before_jobs.map(Arc::new);
                    return Ok(Some(Found { before_jobs, ..now }));
                }
            }
            Some(found) => return Ok(found.if_open(now)),
            None if !api_key::is_well_formed(text) => return Ok(None),
            None => {}
        }
        let Some((key, until)) = store.key_by_text_hash(&hash, now).await? else {
            return Ok(None);
        };
        let account = store.account(key.account).await?;
        let found = self.found(key, hash, until, account);
        self.remember(found.clone(), forgotten);
        Ok(Some(found))
    }

    /// Remembers what was read when this many keys had been forgotten.
    fn remember(&self, found: Found, forgotten: u64) {
        let mut state = self.state.write();
        if state.forgotten == forgotten {
            if state.keys.len() >= CAPACITY {
                state.keys.clear();
            }
            state.keys.insert(found.hash, found);
        }
    }

    fn found(
        &self,
        key: ApiKey,
        hash: KeyHash,
        until: Option<Timestamp>,
        account: Option<Account>,
    ) -> Found {
        let known = self.state.read().uses.get(&key.id).cloned();
        let last_use =
            known.unwrap_or_else(|| Arc::clone(self.state.write().uses.entry(key.id).or_default()));
        Found {
            // That an account is gone is told where it is asked for.
            account_is_active: account.as_ref().is_none_or(|it| it.active),
            account_rate_limit: account.and_then(|it| it.limits.rate_limit),
            last_use,
            key: Arc::new(key),
            hash,
            until,
            before_jobs: None,
            is_remembered: false,
        }
    }

    /// Forgets a key that was changed or removed, as it was before: its text and those that it had earlier.
    pub fn forget(&self, hash: &KeyHash, key: &ApiKey) {
        let mut state = self.state.write();
        state.forgotten += 1;
        state.keys.remove(hash);
        for retired in &key.retired {
            state.keys.remove(&retired.hash);
        }
    }

    /// Forgets all keys of an account that was changed.
    pub fn forget_account(&self, account: AccountId) {
        let mut state = self.state.write();
        state.forgotten += 1;
        state.keys.retain(|_, found| found.key.account != account);
    }

    /// Forgets also when a key was used: it is no more.
    pub fn forget_use(&self, id: KeyId) {
        self.state.write().uses.remove(&id);
    }

    /// When a key was last used since the start.
    pub fn last_use(&self, id: KeyId) -> Option<Timestamp> {
        let state = self.state.read();
        let seen = state.uses.get(&id)?.seen.load(Ordering::Relaxed);
        (seen > 0).then(|| Timestamp::from_millis(seen))
    }

    /// Up to `limit` uses that are not written down yet.
    pub fn unwritten_uses(&self, limit: usize) -> Vec<(KeyId, Timestamp)> {
        let state = self.state.read();
        let unwritten = state.uses.iter().filter_map(|(id, it)| {
            let seen = it.seen.load(Ordering::Relaxed);
            let is_new = seen > it.written.load(Ordering::Relaxed);
            is_new.then(|| (*id, Timestamp::from_millis(seen)))
        });
        unwritten.take(limit).collect()
    }

    /// These uses are on the disk.
    pub fn uses_written(&self, uses: &[(KeyId, Timestamp)]) {
        let state = self.state.read();
        for (id, at) in uses {
            if let Some(it) = state.uses.get(id) {
                it.written.fetch_max(at.millis(), Ordering::Relaxed);
            }
        }
    }
}
