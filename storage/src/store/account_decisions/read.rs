//! Reads from a round's read set.

use super::Decisions;
use crate::domain::ids::AccountId;
use crate::engine::ReadRequest;
use crate::store::{Record, StoreError, Table, TableKey};

impl Decisions<'_> {
    /// The missing reads. If there are any, read them and decide again.
    pub fn unread(&mut self) -> Vec<ReadRequest> {
        std::mem::take(&mut self.unread)
    }

    pub(super) fn read<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        key: &K,
    ) -> Result<Option<R>, StoreError> {
        let key = table.key(key);
        match self.read_set.value(&key) {
            Some(value) => value?.map(|value| table.decode(&value)).transpose(),
            None => {
                self.unread.push(ReadRequest::Get(key));
                Err(StoreError::NotRead)
            }
        }
    }

    pub(super) fn scan<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: ReadRequest,
    ) -> Result<Vec<R>, StoreError> {
        match self.read_set.pairs(&scan) {
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

    /// Like [`Self::scan`], with keys.
    pub(super) fn scan_entries<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: ReadRequest,
    ) -> Result<Vec<(K, R)>, StoreError> {
        match self.read_set.pairs(&scan) {
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
