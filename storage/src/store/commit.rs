//! Commits of writes that depend on no record, then the continuation once they are durable. A failure stops the service first.

use super::{Store, Writes};
use crate::engine::{Commit, EngineError, OnFailure};
use std::sync::Arc;

impl Store {
    /// Calls `on_failure` on each failed commit or decision, before its waiters learn of it.
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
}
