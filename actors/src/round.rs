//! Rounds with an outcome for which one task waits.

use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{EngineError, Key, ReadRequest, ReadResults, Round, RoundStep};
use tintype_storage::store::{Store, StoreError, Writes};
use tokio::sync::oneshot;

/// A decision that builds on records of the store.
pub trait Decision: Send + 'static {
    type Outcome: Send + 'static;

    /// See [`Round::locked_keys`].
    fn locked_keys(&self) -> Vec<Key>;

    /// See [`Round::initial_reads`].
    fn initial_reads(&self) -> Vec<ReadRequest>;

    /// See [`Round::decide`].
    ///
    /// # Errors
    /// A record is damaged.
    fn decide(&self, reads: &ReadResults) -> Result<DecisionStep<Self::Outcome>, StoreError>;

    /// See [`Round::fences`]. Called after the decision.
    fn fences(&self, _outcome: &Self::Outcome) -> Option<NodeId> {
        None
    }
}

pub enum DecisionStep<T> {
    Write(Writes, T),
    /// The decision needs these reads too.
    Read(Vec<ReadRequest>),
}

impl<T> DecisionStep<T> {
    /// The outcome of a decision that changes nothing.
    pub fn unchanged(outcome: T) -> Self {
        Self::Write(Writes::new(), outcome)
    }
}

/// Makes a decision, and returns its outcome once it is durable.
///
/// # Errors
/// The engine fails, or a record is damaged.
pub async fn decide<D: Decision>(store: &Store, decision: D) -> Result<D::Outcome, StoreError> {
    let (reply, outcome) = oneshot::channel();
    // The waiting task may have ended with the process.
    decide_then(store, decision, |outcome| drop(reply.send(outcome)));
    outcome
        .await
        .unwrap_or(Err(StoreError::Engine(EngineError::Stopped)))
}

/// Makes a decision, and calls `end` on the engine's thread once its outcome is durable.
pub fn decide_then<D: Decision>(
    store: &Store,
    decision: D,
    end: impl FnOnce(Result<D::Outcome, StoreError>) + Send + 'static,
) {
    store.decide(Box::new(Running {
        decision,
        outcome: None,
        end,
    }));
}

struct Running<D: Decision, E> {
    decision: D,
    outcome: Option<Result<D::Outcome, StoreError>>,
    end: E,
}

impl<D, E> Round for Running<D, E>
where
    D: Decision,
    E: FnOnce(Result<D::Outcome, StoreError>) + Send,
{
    fn locked_keys(&self) -> Vec<Key> {
        self.decision.locked_keys()
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        self.decision.initial_reads()
    }

    fn decide(&mut self, reads: &ReadResults) -> RoundStep {
        match self.decision.decide(reads) {
            Ok(DecisionStep::Read(requests)) => RoundStep::Read(requests),
            Ok(DecisionStep::Write(writes, outcome)) => {
                self.outcome = Some(Ok(outcome));
                RoundStep::Write(writes)
            }
            Err(error) => {
                self.outcome = Some(Err(error));
                RoundStep::Write(Writes::new())
            }
        }
    }

    fn fences(&self) -> Option<NodeId> {
        match &self.outcome {
            Some(Ok(outcome)) => self.decision.fences(outcome),
            Some(Err(_)) | None => None,
        }
    }

    fn done(self: Box<Self>, durable: Result<(), EngineError>) {
        let Self { outcome, end, .. } = *self;
        let stopped = || Err(StoreError::Engine(EngineError::Stopped));
        end(match durable {
            Ok(()) => outcome.unwrap_or_else(stopped),
            Err(error) => Err(error.into()),
        });
    }
}
