//! The only way to commit: the writes of a decision, then the continuation once they are durable. A failure stops the service
//! first.

use super::{Store, Writes};
use crate::domain::ids::NodeId;
use crate::engine::{
    Commit, EngineError, Key, OnFailure, ReadRequest, ReadResults, Round, RoundStep,
};
use std::sync::Arc;

impl Store {
    /// Calls `on_failure` on each failed commit, before the commit's waiters learn of it.
    pub fn failing_to(self, on_failure: OnFailure) -> Self {
        Self { on_failure, ..self }
    }

    /// Commits writes. Calls `then` once on the engine's thread: `then` must be quick and must not call the engine.
    pub fn commit(
        &self,
        writes: Writes,
        then: impl FnOnce(Result<(), EngineError>) + Send + 'static,
    ) {
        let on_failure = Arc::clone(&self.on_failure);
        let done = Box::new(move |outcome: Result<(), EngineError>| {
            if let Err(error) = &outcome {
                on_failure(error);
            }
            then(outcome);
        });
        self.engine.submit(Commit { writes, done });
    }

    /// Submits a round: the engine reads for it, lets it decide, and commits.
    pub fn decide(&self, round: Box<dyn Round>) {
        let on_failure = Arc::clone(&self.on_failure);
        let watched = WatchedRound { round, on_failure };
        Arc::clone(&self.engine).round(Box::new(watched));
    }
}

/// Reports a failed round.
struct WatchedRound {
    round: Box<dyn Round>,
    on_failure: OnFailure,
}

impl Round for WatchedRound {
    fn locked_keys(&self) -> Vec<Key> {
        self.round.locked_keys()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        self.round.initial_reads()
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        self.round.decide(reads)
    }

    fn fences(&self) -> Option<NodeId> {
        self.round.fences()
    }

    fn done(self: Box<Self>, outcome: Result<(), EngineError>) {
        if let Err(error) = &outcome {
            (self.on_failure)(error);
        }
        self.round.done(outcome);
    }
}
