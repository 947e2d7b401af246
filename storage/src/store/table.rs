//! A table: its keys, its name in exports, the encoding of its records, and the check of a record against its key.

use super::codec::{self, Earlier, exact_bytes};
use super::table_key::{All, KeyBytes, TableKey, Under};
use super::{Store, StoreError, Write, Writes};
use crate::engine::{Direction, Key, KeyRange, ReadRequest, Value, Wait as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Records per read.
const STEP: usize = 1_000;

pub trait Record: Serialize + DeserializeOwned + 'static {}
impl<R: Serialize + DeserializeOwned + 'static> Record for R {}

/// Records of one kind, by key.
pub struct Table<K, R: 'static> {
    /// The prefix of the table's keys: one byte for the kind; for a setting, its name too.
    prefix: &'static [u8],
    name: &'static str,
    earlier: Earlier<R>,
    fits: fn(&K, &R) -> bool,
    is_exported: bool,
    page_order: Direction,
}

/// A range to scan, the direction, and the maximal number of records.
pub(super) struct Scan(pub KeyRange, pub Direction, pub usize);

impl From<Scan> for ReadRequest {
    fn from(Scan(range, direction, limit): Scan) -> Self {
        Self::Scan(range, direction, limit)
    }
}

#[derive(Clone, Debug)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The id that starts the next page; `None` at the end.
    pub next: Option<[u8; 16]>,
}

impl<K, R: 'static> Table<K, R> {
    /// `prefix` begins the table's keys; exports use `name`.
    pub(super) const fn new(prefix: &'static [u8], name: &'static str) -> Self {
        Self {
            prefix,
            name,
            earlier: &[],
            fits: |_, _| true,
            is_exported: true,
            page_order: Direction::Rising,
        }
    }

    /// Sets the check of a record against its key.
    pub(super) const fn fits(self, fits: fn(&K, &R) -> bool) -> Self {
        Self { fits, ..self }
    }

    /// Sets whether exports contain the table. They omit the nodes' own tables, which describe processes or derive from other
    /// records.
    pub(super) const fn exported(self, is_exported: bool) -> Self {
        Self {
            is_exported,
            ..self
        }
    }

    /// Sets the order of pages. Without it, they begin with the oldest record.
    pub(super) const fn newest_first(self) -> Self {
        Self {
            page_order: Direction::Falling,
            ..self
        }
    }

    /// Sets the readers of earlier formats, oldest first. Only a made-up table of the tests has such formats so far.
    #[cfg(test)]
    pub(super) const fn earlier(self, earlier: Earlier<R>) -> Self {
        Self { earlier, ..self }
    }
}

