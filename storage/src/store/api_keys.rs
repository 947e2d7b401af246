//! API keys: looked up by hash for calls, by id for the operator, by account for lists.

use super::tables::{
    ACCOUNT_LOADS, ACCOUNTS, API_KEY_LAST_USE, API_KEY_SPENDING, API_KEYS, API_KEYS_BY_ID,
    API_KEYS_OF_ACCOUNT, DELETED_API_KEYS, PAUSE, RETIRED_API_KEYS,
};
use super::{Page, Store, StoreError, Writes};
use crate::domain::account::Account;
use crate::domain::api_key::{ApiKey, DeletedKey, KeyHash};
use crate::domain::ids::{AccountId, KeyId};
use crate::domain::node::AccountLoad;
use crate::domain::pause::Pause;
use crate::domain::spending::Spending;
use crate::domain::time::Timestamp;
use crate::engine::Key;

pub struct KeyWithAccount {
    pub key: Option<ApiKey>,
    pub account: Option<Account>,
    pub before_jobs: Option<BeforeJobs>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName {
    pub name: String,
    pub is_deleted: bool,
}

/// Records read with the key of a call that submits jobs, if several nodes share the store. The decision reads them again.
#[derive(Debug)]
pub struct BeforeJobs {
    pub at: Timestamp,
    /// The account with the sums over its live jobs; `None` if no node has decided about it.
    pub load: Option<(Account, AccountLoad)>,
    pub pause: Pause,
}

impl Store {
    /// Reads the key and the account that is expected to own it in one go, with [`BeforeJobs`] if it has a time.
    pub async fn key_with_account(
        &self,
        hash: &KeyHash,
        account: AccountId,
        before_jobs_at: Option<Timestamp>,
    ) -> Result<KeyWithAccount, StoreError> {
        let mut keys = vec![API_KEYS.key(hash), ACCOUNTS.key(&account)];
        if before_jobs_at.is_some() {
            keys.extend([ACCOUNT_LOADS.key(&account), PAUSE.key(&())]);
        }
        let mut found = self.engine().get_many(&keys).await?.into_iter();
        let mut next = || found.next().flatten();
        let key = next().map(|it| API_KEYS.decode(&it)).transpose()?;
        let account = next().map(|it| ACCOUNTS.decode(&it)).transpose()?;
        let load = next().map(|it| ACCOUNT_LOADS.decode(&it)).transpose()?;
        let pause = next().map(|it| PAUSE.decode(&it)).transpose()?;
        let before_jobs = before_jobs_at.map(|at| BeforeJobs {
            at,
            load: account.clone().zip(load),
            pause: pause.unwrap_or_default(),
        });
        Ok(KeyWithAccount {
            key,
            account,
            before_jobs,
        })
    }

    /// The key with this hash, and the time until which the text is valid if a rotation replaced it.
    pub async fn key_by_text_hash(
        &self,
        hash: &KeyHash,
        now: Timestamp,
    ) -> Result<Option<(ApiKey, Option<Timestamp>)>, StoreError> {
        if let Some(key) = API_KEYS.get(self, hash).await? {
            return Ok(Some((key, None)));
        }
        let Some(id) = RETIRED_API_KEYS.get(self, hash).await? else {
            return Ok(None);
        };
        let Some((_, key)) = self.key(id).await? else {
            return Ok(None);
        };
        let retired = key.retired.iter().find(|it| it.hash == *hash);
        let until = retired.map(|it| it.until).filter(|until| now < *until);
        Ok(until.map(|until| (key, Some(until))))
    }

    /// A key with its hash.
    pub async fn key(&self, id: KeyId) -> Result<Option<(KeyHash, ApiKey)>, StoreError> {
        // If the key is rotated between the two reads, the second round finds it under its new hash.
        for _ in 0..2 {
            let Some(hash) = API_KEYS_BY_ID.get(self, &id).await? else {
                return Ok(None);
            };
            if let Some(key) = API_KEYS.get(self, &hash).await? {
                return Ok(Some((hash, key)));
            }
        }
        Ok(None)
    }

    /// Oldest first.
    pub async fn keys_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<ApiKey>, StoreError> {
        // A key rotated or removed meanwhile is not found under the listed hash.
        if let (page, true) = self.found_keys_of(account, limit, after).await? {
            return Ok(page);
        }
        Ok(self.found_keys_of(account, limit, after).await?.0)
    }

    /// Returns a page, and whether each listed key was found.
    async fn found_keys_of(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<(Page<ApiKey>, bool), StoreError> {
        let page = API_KEYS_OF_ACCOUNT.page(self, &account, limit, after);
        let page = page.await?;
        let hashes: Vec<Key> = page.items.iter().map(|it| API_KEYS.key(it)).collect();
        let found = self.engine().get_many(&hashes).await?;
        let items: Vec<ApiKey> = found
            .iter()
            .flatten()
            .map(|value| API_KEYS.decode(value))
            .collect::<Result<_, _>>()?;
        let whole = items.len() == page.items.len();
        let next = page.next;
        Ok((Page { items, next }, whole))
    }

    pub async fn key_spending(&self, id: KeyId) -> Result<Spending, StoreError> {
        Ok(API_KEY_SPENDING.get(self, &id).await?.unwrap_or_default())
    }

    /// Adds or changes a key.
    pub fn put_key(&self, hash: &KeyHash, key: &ApiKey) -> Writes {
        vec![
            API_KEYS.put(hash, key),
            API_KEYS_BY_ID.put(&key.id, hash),
            API_KEYS_OF_ACCOUNT.put(&(key.account, key.id), hash),
        ]
    }

    /// Stores a key under a new hash. `ended` are hashes that are no longer valid.
    pub fn rotate_key(
        &self,
        old: &KeyHash,
        new: &KeyHash,
        key: &ApiKey,
        ended: &[KeyHash],
    ) -> Writes {
        let mut writes = vec![API_KEYS.delete(old)];
        writes.extend(self.put_key(new, key));
        writes.extend(ended.iter().map(|hash| RETIRED_API_KEYS.delete(hash)));
        let retired = key.retired.iter();
        writes.extend(retired.map(|it| RETIRED_API_KEYS.put(&it.hash, &key.id)));
        writes
    }

    /// The name of a key, also of a deleted one.
    pub async fn key_name(&self, id: KeyId) -> Result<Option<KeyName>, StoreError> {
        if let Some((_, key)) = self.key(id).await? {
            return Ok(Some(KeyName {
                name: key.name,
                is_deleted: false,
            }));
        }
        let deleted = DELETED_API_KEYS.get(self, &id).await?;
        Ok(deleted.map(|it| KeyName {
            name: it.name,
            is_deleted: true,
        }))
    }

    /// Deletes a key. Its name and its spending stay.
    pub fn remove_key(&self, hash: &KeyHash, key: &ApiKey, now: Timestamp) -> Writes {
        let deleted = DeletedKey {
            name: key.name.clone(),
            deleted_at: now,
        };
        let mut writes = vec![
            DELETED_API_KEYS.put(&key.id, &deleted),
            API_KEYS.delete(hash),
            API_KEYS_BY_ID.delete(&key.id),
            API_KEYS_OF_ACCOUNT.delete(&(key.account, key.id)),
            API_KEY_LAST_USE.delete(&key.id),
        ];
        let retired = key.retired.iter();
        writes.extend(retired.map(|it| RETIRED_API_KEYS.delete(&it.hash)));
        writes
    }
}
