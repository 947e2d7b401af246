//! Layers over an engine: a layer overrides some methods and forwards the others.

use crate::domain::ids::NodeId;
use crate::engine::{
    Commit, Direction, Engine, EngineError, EngineStats, Holds, Key, KeyRange, Read, ReadRequest,
    ReadResults, Round, RoundStep, Snapshot, SnapshotError, TransactionNumbers, Value,
};
use std::sync::Arc;

/// An engine that forwards what it does not override.
pub trait Layer: Send + Sync + 'static {
    /// The wrapped engine.
    fn inner(&self) -> Arc<dyn Engine>;

    /// The key locks of this layer's rounds. Their commits go through [`Layer::submit`].
    fn holds(&self) -> &Arc<Holds>;

    /// May keep a round back, to run it later.
    fn admit_round(&self, round: Box<dyn Round>) -> Option<Box<dyn Round>> {
        Some(round)
    }

    /// May wrap a round before it runs.
    fn wrap_round(&self, round: Box<dyn Round>) -> Box<dyn Round> {
        round
    }

    /// See [`Engine::submit`].
    fn submit(&self, commit: Commit) {
        self.inner().submit(commit);
    }

    /// Called before the value of a key is read.
    fn before_get(&self, _key: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }

    /// Called after each scan.
    fn after_scan(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// See [`Engine::transactions`].
    fn transactions(&self) -> Read<Option<TransactionNumbers>> {
        self.inner().transactions()
    }

    /// See [`Engine::close`].
    fn close(&self) {
        self.inner().close();
    }
}

impl<L: Layer> Engine for L {
    fn get(&self, key: &[u8]) -> Read<Option<Value>> {
        match self.before_get(key) {
            Ok(()) => self.inner().get(key),
            Err(error) => Err(error).into(),
        }
    }

    fn scan(
        &self,
        range: &KeyRange,
        direction: Direction,
        limit: usize,
    ) -> Read<Vec<(Key, Value)>> {
        let found = self.inner().scan(range, direction, limit);
        match self.after_scan() {
            Ok(()) => found,
            Err(error) => Err(error).into(),
        }
    }

    fn round(self: Arc<Self>, round: Box<dyn Round>) {
        let Some(round) = self.admit_round(round) else {
            return;
        };
        let holds = Arc::clone(self.holds());
        let round = self.wrap_round(round);
        holds.run(self, round);
    }

    fn submit(&self, commit: Commit) {
        Layer::submit(self, commit);
    }

    fn snapshot(self: Arc<Self>) -> Result<Box<dyn Snapshot>, SnapshotError> {
        self.inner().snapshot()
    }

    fn stats(&self) -> EngineStats {
        self.inner().stats()
    }

    fn transactions(&self) -> Read<Option<TransactionNumbers>> {
        Layer::transactions(self)
    }

    fn room_for_bulk(&self) -> Read<()> {
        self.inner().room_for_bulk()
    }

    fn close(&self) {
        Layer::close(self);
    }
}

/// A round that decides twice, as after a lost race with another process.
pub struct DecidedTwice(pub Box<dyn Round>);

impl Round for DecidedTwice {
    fn locked_keys(&self) -> Vec<Key> {
        self.0.locked_keys()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        self.0.initial_reads()
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        match self.0.decide(reads) {
            RoundStep::Write(_) => self.0.decide(reads),
            requests => requests,
        }
    }

    fn fences(&self) -> Option<NodeId> {
        self.0.fences()
    }

    fn done(self: Box<Self>, outcome: Result<(), EngineError>) {
        self.0.done(outcome);
    }
}
