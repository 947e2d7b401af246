//! An engine in memory, for tests.

use crate::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Holds, Key, KeyRange, Read, Round,
    Snapshot, SnapshotError, Value, oversized,
};
use parking_lot::Mutex;
use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

/// One ordered map. A commit is "durable" when it is submitted.
#[derive(Default)]
pub struct MemoryEngine {
    state: Mutex<State>,
    holds: Arc<Holds>,
    /// Each snapshot holds a clone.
    reading: Arc<()>,
}

#[derive(Default)]
struct State {
    pairs: BTreeMap<Key, Value>,
    commits: u64,
    closed: bool,
}

impl MemoryEngine {
    pub fn new() -> Self {
        Self::default()
    }

    /// A copy of the data, as a crash would leave it now.
    pub fn image(&self) -> BTreeMap<Key, Value> {
        self.state.lock().pairs.clone()
    }

    pub fn from_image(pairs: BTreeMap<Key, Value>) -> Self {
        Self {
            state: Mutex::new(State {
                pairs,
                ..State::default()
            }),
            ..Self::default()
        }
    }
}

impl Engine for MemoryEngine {
    fn get(&self, key: &[u8]) -> Read<Option<Value>> {
        Ok(self.state.lock().pairs.get(key).cloned()).into()
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Read<Vec<(Key, Value)>> {
        if range.is_empty() {
            return Ok(Vec::new()).into();
        }
        let state = self.state.lock();
        let pairs = state
            .pairs
            .range((range.from.clone(), range.to.clone()))
            .map(|(key, value)| (key.clone(), value.clone()));
        Ok(match direction {
            Direction::Rising => pairs.take(limit).collect(),
            Direction::Falling => pairs.rev().take(limit).collect(),
        })
        .into()
    }

    fn round(self: Arc<Self>, round: Box<dyn Round>) {
        let holds = Arc::clone(&self.holds);
        holds.run(self, round);
    }

    fn submit(&self, commit: Commit) {
        let outcome = match oversized(&commit.writes) {
            Some(error) => Err(error),
            None => self.apply(commit.writes),
        };
        (commit.done)(outcome);
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        let state = self.state.lock();
        if Arc::strong_count(&self.reading) > 1 {
            return Err(SnapshotError::UnderWay);
        }
        Ok(Box::new(Image {
            pairs: state.pairs.clone().into_iter(),
            _reading: Arc::clone(&self.reading),
        }))
    }

    fn stats(&self) -> EngineStats {
        let commits = self.state.lock().commits;
        EngineStats {
            commits,
            syncs: commits,
            ..EngineStats::default()
        }
    }

    fn close(&self) {
        self.state.lock().closed = true;
    }
}

/// The data at one point in time.
struct Image {
    pairs: btree_map::IntoIter<Key, Value>,
    _reading: Arc<()>,
}

impl Snapshot for Image {
    fn next(&mut self, limit: usize) -> Result<Vec<(Key, Value)>, SnapshotError> {
        Ok(self.pairs.by_ref().take(limit).collect())
    }
}

impl MemoryEngine {
    fn apply(&self, writes: Vec<(Key, Option<Value>)>) -> Result<(), EngineError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(EngineError::Stopped);
        }
        for (key, value) in writes {
            match value {
                Some(value) => state.pairs.insert(key, value),
                None => state.pairs.remove(&key),
            };
        }
        state.commits += 1;
        Ok(())
    }
}
