//! The read set of a round: the records that were read for it. Decisions read nothing else.

use super::Decisions;
use crate::domain::ids::AccountId;
use crate::engine::{Key, ReadRequest, ReadResults, Value};
use crate::store::{Record, StoreError, Table, TableKey};
use std::borrow::Cow;

/// The pairs of a scan.
pub type Pairs<'a> = Cow<'a, [(Key, Value)]>;

pub trait ReadSet {
    /// `None` if the key was not requested.
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>>;

    /// `None` if the scan was not requested.
    fn pairs(&self, scan: &ReadRequest) -> Option<Result<Pairs<'_>, StoreError>>;
}

impl ReadSet for ReadResults {
    fn value(&self, key: &[u8]) -> Option<Result<Option<Cow<'_, [u8]>>, StoreError>> {
        Some(Ok(self.value(key)?.map(|it| Cow::Borrowed(it.as_slice()))))
    }

    fn pairs(&self, scan: &ReadRequest) -> Option<Result<Pairs<'_>, StoreError>> {
        Some(Ok(Cow::Borrowed(self.pairs(scan)?)))
    }
}

impl<'a> Decisions<'a> {
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
        let pairs = self.pairs(scan)?;
        pairs.iter().map(|(_, value)| table.decode(value)).collect()
    }

    /// Like [`Self::scan`], with keys.
    pub(super) fn scan_entries<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: ReadRequest,
    ) -> Result<Vec<(K, R)>, StoreError> {
        let pairs = self.pairs(scan)?;
        pairs
            .iter()
            .map(|(key, value)| table.entry_of(key, value))
            .collect()
    }

    fn pairs(&mut self, scan: ReadRequest) -> Result<Pairs<'a>, StoreError> {
        match self.read_set.pairs(&scan) {
            Some(pairs) => pairs,
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
