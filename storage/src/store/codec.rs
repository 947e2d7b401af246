//! The stored form of a record: a version byte, then postcard.

use super::StoreError;
use crate::engine::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;

/// Reads one version of a record. Also returns the remaining bytes.
pub type Reader<R> = fn(&[u8]) -> postcard::Result<(R, &[u8])>;

/// The versions of a record before the current one, oldest first, with their readers.
pub type Earlier<R> = &'static [(u8, Reader<R>)];

/// The first change of a record's format creates version 2.
const FIRST_VERSION: u8 = 1;

/// The current version: one more than the last earlier one.
pub fn version<R: 'static>(earlier: Earlier<R>) -> u8 {
    earlier
        .last()
        .map_or(FIRST_VERSION, |(version, _)| version + 1)
}

/// Builds a key or a value in a reusable buffer, so that the result is one allocation of exact size: memory holds very many of
/// them.
pub fn exact_bytes(write: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    thread_local! {
        static DRAFT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut draft = DRAFT.take();
    draft.clear();
    let draft = write(draft);
    let exact = draft.as_slice().to_vec();
    DRAFT.set(draft);
    exact
}

pub fn encode<R: Serialize>(version: u8, record: &R) -> Value {
    exact_bytes(|mut bytes| {
        bytes.push(version);
        // Writing to a vector cannot fail, and no record holds a type that postcard refuses.
        postcard::to_extend(record, bytes).unwrap_or_default()
    })
}

/// Decodes the current version or an earlier one.
///
/// # Errors
/// The bytes are corrupt, or have a newer version.
pub fn decode<R: DeserializeOwned + 'static>(
    kind: &'static str,
    earlier: Earlier<R>,
    bytes: &[u8],
) -> Result<R, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { kind, reason };
    let (found, rest) = bytes
        .split_first()
        .ok_or_else(|| damaged("it is empty".into()))?;
    let newest = version(earlier);
    if *found > newest {
        let found = *found;
        return Err(StoreError::NewerFormat {
            kind,
            found,
            newest,
        });
    }
    let read = if *found == newest {
        postcard::take_from_bytes(rest)
    } else {
        let reader = earlier.iter().find(|(version, _)| version == found);
        let (_, reader) = reader.ok_or_else(|| damaged(format!("version {found} is unknown")))?;
        reader(rest)
    };
    let (record, rest) = read.map_err(|error| damaged(error.to_string()))?;
    // Another record may begin like this one; remaining bytes reveal it.
    if !rest.is_empty() {
        return Err(damaged(format!("{} bytes too many", rest.len())));
    }
    Ok(record)
}
