//! Writes a snapshot as lines, a bounded number at a time.

use super::line::{GivenUp, Header, Line, Trailer};
use super::{VERSION, WriteError};
use crate::engine::{Key, Snapshot, Value};
use crate::json;
use crate::store::tables::{table_of, unknown_key};
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Display;

/// Records per read; their lines form one block.
const STEP: usize = 256;

/// Writes all records of a snapshot in blocks of whole lines. Returns the number of records.
///
/// If the store cannot be read to its end, the last line says so.
pub fn write<E: Display>(
    mut snapshot: Box<dyn Snapshot>,
    mut sink: impl FnMut(Vec<u8>) -> Result<(), E>,
) -> Result<u64, WriteError<E>> {
    let mut digest = Sha256::new();
    let outcome = lines(&mut *snapshot, |block| {
        digest.update(&block);
        sink(block).map_err(WriteError::Sink)
    });
    // Freed before the last line, because the sink may be slow.
    drop(snapshot);
    let last = match &outcome {
        Ok(records) => line(&Trailer {
            records: *records,
            sha256: hex::encode(digest.finalize()),
        }),
        Err(WriteError::Sink(_)) => return outcome,
        Err(error) => line(&GivenUp {
            given_up: error.to_string(),
        }),
    };
    sink(last).map_err(WriteError::Sink)?;
    outcome
}

fn lines<E>(
    snapshot: &mut dyn Snapshot,
    mut sink: impl FnMut(Vec<u8>) -> Result<(), WriteError<E>>,
) -> Result<u64, WriteError<E>> {
    sink(line(&Header {
        tintype_export: VERSION,
        written_by: concat!("tintype ", env!("CARGO_PKG_VERSION")).into(),
    }))?;
    let mut records = 0;
    loop {
        let pairs = snapshot.next(STEP)?;
        if pairs.is_empty() {
            return Ok(records);
        }
        let mut block = Vec::new();
        for (key, value) in pairs {
            let line = record(&key, &value)?;
            records += u64::from(line.is_some());
            block.extend(line.into_iter().flatten());
        }
        sink(block)?;
    }
}

/// `None` for a record that exports omit.
fn record<E>(key: &Key, value: &Value) -> Result<Option<Vec<u8>>, WriteError<E>> {
    let Some(kind) = table_of(key) else {
        return Err(WriteError::UnknownKind(unknown_key(key)));
    };
    if !kind.is_exported() {
        return Ok(None);
    }
    let json = kind.to_json(value)?;
    let key_text = hex::encode(key);
    // A serializer's output is JSON.
    let json = RawValue::from_string(json).unwrap_or_default();
    Ok(Some(line(&Line {
        kind: Cow::Borrowed(kind.name()),
        key: Cow::Borrowed(&key_text),
        record: &json,
    })))
}

fn line(content: &impl Serialize) -> Vec<u8> {
    let mut line = json::to_bytes(content);
    line.push(b'\n');
    line
}
