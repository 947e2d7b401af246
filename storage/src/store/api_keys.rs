//! API keys: found by hash at each call, by id for the operator, by account for lists.

use super::{Mark, Page, Store, StoreError, Writes, encode, keys};
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::ids::{AccountId, KeyId};
use crate::domain::spending::KeySpending;
use crate::domain::time::Timestamp;
use crate::engine::{Direction, Key};
use uuid::Uuid;

/// Says that the service has had a first key: an operator who removes all keys wants no other.
pub(super) const FIRST_KEY: &str = "first key";

/// What the settings begin with that name the key of the panel of an account.
pub(super) const PANEL_KEY: &str = "panel key of ";

fn panel_key(account: AccountId) -> Key {
    keys::setting(&format!("{PANEL_KEY}{account}"))
}

impl Store {
    /// The key with this hash: the look-up of authentication.
    pub fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<ApiKey>, StoreError> {
        self.read(&keys::key_by_hash(hash))
    }

    /// The key that a text with this hash opens at `now`, and until when it does, where that text has been replaced.
    pub fn key_opened_by(
        &self,
        hash: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<(ApiKey, Option<Timestamp>)>, StoreError> {
        if let Some(key) = self.key_by_hash(hash)? {
            return Ok(Some((key, None)));
        }
        let Some(id) = self.key_of_retired(hash)? else {
            return Ok(None);
        };
        let Some((_, key)) = self.key(id)? else {
            return Ok(None);
        };
        let retired = key.retired.iter().find(|it| it.hash == *hash);
        let until = retired.map(|it| it.until).filter(|until| now < *until);
        Ok(until.map(|until| (key, Some(until))))
    }

    /// The key that had this hash before it was rotated.
    pub(crate) fn key_of_retired(&self, hash: &KeyHash) -> Result<Option<KeyId>, StoreError> {
        self.read(&keys::retired_hash(hash))
    }

    /// A key with its hash.
    pub fn key(&self, id: KeyId) -> Result<Option<(KeyHash, ApiKey)>, StoreError> {
        // A key that is rotated between the two looks has another hash by then, and is looked for under that one.
        for _ in 0..2 {
            let Some(hash) = self.read::<KeyHash>(&keys::key_by_id(id))? else {
                return Ok(None);
            };
            if let Some(key) = self.key_by_hash(&hash)? {
                return Ok(Some((hash, key)));
            }
        }
        Ok(None)
    }

    /// The hash under which an account's list has a key.
    pub(crate) fn key_hash_of(
        &self,
        account: AccountId,
        id: KeyId,
    ) -> Result<Option<KeyHash>, StoreError> {
        self.read(&keys::key_of_account(account, id))
    }

    /// Visits what each key has spent, those that were removed included.
    pub(crate) fn each_spending(
        &self,
        mut visit: impl FnMut(KeyId, KeySpending) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::all_spent(), |key, spending| {
            let id = keys::last_id(&key).ok_or_else(|| StoreError::Damaged {
                kind: "key spending",
                reason: "its key holds no id".into(),
            })?;
            visit(KeyId(Uuid::from_bytes(id)), spending)
        })
    }

    /// A page of an account's keys, oldest first.
    pub fn keys_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<ApiKey>, StoreError> {
        let list = keys::keys_of_account(account);
        let read = || {
            let page: Page<KeyHash> = self.page(list.clone(), Direction::Rising, limit, after)?;
            let mut items = Vec::with_capacity(page.items.len());
            for hash in &page.items {
                items.extend(self.key_by_hash(hash)?);
            }
            let whole = items.len() == page.items.len();
            let next = page.next;
            Ok::<_, StoreError>((Page { items, next }, whole))
        };
        // A key that is rotated or removed meanwhile is not found under the hash that the list had.
        let (page, whole) = read()?;
        match whole {
            true => Ok(page),
            false => Ok(read()?.0),
        }
    }

    /// What a key has spent: the charges of its jobs.
    pub fn key_spending(&self, id: KeyId) -> Result<KeySpending, StoreError> {
        Ok(self.read(&keys::key_spent(id))?.unwrap_or_default())
    }

    /// When a key was last used, as far as that has been written down.
    pub fn key_last_use(&self, id: KeyId) -> Result<Option<Timestamp>, StoreError> {
        self.read(&keys::key_last_use(id))
    }

    /// The key that pictures of the panel are charged under, where one has been made.
    pub fn panel_key(&self, account: AccountId) -> Result<Option<KeyId>, StoreError> {
        self.read(&panel_key(account))
    }

    /// The writes that make a key that one.
    pub fn set_panel_key(&self, key: &ApiKey) -> Writes {
        vec![(panel_key(key.account), Some(encode(&key.id)))]
    }

    /// Has the service had a first key?
    pub fn had_first_key(&self) -> Result<bool, StoreError> {
        Ok(self.read::<Mark>(&keys::setting(FIRST_KEY))?.is_some())
    }

    /// The writes that say so.
    pub fn note_first_key(&self) -> Writes {
        vec![(keys::setting(FIRST_KEY), Some(encode(&Mark)))]
    }

    /// The writes that note when keys were last used.
    pub fn put_last_uses(&self, uses: &[(KeyId, Timestamp)]) -> Writes {
        let write = |(id, at): &(KeyId, Timestamp)| (keys::key_last_use(*id), Some(encode(at)));
        uses.iter().map(write).collect()
    }

    /// Visits every key.
    pub(crate) fn each_key(
        &self,
        mut visit: impl FnMut(ApiKey) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::keys_by_hash(), |_, key| visit(key))
    }

    /// The writes that add a key, or change what is known about it.
    pub fn put_key(&self, hash: &KeyHash, key: &ApiKey) -> Writes {
        vec![
            (keys::key_by_hash(hash), Some(encode(key))),
            (keys::key_by_id(key.id), Some(encode(hash))),
            (
                keys::key_of_account(key.account, key.id),
                Some(encode(hash)),
            ),
        ]
    }

    /// The writes that give a key a new text. `key` is the key as it will be; `ended` are hashes that open nothing any more.
    pub fn rotate_key(
        &self,
        old: &KeyHash,
        new: &KeyHash,
        key: &ApiKey,
        ended: &[KeyHash],
    ) -> Writes {
        let mut writes = vec![(keys::key_by_hash(old), None)];
        writes.extend(self.put_key(new, key));
        writes.extend(ended.iter().map(|hash| (keys::retired_hash(hash), None)));
        let retired = key.retired.iter();
        writes.extend(retired.map(|it| (keys::retired_hash(&it.hash), Some(encode(&key.id)))));
        writes
    }

    /// The writes that remove a key. What it has spent stays on record.
    pub fn remove_key(&self, hash: &KeyHash, key: &ApiKey) -> Writes {
        let mut writes = vec![
            (keys::key_by_hash(hash), None),
            (keys::key_by_id(key.id), None),
            (keys::key_of_account(key.account, key.id), None),
            (keys::key_last_use(key.id), None),
        ];
        let retired = key.retired.iter();
        writes.extend(retired.map(|it| (keys::retired_hash(&it.hash), None)));
        writes
    }
}