impl<K: TableKey, R: Record> Table<K, R> {
    /// The name in exports and messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn encode(&self, record: &R) -> Value {
        codec::encode(codec::version(self.earlier), record)
    }

    /// # Errors
    /// The bytes are corrupt.
    pub fn decode(&self, value: &[u8]) -> Result<R, StoreError> {
        codec::decode(self.name, self.earlier, value)
    }

    /// The record with texts that stay in `value`: `V` has the fields of `R`.
    ///
    /// # Errors
    /// The bytes are corrupt, or have an earlier format.
    pub fn decode_ref<'a, V: Deserialize<'a>>(&self, value: &'a [u8]) -> Result<V, StoreError> {
        codec::decode_ref(self.name, codec::version(self.earlier), value)
    }

    pub fn key(&self, key: &K) -> Key {
        self.prefixed(key)
    }

    fn prefixed(&self, part: &impl KeyBytes) -> Key {
        exact_bytes(|mut bytes| {
            bytes.extend_from_slice(self.prefix);
            part.write(&mut bytes);
            bytes
        })
    }

    /// `None` if the key belongs to another table.
    pub fn read_key(&self, key: &[u8]) -> Option<K> {
        let mut rest = key.strip_prefix(self.prefix)?;
        K::read(&mut rest).filter(|_| rest.is_empty())
    }

    /// `None` if the key belongs to another table.
    pub fn entry(&self, key: &[u8], value: &[u8]) -> Result<Option<(K, R)>, StoreError> {
        match self.read_key(key) {
            Some(key) => Ok(Some((key, self.decode(value)?))),
            None => Ok(None),
        }
    }

    /// The read of a record, for a round.
    pub fn request(&self, key: &K) -> ReadRequest {
        ReadRequest::Get(self.key(key))
    }

    /// The read of all records, for a round.
    pub fn request_all(&self) -> ReadRequest {
        ReadRequest::Scan(self.range(&All), Direction::Rising, usize::MAX)
    }

    pub async fn get(&self, store: &Store, key: &K) -> Result<Option<R>, StoreError> {
        let value = store.engine().get(&self.key(key)).await?;
        value.map(|value| self.decode(&value)).transpose()
    }

    /// Adds or replaces a record.
    pub fn put(&self, key: &K, record: &R) -> Write {
        (self.key(key), Some(self.encode(record)))
    }

    pub fn delete(&self, key: &K) -> Write {
        (self.key(key), None)
    }

    /// The range of the keys that begin with `part`.
    pub fn range<P: KeyBytes>(&self, part: &P) -> KeyRange
    where
        K: Under<P>,
    {
        KeyRange::prefix(&self.prefixed(part))
    }

    /// The range of the keys that begin with `part`, from `from` (inclusive) to `below` (exclusive).
    pub(super) fn between<P: KeyBytes>(
        &self,
        part: &P,
        from: Option<K>,
        below: Option<K>,
    ) -> KeyRange
    where
        K: Under<P>,
    {
        let mut range = self.range(part);
        if let Some(from) = from {
            range = range.starting_at(self.key(&from));
        }
        if let Some(below) = below {
            range = range.below(self.key(&below));
        }
        range
    }

    /// The first record of those whose keys begin with `part`.
    pub async fn first<P: KeyBytes>(
        &self,
        store: &Store,
        part: &P,
        direction: Direction,
    ) -> Result<Option<(K, R)>, StoreError>
    where
        K: Under<P>,
    {
        let found = self.scan(store, &self.range(part), direction, 1).await?;
        Ok(found.into_iter().next())
    }

    /// All records, in order.
    pub async fn all(&self, store: &Store) -> Result<Vec<(K, R)>, StoreError> {
        let all = self.range(&All);
        self.scan(store, &all, Direction::Rising, usize::MAX).await
    }

    /// Up to `limit` records of a range, in order.
    pub async fn scan(
        &self,
        store: &Store,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(K, R)>, StoreError> {
        let pairs = store.engine().scan(range, direction, limit).await?;
        pairs
            .iter()
            .map(|(key, value)| self.entry_of(key, value))
            .collect()
    }

    /// The records of a scan, without keys.
    pub(super) async fn read(
        &self,
        store: &Store,
        Scan(range, direction, limit): Scan,
    ) -> Result<Vec<R>, StoreError> {
        let found = self.scan(store, &range, direction, limit).await?;
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    pub(super) fn entry_of(&self, key: &[u8], value: &[u8]) -> Result<(K, R), StoreError> {
        Ok((self.key_of(key)?, self.decode(value)?))
    }

    pub(super) fn key_of(&self, key: &[u8]) -> Result<K, StoreError> {
        self.read_key(key).ok_or_else(|| StoreError::Damaged {
            kind: self.name,
            reason: format!("its key {} is malformed", hex::encode(key)),
        })
    }

    /// Visits the records whose keys begin with `part`, in ascending order, with bounded reads.
    pub async fn each<P: KeyBytes>(
        &self,
        store: &Store,
        part: &P,
        visit: impl FnMut(K, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>
    where
        K: Under<P>,
    {
        self.each_in(store, self.range(part), visit).await
    }

    /// Visits all records, and blocks until it has.
    pub(crate) fn visit(
        &self,
        store: &Store,
        visit: impl FnMut(K, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.each(store, &All, visit).wait()
    }

    /// Visits the records of a range.
    pub async fn each_in(
        &self,
        store: &Store,
        range: KeyRange,
        mut visit: impl FnMut(K, R) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        each_pair(store, range, |key, value| {
            let (key, record) = self.entry_of(key, value)?;
            visit(key, record)
        })
        .await
    }

    /// One page of the records whose keys begin with `part` and end with an id, in the table's order; `after` is the previous page's
    /// last id.
    pub async fn page<P: KeyBytes>(
        &self,
        store: &Store,
        part: &P,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<R>, StoreError>
    where
        K: Under<P>,
    {
        self.page_in(store, part, self.page_order, limit, after)
            .await
    }

    /// As [`Self::page`], in any order.
    pub async fn page_in<P: KeyBytes>(
        &self,
        store: &Store,
        part: &P,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<R>, StoreError>
    where
        K: Under<P>,
    {
        let page = self.page_of_entries(store, part, direction, limit, after);
        let Page { items, next } = page.await?;
        let items = items.into_iter().map(|(_, record)| record).collect();
        Ok(Page { items, next })
    }

    /// As [`Self::page_in`], with keys.
    pub(super) async fn page_of_entries<P: KeyBytes>(
        &self,
        store: &Store,
        part: &P,
        direction: Direction,
        limit: usize,
        after: Option<[u8; 16]>,
    ) -> Result<Page<(K, R)>, StoreError>
    where
        K: Under<P>,
    {
        let mut range = self.range(part);
        if let Some(id) = after {
            let key = [self.prefixed(part).as_slice(), &id].concat();
            range = match direction {
                Direction::Rising => range.above(key),
                Direction::Falling => range.below(key),
            };
        }
        let mut pairs = store.engine().scan(&range, direction, limit + 1).await?;
        let more = pairs.len() > limit;
        pairs.truncate(limit);
        let last = pairs.last().filter(|_| more);
        let next = last.and_then(|(key, _)| key.last_chunk::<16>().copied());
        let items = pairs
            .iter()
            .map(|(key, value)| self.entry_of(key, value))
            .collect::<Result<_, _>>()?;
        Ok(Page { items, next })
    }

    /// The next `limit` records from `cursor` on, and the next cursor, empty at the end.
    pub(super) async fn step(
        &self,
        store: &Store,
        cursor: &[u8],
        limit: usize,
    ) -> Result<(Vec<(K, R)>, Key), StoreError> {
        let range = KeyRange::prefix(self.prefix).after_cursor(cursor);
        let found = self.scan(store, &range, Direction::Rising, limit).await?;
        let last = found.last().filter(|_| found.len() == limit);
        let cursor = last.map(|(key, _)| self.key(key)).unwrap_or_default();
        Ok((found, cursor))
    }

    /// Deletes the records that `is_over` selects among the next `limit` from `cursor` on. Returns the next cursor, empty at
    /// the end.
    pub async fn delete_where(
        &self,
        store: &Store,
        cursor: &[u8],
        limit: usize,
        is_over: impl Fn(&R) -> bool,
    ) -> Result<(Writes, Key), StoreError> {
        let (found, cursor) = self.step(store, cursor, limit).await?;
        let over = found.iter().filter(|(_, it)| is_over(it));
        Ok((over.map(|(key, _)| self.delete(key)).collect(), cursor))
    }
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            next: None,
        }
    }
}

/// Visits every raw pair of a range, with bounded reads.
pub(crate) async fn each_pair(
    store: &Store,
    mut range: KeyRange,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    loop {
        let pairs = store.engine().scan(&range, Direction::Rising, STEP).await?;
        for (key, value) in &pairs {
            visit(key, value)?;
        }
        if pairs.len() < STEP {
            return Ok(());
        }
        if let Some((last, _)) = pairs.into_iter().next_back() {
            range = range.above(last);
        }
    }
}

/// A table without its types, for exports and verification.
pub trait AnyTable: Sync {
    /// The name in exports and messages.
    fn name(&self) -> &'static str;

    fn is_exported(&self) -> bool;

    /// The bytes with which its keys begin.
    fn prefix(&self) -> &'static [u8];

    /// Does this key belong to the table?
    fn holds(&self, key: &[u8]) -> bool;

    /// Does the record match its key, which belongs to the table?
    fn fits(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError>;

    /// A stored record as one line of JSON, in the current shape.
    fn to_json(&self, value: &[u8]) -> Result<String, StoreError>;

    /// The stored bytes of a record from a line of JSON.
    ///
    /// # Errors
    /// The line holds another kind of record, or a field of another version, whose content would be lost.
    fn parse_json(&self, text: &str) -> Result<Value, RecordJsonError>;
}

/// Why a line of JSON cannot be stored as a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordJsonError {
    #[error(
        "its record is not a valid {kind}: {error}; if another version wrote the export, this version cannot import it"
    )]
    Invalid {
        /// The table's name.
        kind: &'static str,
        error: serde_json::Error,
    },
    #[error(
        "its record has the field `{}`, which this version does not know; use the version that wrote the export",
        .0.escape_debug()
    )]
    UnknownField(String),
}

