//! Decisions for whose outcome a task waits.

use tintype_storage::engine::EngineError;
use tintype_storage::store::{Decision, Store, StoreError};
use tokio::sync::oneshot;

/// Makes a decision, and returns its outcome once it is durable.
pub async fn decide<D: Decision>(store: &Store, decision: D) -> Result<D::Outcome, StoreError> {
    let (reply, outcome) = oneshot::channel();
    // The waiting task may have ended with the process.
    store.decide(decision, |_, outcome| drop(reply.send(outcome)));
    outcome
        .await
        .unwrap_or(Err(StoreError::Engine(EngineError::Stopped)))
}
