//! Where the runs of a tier begin, and where they go on.

use crate::breaker::Pass;
use crate::job::{JobContext, Route};
use crate::spread::Spread;
use std::collections::BTreeSet;
use std::sync::Arc;
use tintype_storage::domain::tier::Tier;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// A place for a run.
pub struct Place {
    /// Which of the tier's routes.
    pub route: usize,
    /// The place.
    pub held: OwnedSemaphorePermit,
    /// The leave of the back end's breaker.
    pub pass: Pass,
}

/// Finds places for the runs of one tier.
pub struct Lane {
    tier: Tier,
    weights: Vec<u32>,
    spread: Spread,
    /// Places of all back ends of the tier together.
    capacity: usize,
}

impl Lane {
    /// The lane of a tier, before any place is taken.
    pub fn new(tier: Tier, context: &JobContext) -> Self {
        let routes = context.routes.of(tier);
        let backends: BTreeSet<usize> = routes.iter().map(|it| it.backend).collect();
        let places = |at: &usize| context.backends[*at].places.available_permits();
        Self {
            tier,
            weights: routes.iter().map(|it| it.weight.unwrap_or(0)).collect(),
            spread: Spread::default(),
            capacity: backends.iter().map(places).sum(),
        }
    }

    /// May another job begin, while so many runs of the tier wait for their next back end?
    ///
    /// A back end that gives every job back at once would else draw the whole queue into runs that only wait. One that gives
    /// back a job now and then goes on with the others meanwhile.
    pub fn takes_more(&self, waiting: usize) -> bool {
        waiting < self.capacity
    }

    /// A place on the back end that the next run is to begin on, unless that one is full.
    ///
    /// Among back ends with weights it is the one whose turn it is of those with room. Else it is the first of the list that
    /// is not passed over; when all are, jobs wait until one may be tried out.
    pub fn place(&mut self, context: &JobContext, at: Instant) -> Option<Place> {
        let routes = context.routes.of(self.tier);
        let admits = |route: &Route| context.breakers[route.backend].admits(at);
        let room = |route: &Route| context.backends[route.backend].places.available_permits() > 0;
        let shared = |it: &&Route| it.weight.is_some();
        let chosen = if routes.iter().filter(shared).any(admits) {
            let ready = |at: usize| admits(&routes[at]) && room(&routes[at]);
            self.spread.pick(&self.weights, ready)?
        } else {
            routes.iter().position(admits)?
        };
        take(context, routes, chosen, at)
    }

    /// A place for a run that goes on: on the first of these routes that is not passed over, unless that one is full.
    pub fn next(&self, context: &JobContext, ahead: &[usize], at: Instant) -> Option<Place> {
        let routes = context.routes.of(self.tier);
        let admits = |it: &&usize| {
            let route = routes.get(**it);
            route.is_some_and(|it| context.breakers[it.backend].admits(at))
        };
        take(context, routes, *ahead.iter().find(admits)?, at)
    }
}

fn take(context: &JobContext, routes: &[Route], chosen: usize, at: Instant) -> Option<Place> {
    let backend = routes.get(chosen)?.backend;
    let places = Arc::clone(&context.backends[backend].places);
    let held = places.try_acquire_owned().ok()?;
    Some(Place {
        route: chosen,
        held,
        pass: context.breakers[backend].admit(at)?,
    })
}
