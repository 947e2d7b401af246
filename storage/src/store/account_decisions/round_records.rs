//! The records of a round: those that were read for it, and above them those that its decisions write.

use crate::domain::ids::AccountId;
use crate::domain::webhook::Webhook;
use crate::engine::{Direction, Key, KeyRange, ReadRequest, Value, write_size};
use crate::fast_hash::HashMap;
use crate::store::tables::WEBHOOKS;
use crate::store::webhooks::webhooks_of;
use crate::store::{Record, RoundReads, StoreError, Table, TableKey, Write, Writes};
use std::borrow::Cow;
use std::sync::Arc;

/// A key has the value of the round's last write, or else the value that was read.
pub(super) struct RoundRecords<'a> {
    /// Without the writes of the round.
    pub reads: &'a RoundReads<'a>,
    writes: HashMap<Key, Option<Value>>,
    /// The size of all writes, including replaced ones.
    pub bytes: usize,
    /// Decoded once, because the end of each job needs them. No decision writes them.
    webhooks: Option<Arc<Vec<Webhook>>>,
}

impl<'a> RoundRecords<'a> {
    pub fn new(reads: &'a RoundReads<'a>) -> Self {
        Self {
            reads,
            writes: HashMap::default(),
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
        &self,
        table: &Table<K, R>,
        key: &K,
    ) -> Result<Option<R>, StoreError> {
        let key = table.key(key);
        let value = match self.writes.get(&key) {
            Some(written) => written.as_deref().map(Cow::Borrowed),
            None => self.reads.value(key)?,
        };
        value.map(|it| table.decode(&it)).transpose()
    }

    /// The records of a range, in no fixed order.
    pub fn read_range<K: TableKey, R: Record>(
        &self,
        table: &Table<K, R>,
        range: KeyRange,
    ) -> Result<Vec<(K, R)>, StoreError> {
        let scan = ReadRequest::Scan(range.clone(), Direction::Rising, usize::MAX);
        let pairs = self.reads.pairs(&scan)?;
        let pairs = pairs.iter().map(|(key, value)| (key, value));
        let unchanged = pairs.filter(|(key, _)| !self.writes.contains_key(*key));
        let written = self.writes.iter();
        let written = written.filter_map(|(key, value)| Some((key, value.as_ref()?)));
        unchanged
            .chain(written.filter(|(key, _)| range.contains(key)))
            .map(|(key, value)| table.entry_of(key, value))
            .collect()
    }

    pub fn webhooks(&mut self, account: AccountId) -> Result<Arc<Vec<Webhook>>, StoreError> {
        if let Some(webhooks) = &self.webhooks {
            return Ok(Arc::clone(webhooks));
        }
        let read = self.reads.scan(&WEBHOOKS, &webhooks_of(account).into())?;
        let webhooks: Arc<Vec<_>> = Arc::new(read.into_iter().map(|(_, it)| it).collect());
        self.webhooks = Some(Arc::clone(&webhooks));
        Ok(webhooks)
    }
}
