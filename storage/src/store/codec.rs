//! How a record is stored: a version byte, then postcard.

use super::StoreError;
use crate::engine::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::Cell;

/// Reads one format of a record; also returns the bytes that were left over.
pub type Reader<R> = fn(&[u8]) -> postcard::Result<(R, &[u8])>;

/// The formats of a record before the present one, oldest first: the version of each, and what reads it.
pub type Earlier<R> = &'static [(u8, Reader<R>)];

/// The version of a record that is changed for the first time is 2.
const FIRST_VERSION: u8 = 1;

/// The version of the present format: one more than the last of the earlier ones.
pub fn version<R: 'static>(earlier: Earlier<R>) -> u8 {
    earlier
        .last()
        .map_or(FIRST_VERSION, |(version, _)| version + 1)
}

pub fn encode<R: Serialize>(version: u8, record: &R) -> Value {
    thread_local! {
        /// Where a record grows, so that what is kept of it is allocated once and as long as it is.
        static DRAFT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut draft = DRAFT.take();
    draft.clear();
    draft.push(version);
    // Writing to a vector cannot fail, and no record holds a type that postcard refuses.
    let draft = postcard::to_extend(record, draft).unwrap_or_default();
    let encoded = draft.as_slice().to_vec();
    DRAFT.set(draft);
    encoded
}

/// Decodes a record of this kind in the present format or an earlier one.
pub fn decode<R: DeserializeOwned + 'static>(
    kind: &'static str,
    earlier: Earlier<R>,
    bytes: &[u8],
) -> Result<R, StoreError> {
    let damaged = |reason: String| StoreError::Damaged { kind, reason };
    let (found, rest) = bytes
        .split_first()
        .ok_or_else(|| damaged("it is empty".into()))?;
    let read = if *found == version(earlier) {
        postcard::take_from_bytes(rest)
    } else {
        let reader = earlier.iter().find(|(version, _)| version == found);
        let (_, reader) = reader.ok_or_else(|| damaged(format!("version {found} is unknown")))?;
        reader(rest)
    };
    let (record, rest) = read.map_err(|error| damaged(error.to_string()))?;
    // A record of another shape may begin like this one; what is left over gives it away.
    if !rest.is_empty() {
        return Err(damaged(format!("{} bytes too many", rest.len())));
    }
    Ok(record)
}