impl<K: TableKey, R: Record> AnyTable for Table<K, R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_exported(&self) -> bool {
        self.is_exported
    }

    fn prefix(&self) -> &'static [u8] {
        self.prefix
    }

    fn holds(&self, key: &[u8]) -> bool {
        self.read_key(key).is_some()
    }

    fn fits(&self, key: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        let (key, record) = self.entry_of(key, value)?;
        Ok((self.fits)(&key, &record))
    }

    fn to_json(&self, value: &[u8]) -> Result<String, StoreError> {
        serde_json::to_string(&self.decode(value)?).map_err(|error| StoreError::Damaged {
            kind: self.name,
            reason: format!("it cannot be written as JSON: {error}"),
        })
    }

    fn parse_json(&self, text: &str) -> Result<Value, RecordJsonError> {
        let kind = self.name;
        let invalid = |error| RecordJsonError::Invalid { kind, error };
        let mut json = serde_json::Deserializer::from_str(text);
        let mut unknown = None;
        let parsed = serde_ignored::deserialize(&mut json, |path| {
            // The path of an optional value has a `?`.
            unknown.get_or_insert_with(|| path.to_string().replace("?.", ""));
        });
        let record = parsed.map_err(invalid)?;
        json.end().map_err(invalid)?;
        match unknown {
            Some(field) => Err(RecordJsonError::UnknownField(field)),
            None => Ok(self.encode(&record)),
        }
    }
}

#[cfg(test)]
mod tests;
