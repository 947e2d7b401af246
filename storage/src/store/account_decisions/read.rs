//! How a round reads what is known.

use super::Decisions;
use crate::domain::ids::AccountId;
use crate::engine::Ask;
use crate::store::{Record, StoreError, Table, TableKey};

impl Decisions<'_> {
    /// What the decisions of this round need beside what they were given. Where there is anything, they are to be made again.
    pub fn unread(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.unread)
    }

    /// The record under a key, as it was read.
    pub(super) fn read<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        key: &K,
    ) -> Result<Option<R>, StoreError> {
        let key = table.key(key);
        match self.known.value(&key) {
            Some(value) => value?.map(|value| table.decode(&value)).transpose(),
            None => {
                self.unread.push(Ask::Get(key));
                Err(StoreError::NotRead)
            }
        }
    }

    /// The records of a scan, as they were read.
    pub(super) fn scan<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: Ask,
    ) -> Result<Vec<R>, StoreError> {
        match self.known.pairs(&scan) {
            Some(pairs) => pairs?
                .iter()
                .map(|(_, value)| table.decode(value))
                .collect(),
            None => {
                self.unread.push(scan);
                Err(StoreError::NotRead)
            }
        }
    }

    /// The same with their keys.
    pub(super) fn scan_entries<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: Ask,
    ) -> Result<Vec<(K, R)>, StoreError> {
        match self.known.pairs(&scan) {
            Some(pairs) => pairs?
                .iter()
                .filter_map(|(key, value)| table.entry(key, value).transpose())
                .collect(),
            None => {
                self.unread.push(scan);
                Err(StoreError::NotRead)
            }
        }
    }

    pub(super) fn account_id(&self) -> AccountId {
        self.account.id
    }
}
