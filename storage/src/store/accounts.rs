//! Accounts and their ledgers.

use super::tables::{ACCOUNT_LOADS, ACCOUNTS, LEDGER};
use super::{All, Page, Store, StoreError, Writes};
use crate::domain::account::Account;
use crate::domain::ids::AccountId;
use crate::domain::ledger::LedgerEntry;
use crate::domain::node::AccountLoad;

impl Store {
    pub async fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        ACCOUNTS.get(self, &id).await
    }

    /// An account with the sums over its live jobs, if a node has decided about it.
    pub async fn account_load(
        &self,
        id: AccountId,
    ) -> Result<Option<(Account, AccountLoad)>, StoreError> {
        let keys = [ACCOUNTS.key(&id), ACCOUNT_LOADS.key(&id)];
        let found = self.engine().get_many(&keys).await?;
        let [Some(account), Some(load)] = &found[..] else {
            return Ok(None);
        };
        Ok(Some((
            ACCOUNTS.decode(account)?,
            ACCOUNT_LOADS.decode(load)?,
        )))
    }

    /// Oldest first.
    pub async fn accounts(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Account>, StoreError> {
        ACCOUNTS.page(self, &All, limit, after).await
    }

    pub async fn each_account(
        &self,
        mut visit: impl FnMut(Account) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        ACCOUNTS.each(self, &All, |_, account| visit(account)).await
    }

    /// `opening` is the first ledger entry, if the account opens with money.
    pub fn open_account(&self, account: &Account, opening: Option<&LedgerEntry>) -> Writes {
        let mut writes = vec![ACCOUNTS.put(&account.id, account)];
        writes.extend(opening.map(|entry| LEDGER.put(&(account.id, entry.id), entry)));
        writes
    }
}
