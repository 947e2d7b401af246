//! Loads an export into an empty store.

use super::ReadError;
use super::read::{Entry, Reader, Summary};
use crate::engine::{Direction, Engine, Key, KeyRange, Value, commit_and_wait};
use crate::store::DueEntry;
use crate::store::tables::{DELIVERIES, DUE_DELIVERIES, LIVE_JOBS, UNFINISHED};
use std::collections::BTreeMap;
use std::io::BufRead;

/// Bytes per commit.
const COMMIT_BYTES: usize = 256 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct LoadOutcome {
    pub summary: Summary,
    /// Jobs that the service will run.
    pub live_jobs: u64,
    /// Deliveries that the service will attempt.
    pub pending_deliveries: u64,
}

/// Reads an export to its end, shows each record to `each` and commits it.
///
/// After a late fault the earlier records stay in the store: the caller must not use such a store.
pub fn load(
    engine: &dyn Engine,
    source: impl BufRead,
    mut each: impl FnMut(&Entry),
) -> Result<LoadOutcome, ReadError> {
    let held = engine
        .scan(&KeyRange::prefix(b""), Direction::Rising, 2)
        .wait()?;
    if held.iter().any(|(key, _)| *key != UNFINISHED.key(&())) {
        return Err(ReadError::NotEmpty);
    }
    let mut reader = Reader::new(source)?;
    let (mut writes, mut bytes) = (BTreeMap::new(), 0);
    let (mut live_jobs, mut pending_deliveries) = (0, 0);
    while let Some(entry) = reader.read()? {
        each(&entry);
        live_jobs += u64::from(entry.kind == LIVE_JOBS.name());
        bytes += entry.key.len() + entry.value.len();
        // The export omits the due index.
        if let Some((due, in_index)) = due_of(&entry) {
            pending_deliveries += 1;
            bytes += due.len() + in_index.len();
            writes.insert(due, Some(in_index));
        }
        writes.insert(entry.key, Some(entry.value));
        if bytes > COMMIT_BYTES {
            commit_and_wait(engine, std::mem::take(&mut writes).into_iter().collect())?;
            bytes = 0;
        }
    }
    commit_and_wait(engine, writes.into_iter().collect())?;
    let summary = reader.summary().ok_or_else(|| ReadError::Line {
        line: reader.line(),
        reason: "it was not read to its end".into(),
    })?;
    Ok(LoadOutcome {
        summary,
        live_jobs,
        pending_deliveries,
    })
}

/// The due-index entry of a pending delivery.
fn due_of(entry: &Entry) -> Option<(Key, Value)> {
    // The reader has just encoded the record.
    let (_, delivery) = DELIVERIES.entry(&entry.key, &entry.value).ok()??;
    let entry = DueEntry::of(&delivery)?;
    Some((
        DUE_DELIVERIES.key(&entry.key()),
        DUE_DELIVERIES.encode(&entry),
    ))
}
