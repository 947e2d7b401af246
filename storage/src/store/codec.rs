//! The stored form of a record: a version byte, then postcard.

use super::StoreError;
use crate::engine::Value;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
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
    let newest = version(earlier);
    let (found, rest) = split_version(kind, newest, bytes)?;
    let read = if found == newest {
        postcard::take_from_bytes(rest)
    } else {
        let reader = earlier.iter().find(|(version, _)| *version == found);
        let (_, reader) = reader.ok_or_else(|| unknown_version(kind, found))?;
        reader(rest)
    };
    whole(kind, read)
}

/// Decodes the current version only. Texts of type `&str` stay in `bytes`.
///
/// # Errors
/// The bytes are corrupt, or have another version.
pub fn decode_ref<'a, V: Deserialize<'a>>(
    kind: &'static str,
    newest: u8,
    bytes: &'a [u8],
) -> Result<V, StoreError> {
    let (found, rest) = split_version(kind, newest, bytes)?;
    match found == newest {
        true => whole(kind, postcard::take_from_bytes(rest)),
        false => Err(unknown_version(kind, found)),
    }
}

fn split_version<'a>(
    kind: &'static str,
    newest: u8,
    bytes: &'a [u8],
) -> Result<(u8, &'a [u8]), StoreError> {
    let (&found, rest) = bytes
        .split_first()
        .ok_or_else(|| damaged(kind, "it is empty"))?;
    match found > newest {
        true => Err(StoreError::NewerFormat {
            kind,
            found,
            newest,
        }),
        false => Ok((found, rest)),
    }
}

/// Another record may begin like this one; remaining bytes reveal it.
fn whole<V>(kind: &'static str, read: postcard::Result<(V, &[u8])>) -> Result<V, StoreError> {
    match read {
        Ok((record, [])) => Ok(record),
        Ok((_, rest)) => Err(damaged(kind, format!("{} bytes too many", rest.len()))),
        Err(error) => Err(damaged(kind, error.to_string())),
    }
}

fn unknown_version(kind: &'static str, found: u8) -> StoreError {
    damaged(kind, format!("version {found} is unknown"))
}

fn damaged(kind: &'static str, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged {
        kind,
        reason: reason.into(),
    }
}
