//! Which back end the next run of a tier begins on.

use crate::breaker::Pass;
use crate::job::{JobContext, Route};
use crate::spread::Spread;
use std::sync::Arc;
use tintype_storage::domain::tier::Tier;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// A place for a run: where it begins.
pub struct Place {
    /// Which of the tier's routes.
    pub route: usize,
    /// The place.
    pub held: OwnedSemaphorePermit,
    /// The leave of the back end's breaker; `None` where the run goes there in spite of it, because no other is left.
    pub pass: Option<Pass>,
}

/// Finds places for the runs of one tier.
pub struct Lane {
    tier: Tier,
    weights: Vec<u32>,
    spread: Spread,
}

impl Lane {
    /// The lane of a tier.
    pub fn new(tier: Tier, routes: &[Route]) -> Self {
        Self {
            tier,
            weights: routes.iter().map(|it| it.weight.unwrap_or(0)).collect(),
            spread: Spread::default(),
        }
    }

    /// A place on the back end that the next run is to begin on, unless that one is full.
    ///
    /// Among back ends with weights it is the one whose turn it is of those with room. Else it is the first of the list that
    /// is not passed over; when all are, the first of all, for then waiting and trying is the best that is left.
    pub fn place(&mut self, context: &JobContext, at: Instant) -> Option<Place> {
        let routes = context.routes.of(self.tier);
        let admits = |route: &Route| context.breakers[route.backend].admits(at);
        let room = |route: &Route| context.backends[route.backend].places.available_permits() > 0;
        let shared = |it: &&Route| it.weight.is_some();
        let chosen = if routes.iter().filter(shared).any(admits) {
            let ready = |at: usize| admits(&routes[at]) && room(&routes[at]);
            self.spread.pick(&self.weights, ready)?
        } else {
            routes.iter().position(admits).unwrap_or(0)
        };
        let route = routes.get(chosen)?;
        let places = Arc::clone(&context.backends[route.backend].places);
        let held = places.try_acquire_owned().ok()?;
        Some(Place {
            route: chosen,
            held,
            pass: context.breakers[route.backend].admit(at),
        })
    }
}
