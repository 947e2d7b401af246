//! The configured backends, their slots and breakers, and the runs that wait to fail over.

use super::breaker::{Breaker, BreakerEvent, BreakerState};
use super::failover_queue::{FailoverQueue, LeaseKind, LeaseRequest};
use super::health::{BackendError, BackendHealth, Contact, Health};
use super::lease::BackendLease;
use crate::ports::Generator;
use crate::process_context::DurableBackendPauses;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::backend_pauses::BackendPause;
use tintype_storage::domain::ids::AccountId;
use tintype_storage::domain::shared_slots::SlotRequest;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::Instant;

pub struct Backend {
    /// The configured name.
    pub name: String,
    pub generator: Arc<dyn Generator>,
    /// Concurrent runs.
    pub slots: usize,
    /// Do all nodes share the slots? Otherwise each node has as many.
    pub is_shared: bool,
    /// The longest time of one attempt.
    pub timeout: Duration,
    /// Further attempts after a transient failure.
    pub retries: u32,
}

/// A node's demand for slots of a shared backend.
pub struct SlotDemand {
    /// The index of the backend.
    pub backend: usize,
    pub request: SlotRequest,
    /// Has the node just released slots?
    pub has_released: bool,
    /// Can runs of the tier begin on the backend?
    pub may_begin: bool,
}

/// One entry of a tier's list of backends.
#[derive(Clone, Debug)]
pub struct Route {
    /// The index of the backend.
    pub backend: usize,
    /// The backend's name for the model.
    pub model: Option<String>,
    /// The backend's share of the runs of a weighted tier. There, a backend without a weight is in reserve.
    pub weight: Option<u32>,
}

/// The backends of each tier, in order of preference; at least one each.
#[derive(Clone, Debug)]
pub struct Routes(pub [Vec<Route>; 3]);

impl Routes {
    pub fn of(&self, tier: Tier) -> &[Route] {
        &self.0[tier.index()]
    }
}

struct PooledBackend {
    backend: Backend,
    breaker: Breaker,
    contact: Contact,
    free: Arc<Semaphore>,
    /// Do other nodes use its slots too?
    is_shared: bool,
    /// Slots that this process may use.
    held: Mutex<usize>,
}

impl PooledBackend {
    fn health(&self, pause: Option<BackendPause>, now: Instant) -> BackendHealth {
        let last = self.contact.last();
        let (health, faults, probe_in) = match self.breaker.state() {
            BreakerState::Closed { streak } => (last.while_closed(), streak.faults, None),
            BreakerState::Open { until, streak, .. } => {
                let wait = until.saturating_duration_since(now);
                (Health::Down, streak.faults, Some(wait))
            }
            BreakerState::HalfOpen { streak, .. } => (Health::Probing, streak.faults, None),
        };
        let free = self.free.available_permits();
        BackendHealth {
            name: self.backend.name.clone(),
            health,
            pause,
            faults,
            probe_in,
            slots: self.backend.slots,
            is_shared: self.is_shared,
            running: self.held.lock().saturating_sub(free),
            opened: self.breaker.opened(),
            last_answer_at: last.last_answer_at,
            last_error: last.last_error,
        }
    }
}

/// All backends. Issues the leases.
pub struct BackendPool {
    backends: Vec<PooledBackend>,
    routes: Routes,
    failover: [Mutex<FailoverQueue>; 3],
    /// Wakes the dispatcher when a slot becomes free, a run waits for one, or a breaker opens or closes.
    wake: Arc<Notify>,
    pauses: Arc<DurableBackendPauses>,
}

impl BackendPool {
    /// A single node owns all slots of its backends, also of shared ones.
    pub fn new(
        backends: Vec<Backend>,
        routes: Routes,
        wake: Arc<Notify>,
        is_cluster: bool,
        pauses: Arc<DurableBackendPauses>,
    ) -> Self {
        let pooled = |backend: Backend| {
            let is_shared = backend.is_shared && is_cluster;
            let held = if is_shared { 0 } else { backend.slots };
            PooledBackend {
                breaker: Breaker::new(&backend.name),
                contact: Contact::default(),
                free: Arc::new(Semaphore::new(held)),
                is_shared,
                held: Mutex::new(held),
                backend,
            }
        };
        Self {
            backends: backends.into_iter().map(pooled).collect(),
            routes,
            failover: Default::default(),
            wake,
            pauses,
        }
    }

