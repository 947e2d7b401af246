//! Rounds with an outcome for which one task waits.

use tintype_storage::domain::ids::NodeId;
use tintype_storage::engine::{EngineError, Key, ReadRequest, ReadResults, Round, RoundStep};
use tintype_storage::store::{RoundReads, Store, StoreError, Writes};
use tokio::sync::oneshot;

/// A decision that builds on records of the store.
pub trait Decision: Send + 'static {
    type Outcome: Send + 'static;

    /// See [`Round::locked_keys`].
    fn locked_keys(&self) -> Vec<Key>;

    /// See [`Round::initial_reads`].
    fn initial_reads(&self) -> Vec<ReadRequest>;

    /// See [`Round::decide`]. The round reads what `reads` misses, and decides again.
    ///
    /// # Errors
    /// A record is damaged, or was not read.
    fn decide(&self, reads: &RoundReads<'_>) -> Result<(Writes, Self::Outcome), StoreError>;

    /// See [`Round::fences`]. Called after the decision.
    fn fences(&self, _outcome: &Self::Outcome) -> Option<NodeId> {
        None
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
        let reads = RoundReads::new(reads);
        let decided = self.decision.decide(&reads);
        if reads.has_unread() {
            return RoundStep::Read(reads.take_unread());
        }
        let (writes, outcome) = match decided {
            Ok((writes, outcome)) => (writes, Ok(outcome)),
            Err(error) => (Writes::new(), Err(error)),
        };
        self.outcome = Some(outcome);
        RoundStep::Write(writes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::fresh;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tintype_storage::domain::ids::AccountId;
    use tintype_storage::domain::node::AccountLoad;
    use tintype_storage::engine::commit_and_wait;
    use tintype_storage::store::tables::ACCOUNT_LOADS;
    use uuid::Uuid;

    const ACCOUNTS: [AccountId; 3] = [
        AccountId(Uuid::from_u128(1)),
        AccountId(Uuid::from_u128(2)),
        AccountId(Uuid::from_u128(3)),
    ];

    /// Sums live jobs. Names none of its reads in advance.
    #[derive(Default)]
    struct SumJobs {
        calls: AtomicUsize,
    }

    impl Decision for SumJobs {
        /// The sum, and the number of calls of `decide`.
        type Outcome = (u64, usize);

        fn locked_keys(&self) -> Vec<Key> {
            Vec::new()
        }

        fn initial_reads(&self) -> Vec<ReadRequest> {
            Vec::new()
        }

        fn decide(&self, reads: &RoundReads<'_>) -> Result<(Writes, Self::Outcome), StoreError> {
            let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            let [first, others @ ..] = ACCOUNTS;
            let first = reads.get(&ACCOUNT_LOADS, &first)?.unwrap_or_default();
            let others = reads.get_all(&ACCOUNT_LOADS, others)?;
            let jobs = first.live_jobs + others.values().map(|it| it.live_jobs).sum::<u64>();
            Ok((Writes::new(), (jobs, calls)))
        }
    }

    #[tokio::test]
    async fn a_decision_that_forgot_a_read_decides_again_with_it() {
        let store = Store::new(fresh("1"));
        let load = |live_jobs| AccountLoad {
            live_jobs,
            ..AccountLoad::default()
        };
        let writes =
            [(0, 5), (2, 70)].map(|(at, jobs)| ACCOUNT_LOADS.put(&ACCOUNTS[at], &load(jobs)));
        commit_and_wait(&**store.engine(), writes.to_vec()).expect("commit");
        let (jobs, calls) = decide(&store, SumJobs::default()).await.expect("decided");
        assert_eq!(jobs, 75);
        assert_eq!(calls, 3, "one further step for the other two accounts");
    }
}
