//! Caches recently used API keys, so that authentication costs one hash and one map lookup. Records when each key was last used.

use ipnet::IpNet;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tintype_storage::domain::account::Account;
use tintype_storage::domain::api_key::{self, ApiKey, KeyHash, KeyRefusal, RateLimit};
use tintype_storage::domain::caller::CallerRefusal;
use tintype_storage::domain::ids::{AccountId, KeyId};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::fast_hash::HashMap;
use tintype_storage::store::{BeforeJobs, Store, StoreError};

/// A full cache is cleared.
const CAPACITY: usize = 100_000;

/// Caches keys with the active flag and the rate limit of their accounts. Code that changes any of these must invalidate the entry
/// here once the change is durable.
///
/// When several nodes share the store, another node may change a key at any time. A call then reads the key from the store, and
/// the cache only maps the hash to the account. [`ApiKeyCache::find_unchecked`] leaves this read to a later decision.
#[derive(Default)]
pub struct ApiKeyCache {
    state: RwLock<State>,
    is_cluster: bool,
}

/// What a call reads of its key when several nodes share the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    Key,
    /// The key, and the records that the checks of a job submission need.
    BeforeJobs,
}

#[derive(Default)]
struct State {
    keys: HashMap<KeyHash, FoundKey>,
    /// Rises with each invalidation, so that a reader does not cache a key that it read before.
    invalidations: u64,
    /// Every key that was found since the start. Clearing the cache keeps these.
    uses: HashMap<KeyId, Arc<LastUse>>,
}

/// A key that a caller presented.
#[derive(Clone)]
pub struct FoundKey {
    pub key: Arc<ApiKey>,
    /// SHA-256 of the presented text.
    pub hash: KeyHash,
    account_is_active: bool,
    /// The shared limit of all keys of the account.
    pub account_rate_limit: Option<RateLimit>,
    /// When a rotated text stops being valid.
    valid_until: Option<Timestamp>,
    last_use: Arc<LastUse>,
    pub before_jobs: Option<Arc<BeforeJobs>>,
}

/// When a key was last used, in milliseconds: in memory, and as stored.
#[derive(Default)]
struct LastUse {
    seen: AtomicI64,
    written: AtomicI64,
}

impl FoundKey {
    pub fn admit(&self, now: Timestamp) -> Result<(), KeyRefusal> {
        self.key.admit(self.account_is_active, now)
    }

    /// [`Self::admit`] for a client at this address, a range of one; `None` if unknown.
    pub fn admit_from(&self, address: Option<IpNet>, now: Timestamp) -> Result<(), CallerRefusal> {
        self.admit(now)?;
        let is_allowed =
            self.key.allowed_ips.is_empty() || address.is_some_and(|it| self.key.admits_from(it));
        is_allowed
            .then_some(())
            .ok_or(CallerRefusal::Address(address))
    }

    /// Records a use without a lock or a write.
    pub fn record_use(&self, now: Timestamp) {
        self.last_use
            .seen
            .fetch_max(now.millis(), Ordering::Relaxed);
    }

    fn has_same_terms(&self, other: &Self) -> bool {
        let fields = |it: &Self| (it.account_is_active, it.account_rate_limit, it.valid_until);
        self.key == other.key && fields(self) == fields(other)
    }

    fn if_valid(self, now: Timestamp) -> Option<Self> {
        let is_valid = self.valid_until.is_none_or(|until| now < until);
        is_valid.then_some(self)
    }
}

impl ApiKeyCache {
    /// `is_cluster`: several nodes share the store.
    pub fn new(is_cluster: bool) -> Self {
        Self {
            is_cluster,
            ..Self::default()
        }
    }

    /// The cached key of this text, which another node may have changed since; `None` if it is not cached, or if no other node shares
    /// the store.
    pub fn find_unchecked(&self, text: &str, now: Timestamp) -> Option<FoundKey> {
        if !self.is_cluster || !api_key::has_form(text) {
            return None;
        }
        let found = self.state.read().keys.get(&api_key::hash(text)).cloned();
        found?.if_valid(now)
    }

    /// Finds the key of this text; `None` if the text is malformed or unknown, or was rotated out and has expired.
    pub async fn find(
        &self,
        store: &Store,
        text: &str,
        now: Timestamp,
        reading: Reading,
    ) -> Result<Option<FoundKey>, StoreError> {
        if !api_key::has_form(text) {
            return Ok(None);
        }
        let hash = api_key::hash(text);
        self.find_presented(store, hash, Some(text), now, reading)
            .await
    }

