//! The records of a round: those that were read for it, and above them those that its decisions write.

use super::read_set::{Pairs, ReadSet};
use crate::domain::ids::AccountId;
use crate::domain::webhook::Webhook;
use crate::engine::{Direction, Key, KeyRange, ReadRequest, Value, write_size};
use crate::store::tables::WEBHOOKS;
use crate::store::webhooks::webhooks_of;
use crate::store::{Record, StoreError, Table, TableKey, Write, Writes};
use std::collections::HashMap;
use std::sync::Arc;

/// A key has the value of the round's last write, or else the value that was read. A decision that needs another read fails with
/// [`StoreError::NotRead`] and leaves its request in `unread`.
pub(super) struct RoundRecords<'a> {
    read_set: &'a dyn ReadSet,
    pub unread: Vec<ReadRequest>,
    writes: HashMap<Key, Option<Value>>,
    /// The size of all writes, including replaced ones.
    pub bytes: usize,
    /// Decoded once, because the end of each job needs them. No decision writes them.
    webhooks: Option<Arc<Vec<Webhook>>>,
}

impl<'a> RoundRecords<'a> {
    pub fn new(read_set: &'a dyn ReadSet) -> Self {
        Self {
            read_set,
            unread: Vec::new(),
            writes: HashMap::new(),
            bytes: 0,
            webhooks: None,
        }
    }

    pub fn put(&mut self, (key, value): Write) {
        self.bytes += write_size(&key, value.as_ref());
        self.writes.insert(key, value);
    }

    pub fn put_all(&mut self, writes: Writes) {
        writes.into_iter().for_each(|write| self.put(write));
    }

    pub fn are_unchanged(&self) -> bool {
        self.writes.is_empty()
    }

    pub fn into_writes(self) -> Writes {
        self.writes.into_iter().collect()
    }

    pub fn read<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        key: &K,
    ) -> Result<Option<R>, StoreError> {
        let key = table.key(key);
        if let Some(written) = self.writes.get(&key) {
            return written.as_ref().map(|it| table.decode(it)).transpose();
        }
        match self.read_set.value(&key) {
            Some(value) => value?.map(|value| table.decode(&value)).transpose(),
            None => {
                self.unread.push(ReadRequest::Get(key));
                Err(StoreError::NotRead)
            }
        }
    }

    /// The records of a range, in no fixed order.
    pub fn read_range<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        range: KeyRange,
    ) -> Result<Vec<(K, R)>, StoreError> {
        let scan = ReadRequest::Scan(range.clone(), Direction::Rising, usize::MAX);
        let pairs = self.pairs(scan)?;
        let pairs = pairs.iter().map(|(key, value)| (key, value));
        let unchanged = pairs.filter(|(key, _)| !self.writes.contains_key(*key));
        let written = self.writes.iter();
        let written = written.filter_map(|(key, value)| Some((key, value.as_ref()?)));
        unchanged
            .chain(written.filter(|(key, _)| range.contains(key)))
            .map(|(key, value)| table.entry_of(key, value))
            .collect()
    }

    /// The records of a scan as they were read, without the writes of the round.
    pub fn scan_read<K: TableKey, R: Record>(
        &mut self,
        table: &Table<K, R>,
        scan: ReadRequest,
    ) -> Result<Vec<R>, StoreError> {
        let pairs = self.pairs(scan)?;
        pairs.iter().map(|(_, value)| table.decode(value)).collect()
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

    pub fn webhooks(&mut self, account: AccountId) -> Result<Arc<Vec<Webhook>>, StoreError> {
        if let Some(webhooks) = &self.webhooks {
            return Ok(Arc::clone(webhooks));
        }
        let webhooks = Arc::new(self.scan_read(&WEBHOOKS, webhooks_of(account).into())?);
        self.webhooks = Some(Arc::clone(&webhooks));
        Ok(webhooks)
    }
}
