//! Runs that wait for a lease on another backend.
//!
//! They wait here and not at the backend, so that the dispatcher alone decides which run is next, keeps the turns of the tiers, and
//! knows how many runs wait.

use super::lease::BackendLease;
use std::collections::VecDeque;
use tintype_storage::domain::ids::AccountId;
use tokio::sync::oneshot;

/// A run's request for a lease on the first of its routes whose breaker admits runs.
pub struct LeaseRequest {
    pub account: AccountId,
    /// Indices into the tier's routes, in order of preference.
    pub routes: Vec<usize>,
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

    /// The number of waiting runs whose routes match.
    pub fn waiting(&self, matches: impl Fn(&[usize]) -> bool) -> usize {
        let waiting = self.0.iter().filter(|it| !it.reply.is_closed());
        waiting.filter(|it| matches(&it.routes)).count()
    }

    /// Does a run of another account wait for one of the routes that match?
    pub fn has_other(&self, account: AccountId, matches: impl Fn(&[usize]) -> bool) -> bool {
        let mut waiting = self.0.iter().filter(|it| !it.reply.is_closed());
        waiting.any(|it| it.account != account && matches(&it.routes))
    }

    /// Takes the first request for which `lease` returns a lease. Drops the requests of ended runs.
    pub fn next<L>(
        &mut self,
        mut lease: impl FnMut(&[usize]) -> Option<L>,
    ) -> Option<(LeaseRequest, L)> {
        self.0.retain(|it| !it.reply.is_closed());
        let found = self.0.iter().enumerate();
        let (at, lease) = found
            .filter_map(|(at, it)| Some((at, lease(&it.routes)?)))
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
        for routes in [vec![1], vec![2, 1], vec![2]] {
            let (reply, receiver) = oneshot::channel();
            let account = AccountId(uuid::Uuid::from_u128(1));
            queue.push(LeaseRequest {
                account,
                routes,
                reply,
            });
            receivers.push(receiver);
        }
        let [own, other] = [1, 2].map(|it| AccountId(uuid::Uuid::from_u128(it)));
        assert!(queue.has_other(other, |routes| routes.contains(&2)));
        assert!(!queue.has_other(other, |routes| routes.contains(&3)));
        assert!(!queue.has_other(own, |_| true));
        let first = |routes: &[usize]| (routes[0] == 2).then_some("lease");
        let (request, lease) = queue.next(first).expect("the second request");
        assert_eq!((request.routes, lease), (vec![2, 1], "lease"));
        drop(receivers.pop());
        assert!(queue.next(first).is_none(), "the third run has ended");
        assert_eq!(queue.len(), 1);
        assert!(!queue.is_empty());
    }
}
