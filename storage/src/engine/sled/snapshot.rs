//! A snapshot of a store while commits continue: before a commit replaces a value that the reader has not passed yet, the old
//! value is kept for the reader.
//!
//! Neither sled nor the memtable keeps earlier values. Holding back sled's changes was refused: a slow reader would stop the
//! writers. This way writers never wait, and the few keys that change ahead of the reader cost memory. If there are too many,
//! the snapshot is abandoned.

use super::super::snapshot::{Snapshot, SnapshotError};
use super::super::{Direction, Engine as _, Key, KeyRange, Pairs, Value, write_size};
use super::SledEngine;
use super::blocks::{BlockTree, ReadError};
use super::memtable::{Changes, Memtable, Merge};
use parking_lot::{Mutex, MutexGuard};
use std::convert::Infallible;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Maximum bytes of old values.
const MAX_KEPT_BYTES: usize = 128 << 20;
/// The approximate overhead of an entry.
const ENTRY_BYTES: usize = 64;

/// The active snapshot, if any.
#[derive(Default)]
pub struct Snapshots {
    state: Mutex<Option<SnapshotState>>,
}

/// The reader's position and the old values kept for it.
pub struct SnapshotState {
    blocks: Arc<BlockTree>,
    /// The reader has all keys up to this one.
    passed: Option<Key>,
    /// The old values of later keys that have changed.
    before: Changes,
    bytes: usize,
    /// The reader is at the end.
    done: bool,
    /// The snapshot cannot be completed.
    fault: Option<SnapshotError>,
}

impl Snapshots {
    /// Starts keeping old values.
    pub fn begin(&self, blocks: Arc<BlockTree>) -> Result<(), SnapshotError> {
        let mut state = self.state.lock();
        if state.is_some() {
            return Err(SnapshotError::UnderWay);
        }
        *state = Some(SnapshotState {
            blocks,
            passed: None,
            before: Changes::new(),
            bytes: 0,
            done: false,
            fault: None,
        });
        Ok(())
    }

    /// Keeps the values of these keys. The caller holds the returned guard until the changes are visible; no snapshot starts or
    /// proceeds before.
    pub fn keep<'a>(
        &self,
        keys: impl Iterator<Item = &'a Key>,
        memtable: &Memtable,
    ) -> MutexGuard<'_, Option<SnapshotState>> {
        let mut state = self.state.lock();
        if let Some(kept) = &mut *state {
            keys.for_each(|key| kept.keep(key, memtable));
        }
        state
    }

    /// Moves the reader past `last`, or to the end. Returns the old values of the passed part.
    fn pass(&self, last: Option<&Key>) -> Result<Changes, SnapshotError> {
        let mut state = self.state.lock();
        let Some(kept) = &mut *state else {
            return Err(SnapshotError::Unable);
        };
        if let Some(fault) = &kept.fault {
            return Err(fault.clone());
        }
        let Some(last) = last else {
            kept.done = true;
            return Ok(std::mem::take(&mut kept.before));
        };
        let above = (Bound::Excluded(last.clone()), Bound::Unbounded);
        let above = above_of(&mut kept.before, above);
        let passed = std::mem::replace(&mut kept.before, above);
        let freed: usize = passed.iter().map(weight).sum();
        kept.bytes = kept.bytes.saturating_sub(freed);
        kept.passed = Some(last.clone());
        Ok(passed)
    }

    fn end(&self) {
        let ended = self.state.lock().take();
        // Freed without the lock: it may be large.
        drop(ended);
    }
}

fn above_of(changes: &mut Changes, range: (Bound<Key>, Bound<Key>)) -> Changes {
    match changes.range(range).next() {
        Some((first, _)) => {
            let first = first.clone();
            changes.split_off(&first)
        }
        None => Changes::new(),
    }
}

fn weight((key, value): (&Key, &Option<Value>)) -> usize {
    write_size(key, value.as_ref()) + ENTRY_BYTES
}

impl SnapshotState {
    fn keep(&mut self, key: &Key, memtable: &Memtable) {
        let is_passed = self.passed.as_ref().is_some_and(|passed| key <= passed);
        let is_needed = !self.done && self.fault.is_none() && !is_passed;
        if !is_needed || self.before.contains_key(key) {
            return;
        }
        // Read the memtable before sled. A failed read ends the snapshot, not the engine.
        let value = memtable.get(key).map_or_else(|| self.read_stored(key), Ok);
        match value {
            Ok(value) => {
                self.bytes += weight((key, &value));
                self.before.insert(key.clone(), value);
            }
            Err(fault) => self.give_up(fault),
        }
        if self.bytes > MAX_KEPT_BYTES {
            self.give_up(SnapshotError::Overrun(MAX_KEPT_BYTES));
        }
    }

    /// No flush replaces the value meanwhile: its change would be in the memtable.
    fn read_stored(&self, key: &Key) -> Result<Option<Value>, SnapshotError> {
        let read = catch_unwind(AssertUnwindSafe(|| self.blocks.get(key)));
        match read {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(ReadError::Failed(error))) => Err(error.into()),
            Ok(Err(ReadError::Replaced)) | Err(_) => Err(super::damaged().into()),
        }
    }

    fn give_up(&mut self, fault: SnapshotError) {
        self.fault.get_or_insert(fault);
        self.before = Changes::new();
        self.bytes = 0;
    }
}

pub struct SledSnapshot {
    engine: Arc<SledEngine>,
    passed: Option<Key>,
    ended: bool,
}

impl SledSnapshot {
    /// Reads the snapshot that the engine has just started.
    pub fn new(engine: Arc<SledEngine>) -> Self {
        Self {
            engine,
            passed: None,
            ended: false,
        }
    }
}

impl Snapshot for SledSnapshot {
    fn next(&mut self, limit: usize) -> Result<Pairs, SnapshotError> {
        while !self.ended {
            let range = KeyRange::prefix(b"");
            let range = match &self.passed {
                Some(passed) => range.above(passed.clone()),
                None => range,
            };
            let pairs = self.engine.scan(&range, Direction::Rising, limit).wait()?;
            // Old values replace the current ones of this part, and restore deleted ones.
            let last = pairs.last().map(|(key, _)| key.clone());
            self.ended = pairs.len() < limit;
            let last = last.filter(|_| !self.ended);
            let before = self.engine.state.snapshots.pass(last.as_ref())?;
            self.passed = last;
            let changes = before.into_iter().collect();
            let mut merge = Merge::new(changes, Direction::Rising, usize::MAX);
            for (key, value) in pairs {
                let Ok(_) = merge.add(key, |_| Ok::<_, Infallible>(value));
            }
            let found = merge.finish();
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }
}

impl Drop for SledSnapshot {
    fn drop(&mut self) {
        self.engine.state.snapshots.end();
    }
}
