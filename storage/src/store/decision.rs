//! Decisions on records: the engine reads for them, lets them decide, and commits their writes.

use super::{RoundReads, Store, StoreError, Writes};
use crate::domain::ids::NodeId;
use crate::engine::{EngineError, Key, OnFailure, ReadRequest, ReadResults, Round, RoundStep};
use std::sync::Arc;

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
    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, Self::Outcome), StoreError>;

    /// See [`Round::fences`]. Called after the decision.
    fn fences(&self, _outcome: &Self::Outcome) -> Option<NodeId> {
        None
    }
}

impl Store {
    /// Makes a decision. Calls `end` once on the engine's thread, when the outcome is durable or the decision has failed: `end` must be
    /// quick and must not call the engine.
    pub fn decide<D: Decision>(
        &self,
        decision: D,
        end: impl FnOnce(D, Result<D::Outcome, StoreError>) + Send + 'static,
    ) {
        let running = Running {
            decision,
            outcome: None,
            on_failure: Arc::clone(&self.on_failure),
            end,
        };
        Arc::clone(&self.engine).round(Box::new(running));
    }
}

struct Running<D: Decision, E> {
    decision: D,
    /// The result of the last call of `decide`.
    outcome: Option<Result<D::Outcome, StoreError>>,
    on_failure: OnFailure,
    end: E,
}

impl<D, E> Round for Running<D, E>
where
    D: Decision,
    E: FnOnce(D, Result<D::Outcome, StoreError>) + Send,
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
        let outcome = match durable {
            Ok(()) => self.outcome.unwrap_or(Err(EngineError::Stopped.into())),
            Err(error) => {
                (self.on_failure)(&error);
                Err(error.into())
            }
        };
        (self.end)(self.decision, outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::AccountId;
    use crate::domain::node::AccountLoad;
    use crate::engine::{Engine as _, commit_and_wait};
    use crate::store::tables::ACCOUNT_LOADS;
    use crate::testing::memory::MemoryEngine;
    use std::sync::mpsc;
    use uuid::Uuid;

    const ACCOUNTS: [AccountId; 3] = [
        AccountId(Uuid::from_u128(1)),
        AccountId(Uuid::from_u128(2)),
        AccountId(Uuid::from_u128(3)),
    ];

    /// Sums live jobs, and records them as those of the first account. Names none of its reads in advance.
    #[derive(Default)]
    struct SumJobs {
        /// Calls of `decide`.
        calls: usize,
    }

    impl Decision for SumJobs {
        type Outcome = u64;

        fn locked_keys(&self) -> Vec<Key> {
            vec![ACCOUNT_LOADS.key(&ACCOUNTS[0])]
        }

        fn initial_reads(&self) -> Vec<ReadRequest> {
            Vec::new()
        }

        fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, u64), StoreError> {
            self.calls += 1;
            let [first, others @ ..] = ACCOUNTS;
            let load = reads.get(&ACCOUNT_LOADS, &first)?.unwrap_or_default();
            let others = reads.get_all(&ACCOUNT_LOADS, others)?;
            let jobs = load.live_jobs + others.values().map(|it| it.live_jobs).sum::<u64>();
            Ok((vec![ACCOUNT_LOADS.put(&first, &of_jobs(jobs))], jobs))
        }
    }

    fn of_jobs(live_jobs: u64) -> AccountLoad {
        AccountLoad {
            live_jobs,
            ..AccountLoad::default()
        }
    }

    #[test]
    fn a_decision_that_forgot_a_read_decides_again_with_it() {
        let store = Store::new(Arc::new(MemoryEngine::new()));
        let writes = [(0, 5), (2, 70)];
        let writes = writes.map(|(at, jobs)| ACCOUNT_LOADS.put(&ACCOUNTS[at], &of_jobs(jobs)));
        commit_and_wait(&**store.engine(), writes.to_vec()).expect("commit");
        let (sender, ended) = mpsc::channel();
        store.decide(SumJobs::default(), move |decision, jobs| {
            sender.send((jobs, decision.calls)).expect("a receiver");
        });
        let (jobs, calls) = ended.recv().expect("an end");
        assert_eq!(jobs.expect("decided"), 75);
        assert_eq!(calls, 3, "one further step for the other two accounts");
    }

    #[test]
    fn a_failure_is_reported_before_the_decision_ends() {
        let engine = Arc::new(MemoryEngine::new());
        let (sender, events) = mpsc::channel();
        let failed = sender.clone();
        let store = Store::new(Arc::clone(&engine) as _);
        let store = store.failing_to(Arc::new(move |_| failed.send("failure").expect("sent")));
        engine.close();
        store.decide(SumJobs::default(), move |_, jobs| {
            assert!(matches!(jobs, Err(StoreError::Engine(_))), "{jobs:?}");
            sender.send("end").expect("sent");
        });
        assert_eq!(events.try_iter().collect::<Vec<_>>(), ["failure", "end"]);
    }
}