    pub fn routes(&self, tier: Tier) -> &[Route] {
        self.routes.of(tier)
    }

    pub fn backend(&self, route: &Route) -> &Backend {
        &self.backends[route.backend].backend
    }

    pub fn contact(&self, route: &Route) -> &Contact {
        &self.backends[route.backend].contact
    }

    /// Is the route's backend not paused, and does its breaker admit runs?
    pub fn admits(&self, route: &Route, at: Instant) -> bool {
        !self.is_paused(route) && self.backends[route.backend].breaker.admits(at)
    }

    /// Has the operator paused the route's backend? Then it gets no new attempt.
    pub fn is_paused(&self, route: &Route) -> bool {
        self.pauses.read().of(&self.backend(route).name).is_some()
    }

    /// Are all backends of the tier paused?
    pub fn has_only_paused_backends(&self, tier: Tier) -> bool {
        self.routes(tier).iter().all(|it| self.is_paused(it))
    }

    /// Would a backend of the tier admit a run now? After the cool-down of its breaker it does: without a job nothing probes it.
    pub fn has_backend_in_service(&self, tier: Tier) -> bool {
        let now = Instant::now();
        self.routes(tier).iter().any(|it| self.admits(it, now))
    }

    /// Is each backend of the tier paused or in the cool-down of its breaker? While one is being probed, this is false, because its
    /// queue is served at once if the probe succeeds.
    pub fn is_out_of_service(&self, tier: Tier) -> bool {
        let now = Instant::now();
        let cools_down = |it: &Route| {
            let until = self.backends[it.backend].breaker.until();
            until.is_some_and(|until| now < until)
        };
        let mut routes = self.routes(tier).iter();
        routes.all(|it| self.is_paused(it) || cools_down(it))
    }

