//! Selects the backend on which a run begins, and the one to which it fails over.

use super::failover_queue::LeaseKind;
use super::lease::BackendLease;
use super::pool::{BackendPool, Route};
use super::weighted_round_robin::WeightedRoundRobin;
use tintype_storage::domain::tier::Tier;
use tokio::time::Instant;

/// The selection for one tier.
pub struct BackendSelection {
    tier: Tier,
    weights: Vec<u32>,
    round_robin: WeightedRoundRobin,
    /// Slots of all backends of the tier together.
    slots: usize,
}

impl BackendSelection {
    pub fn new(tier: Tier, pool: &BackendPool) -> Self {
        let routes = pool.routes(tier);
        Self {
            tier,
            weights: routes.iter().map(|it| it.weight.unwrap_or(0)).collect(),
            round_robin: WeightedRoundRobin::default(),
            slots: pool.slots(tier),
        }
    }

    /// May another job begin while `waiting` runs of the tier wait for a lease?
    ///
    /// Without this bound, a backend that fails every job at once would turn the whole queue into waiting runs.
    pub fn accepts_more(&self, waiting: usize) -> bool {
        waiting < self.slots
    }

    /// A lease for a run that begins; `None` while the selected backend is full.
    ///
    /// Among weighted backends the round robin selects one with a free slot. Otherwise the first of the list that is not paused and whose
    /// breaker admits runs is selected. While there is none, jobs wait until a probe is due or a pause ends.
    pub fn for_start(&mut self, pool: &BackendPool, at: Instant) -> Option<BackendLease> {
        let routes = pool.routes(self.tier);
        let admits = |route: &Route| pool.admits(route, at);
        let weighted = |it: &&Route| it.weight.is_some();
        let selected = if routes.iter().filter(weighted).any(admits) {
            let ready = |at: usize| admits(&routes[at]) && pool.has_free_slot(&routes[at]);
            self.round_robin.pick(&self.weights, ready)?
        } else {
            routes.iter().position(admits)?
        };
        pool.lease(self.tier, selected, at)
    }

    /// A lease for a run that waits; `None` while it must wait.
    pub fn for_waiting(
        &mut self,
        pool: &BackendPool,
        kind: &LeaseKind,
        at: Instant,
    ) -> Option<BackendLease> {
        match kind {
            LeaseKind::Start(given_up) => self.for_late_start(pool, *given_up, at),
            LeaseKind::Failover(routes) => self.for_failover(pool, routes, at),
        }
    }

    /// [`Self::for_start`] for a run that gave up a lease on a route. The round robin has counted the run there, so the weighted route
    /// is the first choice; another pick would distort the shares.
    fn for_late_start(
        &mut self,
        pool: &BackendPool,
        given_up: Option<usize>,
        at: Instant,
    ) -> Option<BackendLease> {
        let routes = pool.routes(self.tier);
        let is_weighted = |it: &usize| routes.get(*it).is_some_and(|it| it.weight.is_some());
        let again = given_up.filter(is_weighted);
        let lease = again.and_then(|route| pool.lease(self.tier, route, at));
        lease.or_else(|| self.for_start(pool, at))
    }

    /// A lease for a run that [fails over](BackendPool::failover_route) to one of these routes; `None` while its backend is full.
    fn for_failover(
        &self,
        pool: &BackendPool,
        routes: &[usize],
        at: Instant,
    ) -> Option<BackendLease> {
        pool.lease(self.tier, pool.failover_route(self.tier, routes, at)?, at)
    }
}
