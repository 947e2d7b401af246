//! The reads of a round: the records that were read for it, and the requests of its decision for further ones. Decisions read nothing
//! else.

use super::{Record, StoreError, Table, TableKey};
use crate::engine::{Key, ReadRequest, ReadResults, Value};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;

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

/// Reads records for one decision. A read that is not in the read set fails with [`StoreError::NotRead`], and the round reads it and
/// decides again. Decisions [gather](Gather) reads that do not depend on each other.
pub struct RoundReads<'a> {
    read_set: &'a dyn ReadSet,
    unread: RefCell<Vec<ReadRequest>>,
}

impl<'a> RoundReads<'a> {
    pub fn new(read_set: &'a dyn ReadSet) -> Self {
        Self {
            read_set,
            unread: RefCell::default(),
        }
    }

    pub fn get<K: TableKey, R: Record>(
        &self,
        table: &Table<K, R>,
        key: &K,
    ) -> Result<Option<R>, StoreError> {
        let value = self.value(table.key(key))?;
        value.map(|it| table.decode(&it)).transpose()
    }

    /// The existing records of these keys.
    pub fn get_all<K: TableKey + Eq + Hash, R: Record>(
        &self,
        table: &Table<K, R>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<HashMap<K, R>, StoreError> {
        let read = |key: K| Some((self.get(table, &key).transpose()?, key));
        let found: Vec<_> = keys.into_iter().filter_map(read).collect();
        let found = found.into_iter();
        found.map(|(record, key)| Ok((key, record?))).collect()
    }

    /// The records of a scan, in order.
    pub fn scan<K: TableKey, R: Record>(
        &self,
        table: &Table<K, R>,
        scan: &ReadRequest,
    ) -> Result<Vec<(K, R)>, StoreError> {
        let pairs = self.pairs(scan)?;
        let entries = pairs.iter().map(|(key, value)| table.entry_of(key, value));
        entries.collect()
    }

    /// The undecoded records of a scan, in order.
    pub fn pairs(&self, scan: &ReadRequest) -> Result<Pairs<'a>, StoreError> {
        let pairs = self.read_set.pairs(scan);
        pairs.unwrap_or_else(|| self.not_read(scan.clone()))
    }

    pub(super) fn value(&self, key: Key) -> Result<Option<Cow<'a, [u8]>>, StoreError> {
        let value = self.read_set.value(&key);
        value.unwrap_or_else(|| self.not_read(ReadRequest::Get(key)))
    }

    fn not_read<T>(&self, request: ReadRequest) -> Result<T, StoreError> {
        self.unread.borrow_mut().push(request);
        Err(StoreError::NotRead)
    }

    pub fn has_unread(&self) -> bool {
        !self.unread.borrow().is_empty()
    }

    /// The missing reads so far. If there are any, the round reads them and decides again.
    pub fn take_unread(&self) -> Vec<ReadRequest> {
        self.unread.take()
    }
}

/// Reads of a decision that do not depend on each other. All of them are made before the first error is returned, so that the round reads
/// all missing records in one further step.
pub trait Gather {
    type Records;

    /// # Errors
    /// The first error of the reads
    fn gather(self) -> Result<Self::Records, StoreError>;
}

impl<A, B> Gather for (Result<A, StoreError>, Result<B, StoreError>) {
    type Records = (A, B);

    fn gather(self) -> Result<(A, B), StoreError> {
        Ok((self.0?, self.1?))
    }
}

impl<A, B, C> Gather
    for (
        Result<A, StoreError>,
        Result<B, StoreError>,
        Result<C, StoreError>,
    )
{
    type Records = (A, B, C);

    fn gather(self) -> Result<(A, B, C), StoreError> {
        Ok((self.0?, self.1?, self.2?))
    }
}

impl<T> Gather for Vec<Result<T, StoreError>> {
    type Records = Vec<T>;

    fn gather(self) -> Result<Vec<T>, StoreError> {
        self.into_iter().collect()
    }
}
