//! Runs that wait for a lease: on another backend, or because they gave up the lease with which they began.
//!
//! They wait here and not at the backend, so that the dispatcher alone decides which run is next, keeps the turns of the tiers, and
//! knows how many runs wait.

use super::lease::BackendLease;
use std::collections::VecDeque;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::oneshot;

/// On which of the tier's routes a run waits for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseKind {
    /// On one with which a run may begin. The run has given up a lease on the first route, if there is one, before it used it.
    Start(Option<usize>),
    /// On the first of these that is not paused and whose breaker admits runs: indices in order of preference.
    Failover(Vec<usize>),
}

/// A run's request for a lease.
pub struct LeaseRequest {
    pub account: AccountId,
    pub kind: LeaseKind,
    /// Closed if the run has ended meanwhile.
    pub reply: oneshot::Sender<BackendLease>,
}

/// The waiting runs of one tier, first in, first out.
#[derive(Default)]
pub struct FailoverQueue(VecDeque<LeaseRequest>);

impl FailoverQueue {
    pub fn push(&mut self, request: LeaseRequest) {
        self.0.push_back(request);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of waiting runs that match.
    pub fn waiting(&self, matches: impl Fn(&LeaseKind) -> bool) -> usize {
        let waiting = self.0.iter().filter(|it| !it.reply.is_closed());
        waiting.filter(|it| matches(&it.kind)).count()
    }

    /// Does a run of another account wait that may use this route?
    pub fn has_other(&self, account: AccountId, route: usize) -> bool {
        let may_use = |kind: &LeaseKind| match kind {
            LeaseKind::Start(_) => true,
            LeaseKind::Failover(routes) => routes.contains(&route),
        };
        let mut waiting = self.0.iter().filter(|it| !it.reply.is_closed());
        waiting.any(|it| it.account != account && may_use(&it.kind))
    }

    /// Takes the first request for which `lease` returns a lease. Drops the requests of ended runs.
    pub fn next<L>(
        &mut self,
        mut lease: impl FnMut(&LeaseKind) -> Option<L>,
    ) -> Option<(LeaseRequest, L)> {
        self.0.retain(|it| !it.reply.is_closed());
        let found = self.0.iter().enumerate();
        let (at, lease) = found
            .filter_map(|(at, it)| Some((at, lease(&it.kind)?)))
            .next()?;
        Some((self.0.remove(at)?, lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_with_a_lease_is_next_and_requests_of_ended_runs_are_dropped() {
        let mut queue = FailoverQueue::default();
        let mut receivers = Vec::new();
        let kinds = [vec![1], vec![2, 1], vec![2]].map(LeaseKind::Failover);
        for kind in kinds.clone() {
            let (reply, receiver) = oneshot::channel();
            let account = AccountId(uuid::Uuid::from_u128(1));
            queue.push(LeaseRequest {
                account,
                kind,
                reply,
            });
            receivers.push(receiver);
        }
        let [own, other] = [1, 2].map(|it| AccountId(uuid::Uuid::from_u128(it)));
        assert!(queue.has_other(other, 2));
        assert!(!queue.has_other(other, 3));
        assert!(!queue.has_other(own, 2));
        let first = |kind: &LeaseKind| (*kind != kinds[0]).then_some("lease");
        let (request, lease) = queue.next(first).expect("the second request");
        assert_eq!((request.kind, lease), (kinds[1].clone(), "lease"));
        drop(receivers.pop());
        assert!(queue.next(first).is_none(), "the third run has ended");
        assert_eq!(queue.len(), 1);
        assert!(!queue.is_empty());
    }
}
