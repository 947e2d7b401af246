//! The configured backends, their slots and breakers, and the runs that wait to fail over.

use super::breaker::{Breaker, BreakerEvent};
use super::contact::{BackendError, Contact};
use super::failover_queue::{FailoverQueue, LeaseRequest};
use super::health::BackendHealth;
use super::lease::BackendLease;
use crate::ports::Generator;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::tier::Tier;
use tintype_storage::domain::time::Timestamp;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::Instant;

pub struct Backend {
    /// The operator's name for it.
    pub name: String,
    pub generator: Arc<dyn Generator>,
    /// How many runs it takes at a time.
    pub slots: usize,
    /// The longest time of one try.
    pub timeout: Duration,
    /// Further tries after a failure that may pass.
    pub retries: u32,
}

/// One step of a tier's list of backends.
#[derive(Clone, Debug)]
pub struct Route {
    /// The index of the backend.
    pub backend: usize,
    /// The backend's own name of the model.
    pub model: Option<String>,
    /// The backend's share of the runs, where the tier spreads them. A backend without a weight beside others with one is in
    /// reserve.
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

struct Pooled {
    backend: Backend,
    breaker: Breaker,
    contact: Contact,
    free: Arc<Semaphore>,
}

/// All backends. Leases come from here.
pub struct BackendPool {
    backends: Vec<Pooled>,
    routes: Routes,
    failover: [Mutex<FailoverQueue>; 3],
    /// Wakes the dispatcher when a slot becomes free, or a run waits for one.
    wake: Arc<Notify>,
}

impl BackendPool {
    pub fn new(backends: Vec<Backend>, routes: Routes, wake: Arc<Notify>) -> Self {
        let pooled = |backend: Backend| Pooled {
            breaker: Breaker::new(&backend.name),
            contact: Contact::default(),
            free: Arc::new(Semaphore::new(backend.slots)),
            backend,
        };
        Self {
            backends: backends.into_iter().map(pooled).collect(),
            routes,
            failover: Default::default(),
            wake,
        }
    }

    pub fn routes(&self, tier: Tier) -> &[Route] {
        self.routes.of(tier)
    }

    /// The backend that a route leads to.
    pub fn backend(&self, route: &Route) -> &Backend {
        &self.backends[route.backend].backend
    }

    /// What was last seen of the backend that a route leads to.
    pub fn contact(&self, route: &Route) -> &Contact {
        &self.backends[route.backend].contact
    }

    /// Does the breaker of this route's backend let runs through?
    pub fn admits(&self, route: &Route, at: Instant) -> bool {
        self.backends[route.backend].breaker.admits(at)
    }

    /// Has this route's backend a free slot?
    pub fn has_free_slot(&self, route: &Route) -> bool {
        self.backends[route.backend].free.available_permits() > 0
    }

    /// How many runs of a tier could begin now.
    pub fn free_slots(&self, tier: Tier, at: Instant) -> usize {
        let mut backends: Vec<usize> = self.routes(tier).iter().map(|it| it.backend).collect();
        backends.sort_unstable();
        backends.dedup();
        backends
            .into_iter()
            .map(|it| &self.backends[it])
            .filter(|it| it.breaker.admits(at))
            .map(|it| it.free.available_permits())
            .sum()
    }

    /// A lease on the backend of one of the tier's routes; `None` while it is full or its breaker is open.
    pub fn lease(&self, tier: Tier, route: usize, at: Instant) -> Option<BackendLease> {
        let pooled = &self.backends[self.routes(tier).get(route)?.backend];
        let permit = Arc::clone(&pooled.free).try_acquire_owned().ok()?;
        let pass = pooled.breaker.admit(at)?;
        Some(BackendLease::new(
            route,
            pass,
            permit,
            Arc::clone(&self.wake),
        ))
    }

    /// Has a run wait for a lease on one of these routes.
    pub fn request_lease(&self, tier: Tier, routes: Vec<usize>) -> oneshot::Receiver<BackendLease> {
        let (reply, lease) = oneshot::channel();
        let request = LeaseRequest { routes, reply };
        self.failover_queue(tier).lock().push(request);
        self.wake.notify_one();
        lease
    }

    /// The runs of a tier that wait for a lease.
    pub fn failover_queue(&self, tier: Tier) -> &Mutex<FailoverQueue> {
        &self.failover[tier.index()]
    }

    /// When the next breaker that is open lets a probe through.
    pub fn next_probe(&self, now: Instant) -> Option<Instant> {
        let all = self.backends.iter().filter_map(|it| it.breaker.until());
        all.filter(|until| *until > now).min()
    }

    /// Learns what a test found that makes no picture: a backend that works gets the next run at once, whatever its breaker
    /// waited for. Only a backend that nothing was seen of is up by it: that a picture can be made, no test shows.
    pub fn tested(&self, backend: usize, outcome: Result<Timestamp, BackendError>, now: Instant) {
        let Some(tested) = self.backends.get(backend) else {
            return;
        };
        match outcome {
            Err(error) => tested.contact.failed(error),
            Ok(at) => {
                if !tested.contact.seen().is_anything() {
                    tested.contact.answered(at);
                }
                tested.breaker.record(BreakerEvent::Tested, now);
                self.wake.notify_one();
            }
        }
    }

    /// The state of each backend, in the order of the configuration.
    pub fn health(&self, now: Instant) -> Vec<BackendHealth> {
        let health = |it: &Pooled| {
            let free = it.free.available_permits();
            let seen = it.contact.seen();
            BackendHealth::new(
                &it.backend.name,
                &it.breaker,
                seen,
                now,
                it.backend.slots,
                free,
            )
        };
        self.backends.iter().map(health).collect()
    }
}