    /// Waits for the next change of the pauses after this call.
    pub fn pauses_changed(&self) -> Notified<'_> {
        self.pauses.changed()
    }

    /// The route to which a run fails over: the first of these whose backend admits runs. While all of their backends are paused, it is
    /// any route of the tier: a pause may last for days, and the run need not wait for its end if another backend works.
    pub fn failover_route(&self, tier: Tier, routes: &[usize], at: Instant) -> Option<usize> {
        let all = self.routes(tier);
        let is_in_service = |it: &usize| all.get(*it).is_some_and(|it| !self.is_paused(it));
        let admits = |it: &usize| all.get(*it).is_some_and(|it| self.admits(it, at));
        match routes.iter().any(is_in_service) {
            true => routes.iter().copied().find(admits),
            false => (0..all.len()).find(admits),
        }
    }

    pub fn has_free_slot(&self, route: &Route) -> bool {
        self.backends[route.backend].free.available_permits() > 0
    }

    /// The backends on which a run of a tier can begin once they have a free slot; see
    /// [`BackendSelection::for_start`](super::BackendSelection::for_start).
    fn starting(&self, tier: Tier, at: Instant) -> BTreeSet<usize> {
        let routes = || self.routes(tier).iter().filter(|it| self.admits(it, at));
        let weighted = routes().filter(|it| it.weight.is_some());
        let mut backends: BTreeSet<usize> = weighted.map(|it| it.backend).collect();
        if backends.is_empty() {
            backends.extend(routes().next().map(|it| it.backend));
        }
        backends
    }

    /// The number of runs of a tier that can begin now on backends that are not shared.
    pub fn own_slots(&self, tier: Tier, at: Instant) -> usize {
        let starting = self.starting(tier, at).into_iter();
        let own = starting.map(|it| &self.backends[it]);
        let own = own.filter(|it| !it.is_shared);
        own.map(|it| it.free.available_permits()).sum()
    }

    /// The slots of all backends of a tier together. A backend that is listed twice, with two models, counts once.
    pub fn slots(&self, tier: Tier) -> usize {
        self.slots_of(self.routes(tier).iter())
    }

    /// The same without the slots of paused backends.
    pub fn slots_in_service(&self, tier: Tier) -> usize {
        let routes = self.routes(tier).iter();
        self.slots_of(routes.filter(|it| !self.is_paused(it)))
    }

    fn slots_of<'a>(&self, routes: impl Iterator<Item = &'a Route>) -> usize {
        let backends: BTreeSet<usize> = routes.map(|it| it.backend).collect();
        let slots = backends.iter().map(|it| self.backends[*it].backend.slots);
        slots.sum()
    }

    /// Releases the slots of a tier's shared backends that no run of this node uses or waits for, and returns the demand for slots.
    /// `queued` are the jobs that wait at this node, by tier. While it cannot store images, no run calls its first backend.
    pub fn release_spare_slots(
        &self,
        tier: Tier,
        queued: [usize; 3],
        can_store: bool,
        at: Instant,
    ) -> Vec<SlotDemand> {
        let shared = self.routes(tier).iter().map(|it| it.backend);
        let shared: BTreeSet<usize> = shared.filter(|it| self.backends[*it].is_shared).collect();
        if shared.is_empty() {
            return Vec::new();
        }
        let starting = Tier::ALL.map(|it| (it, self.starting(it, at)));
        let demand = |backend: usize| {
            let pooled = &self.backends[backend];
            let mut held = pooled.held.lock();
            let begin = starting.iter().filter(|(_, it)| it.contains(&backend));
            let begin = begin.map(|(tier, _)| queued[tier.index()]);
            let wanted = begin.sum::<usize>() + self.waiting_for(backend, can_store, at);
            let free = pooled.free.available_permits();
            let spare = pooled.free.forget_permits(free.saturating_sub(wanted));
            *held = held.saturating_sub(spare);
            let begins = |(of, it): &(Tier, BTreeSet<usize>)| *of == tier && it.contains(&backend);
            SlotDemand {
                backend,
                request: SlotRequest {
                    backend: pooled.backend.name.clone(),
                    slots: pooled.backend.slots as u32,
                    keeps: *held as u32,
                    needs: wanted.saturating_sub(free) as u32,
                },
                has_released: spare > 0,
                may_begin: starting.iter().any(begins),
            }
        };
        shared.into_iter().map(demand).collect()
    }

    /// Adds slots of a shared backend that the store has granted to this node.
    pub fn add_slots(&self, backend: usize, slots: usize) {
        let pooled = &self.backends[backend];
        *pooled.held.lock() += slots;
        pooled.free.add_permits(slots);
    }

    /// The number of runs that wait for a lease on a backend.
    fn waiting_for(&self, backend: usize, can_store: bool, at: Instant) -> usize {
        let waiting = |tier: Tier| {
            let (routes, starting) = (self.routes(tier), self.starting(tier, at));
            let first = |of: &[usize]| {
                let route = self.failover_route(tier, of, at)?;
                routes.get(route).map(|it| it.backend)
            };
            let queue = self.failover_queue(tier).lock();
            queue.waiting(|kind| match kind {
                LeaseKind::Start(_) => can_store && starting.contains(&backend),
                LeaseKind::Failover(routes) => first(routes) == Some(backend),
            })
        };
        Tier::ALL.into_iter().map(waiting).sum()
    }

    /// A lease on the backend of a route of the tier; `None` while it is full or paused, or its breaker is open.
    pub fn lease(&self, tier: Tier, route: usize, at: Instant) -> Option<BackendLease> {
        let of_tier = self.routes(tier).get(route)?;
        if self.is_paused(of_tier) {
            return None;
        }
        let pooled = &self.backends[of_tier.backend];
        let permit = Arc::clone(&pooled.free).try_acquire_owned().ok()?;
        let pass = pooled.breaker.admit(at)?;
        Some(BackendLease::new(
            route,
            pass,
            permit,
            Arc::clone(&self.wake),
        ))
    }

    /// Queues a run of an account for a lease.
    pub fn request_lease(
        &self,
        account: AccountId,
        tier: Tier,
        kind: LeaseKind,
    ) -> oneshot::Receiver<BackendLease> {
        let (reply, lease) = oneshot::channel();
        let request = LeaseRequest {
            account,
            kind,
            reply,
        };
        self.failover_queue(tier).lock().push(request);
        self.wake.notify_one();
        lease
    }

    /// The runs of a tier that wait for a lease.
    pub fn failover_queue(&self, tier: Tier) -> &Mutex<FailoverQueue> {
        &self.failover[tier.index()]
    }

    /// When the next open breaker admits a probe.
    pub fn next_probe(&self, now: Instant) -> Option<Instant> {
        let all = self.backends.iter().filter_map(|it| it.breaker.until());
        all.filter(|until| *until > now).min()
    }

    /// When the next open breaker of a tier's backends in use admits a probe; `None` if none of them has an open one.
    pub fn next_probe_of(&self, tier: Tier) -> Option<Instant> {
        let routes = self.routes(tier).iter().filter(|it| !self.is_paused(it));
        let probes = routes.filter_map(|it| self.backends[it.backend].breaker.until());
        probes.min()
    }

    /// Ends each cool-down that only one account's requests may have caused, if a job of another account waits for the backend.
    /// `has_other` tells whether a queued job of the tier belongs to an account other than this one.
    pub fn end_cool_downs_for_others(
        &self,
        now: Instant,
        has_other: impl Fn(Tier, AccountId) -> bool,
    ) {
        for tier in Tier::ALL {
            for (at, route) in self.routes(tier).iter().enumerate() {
                let breaker = &self.backends[route.backend].breaker;
                let Some(suspect) = breaker.suspect(now) else {
                    continue;
                };
                let failover = self.failover_queue(tier).lock();
                let fails_over = failover.has_other(suspect, at);
                drop(failover);
                if fails_over || has_other(tier, suspect) {
                    breaker.record(BreakerEvent::CoolDownEnded, now);
                }
            }
        }
    }

    /// Records a test that generates no image. A passed test ends the breaker's cool-down, so the backend gets the next run at once.
    /// It marks only an untried backend as up, because no test shows that a backend can generate images.
    pub fn tested(&self, backend: usize, outcome: Result<Timestamp, BackendError>, now: Instant) {
        let Some(tested) = self.backends.get(backend) else {
            return;
        };
        match outcome {
            Err(error) => tested.contact.failed(error),
            Ok(at) => {
                if !tested.contact.last().has_any() {
                    tested.contact.responded(at);
                }
                tested.breaker.record(BreakerEvent::CoolDownEnded, now);
                self.wake.notify_one();
            }
        }
    }

    /// The state of each backend, in the order of the configuration.
    pub fn health(&self, now: Instant) -> Vec<BackendHealth> {
        let pauses = self.pauses.read();
        let health = |it: &PooledBackend| it.health(pauses.of(&it.backend.name).cloned(), now);
        self.backends.iter().map(health).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{GeneratedImage, GenerationTask, PortFuture};

    struct NoGenerator;

    impl Generator for NoGenerator {
        fn generate(&self, task: GenerationTask) -> PortFuture<GeneratedImage> {
            panic!("job {} has no backend", task.job);
        }
    }

    fn shared(name: &str) -> Backend {
        Backend {
            name: name.to_owned(),
            generator: Arc::new(NoGenerator),
            slots: 1,
            is_shared: true,
            timeout: Duration::from_secs(1),
            retries: 0,
        }
    }

    #[test]
    fn a_run_that_begins_late_needs_a_slot_of_a_backend_with_a_weight() {
        let route = |backend, weight| Route {
            backend,
            model: None,
            weight,
        };
        let routes = vec![route(0, None), route(1, Some(1))];
        let routes = Routes([routes, Vec::new(), Vec::new()]);
        let backends = vec![shared("reserve"), shared("main")];
        let pool = BackendPool::new(backends, routes, Arc::default(), true, Arc::default());
        let (tier, now) = (Tier::ALL[0], Instant::now());
        let needs = |can_store| {
            let demands = pool.release_spare_slots(tier, [0; 3], can_store, now);
            demands
                .iter()
                .map(|it| it.request.needs)
                .collect::<Vec<_>>()
        };
        let account = AccountId(uuid::Uuid::nil());
        let start = pool.request_lease(account, tier, LeaseKind::Start(None));
        assert_eq!(needs(true), [0, 1]);
        assert_eq!(needs(false), [0, 0]);
        drop(start);
        let _failover = pool.request_lease(account, tier, LeaseKind::Failover(vec![0]));
        assert_eq!(needs(false), [1, 0]);
    }
}
