//! Accounts and their ledgers.

use super::{Page, Store, StoreError, Writes, encode, keys};
use crate::domain::account::Account;
use crate::domain::ids::{AccountId, TransactionId};
use crate::domain::ledger::LedgerEntry;
use crate::engine::Direction;

impl Store {
    /// An account.
    pub fn account(&self, id: AccountId) -> Result<Option<Account>, StoreError> {
        self.read(&keys::account(id))
    }

    /// A page of all accounts, oldest first.
    pub fn accounts(
        &self,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<Account>, StoreError> {
        self.page(keys::accounts(), Direction::Rising, limit, after)
    }

    /// Visits every account.
    pub fn each_account(
        &self,
        mut visit: impl FnMut(Account) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::accounts(), |_, account| visit(account))
    }

    /// The writes that open an account; `opening` is the ledger's first line when it opens with money.
    pub fn open_account(&self, account: &Account, opening: Option<&LedgerEntry>) -> Writes {
        let mut writes = vec![(keys::account(account.id), Some(encode(account)))];
        writes.extend(opening.map(|entry| {
            (
                keys::ledger_entry(account.id, entry.id),
                Some(encode(entry)),
            )
        }));
        writes
    }

    /// A page of an account's ledger, newest first.
    pub fn ledger(
        &self,
        account: AccountId,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<LedgerEntry>, StoreError> {
        self.page(keys::ledger(account), Direction::Falling, limit, after)
    }

    /// One line of an account's ledger.
    pub fn ledger_entry(
        &self,
        account: AccountId,
        id: TransactionId,
    ) -> Result<Option<LedgerEntry>, StoreError> {
        self.read(&keys::ledger_entry(account, id))
    }

    /// Visits an account's ledger, oldest first.
    pub fn each_ledger_entry(
        &self,
        account: AccountId,
        mut visit: impl FnMut(LedgerEntry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::ledger(account), |_, entry| visit(entry))
    }

    /// Visits the ledgers of all accounts, each oldest first.
    pub fn each_entry(
        &self,
        mut visit: impl FnMut(AccountId, LedgerEntry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(keys::ledgers(), |key, entry: LedgerEntry| {
            let account = keys::account_of_entry(&key).ok_or(StoreError::Damaged {
                kind: "ledger entry",
                reason: format!("entry {} has a key without an account", entry.id),
            })?;
            visit(account, entry)
        })
    }
}
