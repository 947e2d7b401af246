//! API keys: found by hash at each call, by id for the operator, by account for lists.

use super::{Page, Store, StoreError, Writes, encode, keys};
use crate::domain::amount::Amount;
use crate::domain::api_key::{ApiKey, KeyHash};
use crate::domain::ids::{AccountId, KeyId};
use crate::engine::Direction;

impl Store {
    /// The key with this hash: the look-up of authentication.
    pub fn key_by_hash(&self, hash: &KeyHash) -> Result<Option<ApiKey>, StoreError> {
        self.read(&keys::key_by_hash(hash))
    }

    /// A key with its hash.
    pub fn key(&self, id: KeyId) -> Result<Option<(KeyHash, ApiKey)>, StoreError> {
        let Some(hash) = self.read::<KeyHash>(&keys::key_by_id(id))? else {
            return Ok(None);
        };
        Ok(self.key_by_hash(&hash)?.map(|key| (hash, key)))
    }

    /// A page of an account's keys, oldest first.
    pub fn keys_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<ApiKey>, StoreError> {
        let page: Page<KeyHash> = self.page(
            keys::keys_of_account(account),
            Direction::Rising,
            limit,
            after,
        )?;
        let mut items = Vec::with_capacity(page.items.len());
        for hash in &page.items {
            items.extend(self.key_by_hash(hash)?);
        }
        Ok(Page {
            items,
            next: page.next,
        })
    }

    /// What a key has spent: the sum of the charges of its jobs.
    pub fn key_spent(&self, id: KeyId) -> Result<Amount, StoreError> {
        Ok(self.read(&keys::key_spent(id))?.unwrap_or_default())
    }

    /// Visits every key.
    pub fn each_key(
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

    /// The writes that remove a key. What it has spent stays on record.
    pub fn remove_key(&self, hash: &KeyHash, key: &ApiKey) -> Writes {
        vec![
            (keys::key_by_hash(hash), None),
            (keys::key_by_id(key.id), None),
            (keys::key_of_account(key.account, key.id), None),
        ]
    }
}
