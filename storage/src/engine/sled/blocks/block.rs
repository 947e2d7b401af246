//! The bytes of a block: its records in order, each key without the part that it shares with the one before.

use super::super::super::EngineError;
use super::super::damaged;
use super::large_value::LargeValue;
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// The approximate most bytes of a record's header.
const HEADER_BYTES: usize = 6;

/// A record in a block.
pub struct Record<'a> {
    pub key: Cow<'a, [u8]>,
    pub value: StoredValue<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StoredValue<'a> {
    Inline(#[serde(borrow, serialize_with = "as_bytes")] &'a [u8]),
    Large(LargeValue),
}

#[derive(Serialize, Deserialize)]
struct Entry<'a> {
    /// The length of the part that the key shares with the previous one, or the first one with the block's key.
    shared: usize,
    #[serde(borrow, serialize_with = "as_bytes")]
    rest: &'a [u8],
    #[serde(borrow)]
    value: StoredValue<'a>,
}

/// serde would write a slice byte by byte.
fn as_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

impl Record<'_> {
    /// The approximate size in a block behind `previous`.
    pub fn bytes_after(&self, previous: &[u8]) -> usize {
        let value = match self.value {
            StoredValue::Inline(value) => value.len(),
            StoredValue::Large(_) => HEADER_BYTES,
        };
        HEADER_BYTES + self.key.len() - shared_prefix(previous, &self.key) + value
    }
}

pub fn encode(block: &[u8], records: &[Record<'_>]) -> Result<Vec<u8>, EngineError> {
    let (mut bytes, mut previous) = (Vec::new(), block);
    for Record { key, value } in records {
        let shared = shared_prefix(previous, key);
        let entry = Entry {
            shared,
            rest: &key[shared..],
            value: *value,
        };
        bytes = postcard::to_extend(&entry, bytes)
            .map_err(|error| EngineError::Failed(format!("a block: {error}")))?;
        previous = key;
    }
    Ok(bytes)
}

/// Reads the wanted records up to the first one that is not within the block. Copies no other keys.
pub fn decode<'a>(
    block: &[u8],
    bytes: &'a [u8],
    is_within: impl Fn(&[u8]) -> bool,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> Result<Vec<Record<'a>>, EngineError> {
    let mut records = Vec::new();
    let mut entries = Entries::new(block, bytes);
    while let Some(value) = entries.next()? {
        let key = entries.key();
        if !is_within(key) {
            break;
        }
        if is_wanted(key) {
            let key = Cow::Owned(key.to_vec());
            records.push(Record { key, value });
        }
    }
    Ok(records)
}

/// The value of a key.
pub fn find<'a>(
    block: &[u8],
    bytes: &'a [u8],
    key: &[u8],
) -> Result<Option<StoredValue<'a>>, EngineError> {
    let mut entries = Entries::new(block, bytes);
    while let Some(value) = entries.next()? {
        if entries.key() >= key {
            return Ok((entries.key() == key).then_some(value));
        }
    }
    Ok(None)
}

/// Reads a block record by record.
pub struct Entries<'a> {
    rest: &'a [u8],
    /// The key of the last record.
    key: Vec<u8>,
}

impl<'a> Entries<'a> {
    pub fn new(block: &[u8], bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            key: block.to_vec(),
        }
    }

    /// The key of the record whose value `next` has returned.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The value of the next record.
    pub fn next(&mut self) -> Result<Option<StoredValue<'a>>, EngineError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (entry, rest) =
            postcard::take_from_bytes::<Entry<'_>>(self.rest).map_err(|_| damaged())?;
        if entry.shared > self.key.len() {
            return Err(damaged());
        }
        self.rest = rest;
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(entry.rest);
        Ok(Some(entry.value))
    }
}

/// The length of the common start.
fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