    /// [`Self::find`] by the SHA-256 of a text that was well-formed.
    pub async fn find_by_hash(
        &self,
        store: &Store,
        hash: KeyHash,
        now: Timestamp,
        reading: Reading,
    ) -> Result<Option<FoundKey>, StoreError> {
        self.find_presented(store, hash, None, now, reading).await
    }

    /// `text`: unless it is known to be well-formed. The text of a cached key is.
    async fn find_presented(
        &self,
        store: &Store,
        hash: KeyHash,
        text: Option<&str>,
        now: Timestamp,
        reading: Reading,
    ) -> Result<Option<FoundKey>, StoreError> {
        let (known, invalidations) = {
            let state = self.state.read();
            (state.keys.get(&hash).cloned(), state.invalidations)
        };
        match known {
            Some(found) if self.is_cluster => {
                let account = found.key.account;
                let before_jobs_at = (reading == Reading::BeforeJobs).then_some(now);
                let read = store.key_with_account(&hash, account, before_jobs_at);
                let read = read.await?;
                // `None`: the key was rotated or deleted. The lookup below decides.
                if let Some(key) = read.key {
                    let now = self.to_found_key(key, hash, None, read.account);
                    if !now.has_same_terms(&found) {
                        self.insert(now.clone(), invalidations);
                    }
                    let before_jobs = read.before_jobs.map(Arc::new);
                    return Ok(Some(FoundKey { before_jobs, ..now }));
                }
            }
            Some(found) => return Ok(found.if_valid(now)),
            None if text.is_some_and(|it| !api_key::is_well_formed(it)) => return Ok(None),
            None => {}
        }
        let Some((key, until)) = store.key_by_text_hash(&hash, now).await? else {
            return Ok(None);
        };
        let account = store.account(key.account).await?;
        let found = self.to_found_key(key, hash, until, account);
        self.insert(found.clone(), invalidations);
        Ok(Some(found))
    }

    /// Caches a key, unless an invalidation came after the read that began at `invalidations`.
    fn insert(&self, found: FoundKey, invalidations: u64) {
        let mut state = self.state.write();
        if state.invalidations == invalidations {
            if state.keys.len() >= CAPACITY {
                state.keys.clear();
            }
            state.keys.insert(found.hash, found);
        }
    }

    fn to_found_key(
        &self,
        key: ApiKey,
        hash: KeyHash,
        until: Option<Timestamp>,
        account: Option<Account>,
    ) -> FoundKey {
        let known = self.state.read().uses.get(&key.id).cloned();
        let last_use =
            known.unwrap_or_else(|| Arc::clone(self.state.write().uses.entry(key.id).or_default()));
        FoundKey {
            // A later check reports a missing account.
            account_is_active: account.as_ref().is_none_or(|it| it.active),
            account_rate_limit: account.and_then(|it| it.limits.rate_limit),
            last_use,
            key: Arc::new(key),
            hash,
            valid_until: until,
            before_jobs: None,
        }
    }

    /// Invalidates a changed or deleted key: its current text and its retired ones.
    pub fn invalidate(&self, hash: &KeyHash, key: &ApiKey) {
        let mut state = self.state.write();
        state.invalidations += 1;
        state.keys.remove(hash);
        for retired in &key.retired {
            state.keys.remove(&retired.hash);
        }
    }

    /// Invalidates all keys of a changed account.
    pub fn invalidate_account(&self, account: AccountId) {
        let mut state = self.state.write();
        state.invalidations += 1;
        state.keys.retain(|_, found| found.key.account != account);
    }

    /// Drops the last use of a deleted key.
    pub fn remove_use(&self, id: KeyId) {
        self.state.write().uses.remove(&id);
    }

    /// When a key was last used since the process started.
    pub fn last_use(&self, id: KeyId) -> Option<Timestamp> {
        let state = self.state.read();
        let seen = state.uses.get(&id)?.seen.load(Ordering::Relaxed);
        (seen > 0).then(|| Timestamp::from_millis(seen))
    }

    /// Up to `limit` uses that are not stored yet.
    pub fn unwritten_uses(&self, limit: usize) -> Vec<(KeyId, Timestamp)> {
        let state = self.state.read();
        let unwritten = state.uses.iter().filter_map(|(id, it)| {
            let seen = it.seen.load(Ordering::Relaxed);
            let is_new = seen > it.written.load(Ordering::Relaxed);
            is_new.then(|| (*id, Timestamp::from_millis(seen)))
        });
        unwritten.take(limit).collect()
    }

    /// Marks these uses as durable.
    pub fn mark_uses_written(&self, uses: &[(KeyId, Timestamp)]) {
        let state = self.state.read();
        for (id, at) in uses {
            if let Some(it) = state.uses.get(id) {
                it.written.fetch_max(at.millis(), Ordering::Relaxed);
            }
        }
    }
}
