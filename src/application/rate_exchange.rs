//! Rate limits over several nodes. Each node admits calls by buckets of its own, at the full rate. Four times a second it tells the others
//! what it has admitted, of the limits of which a quarter is used, and takes what the others have admitted out of its own buckets.
//!
//! So the limits hold in the long run. Until the nodes have heard of each other, each may admit a burst; what was admitted too much then is
//! paid back before the next call is admitted.

use super::call_limits::CallLimits;
use super::state::AppState;
use actix_web::web::Data;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::rate_count::{Limited, RateCount, RateCounts};
use tintype_storage::engine::{Direction, EngineError};
use tintype_storage::store::tables::{NODES, RATE_COUNTS};
use tintype_storage::store::{All, Store, StoreError, Writes};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

const EVERY: Duration = Duration::from_millis(250);

/// A limit at another node.
type Place = (NodeId, Limited, Uuid);

/// What a node has told and heard.
pub struct RateExchange {
    node: NodeId,
    told: Vec<RateCounts>,
    heard: HashMap<Place, u64>,
}

/// Runs until the process stops.
pub async fn run(state: Data<AppState>) {
    let Some(node) = state.system.node() else {
        return;
    };
    let mut exchange = RateExchange::new(node.id);
    let mut stopping = state.stopping.subscribe();
    let mut pulse = interval(EVERY);
    pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = pulse.tick() => {}
            _ = stopping.wait_for(|it| *it) => return,
        }
        if let Err(error) = exchange.turn(&state.store, &state.limits).await {
            return tracing::error!(%error, "rate limits are not shared with the other nodes any more");
        }
    }
}

/// Removes what nodes have told that are gone.
///
/// # Errors
/// The store fails.
pub async fn forget_gone_nodes(state: &AppState) -> Result<(), StoreError> {
    let (mut told, mut living) = (HashSet::new(), HashSet::new());
    // In this order: a node is on record before it tells anything.
    let add = |place: (NodeId, u32), _: RateCounts| {
        told.insert(place);
        Ok(())
    };
    RATE_COUNTS.each(&state.store, &All, add).await?;
    let add = |node: NodeId, _| {
        living.insert(node);
        Ok(())
    };
    NODES.each(&state.store, &All, add).await?;
    let gone = told.iter().filter(|(node, _)| !living.contains(node));
    let writes: Writes = gone.map(|place| RATE_COUNTS.delete(place)).collect();
    if !writes.is_empty() {
        state.commit(writes).await?;
    }
    Ok(())
}

impl RateExchange {
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            told: Vec::new(),
            heard: HashMap::new(),
        }
    }

    /// Tells the other nodes what this one has admitted, and hears what they have.
    ///
    /// # Errors
    /// The store fails.
    pub async fn turn(&mut self, store: &Store, limits: &CallLimits) -> Result<(), StoreError> {
        self.tell(store, limits).await?;
        self.hear(store, limits).await
    }

    async fn tell(&mut self, store: &Store, limits: &CallLimits) -> Result<(), StoreError> {
        let counts = limits.counts();
        let parts: Vec<RateCounts> = counts
            .chunks(RateCounts::MAX)
            .map(|counts| RateCounts {
                counts: counts.to_vec(),
            })
            .collect();
        let mut writes = Writes::new();
        for (part, at) in parts.iter().zip(0u32..) {
            if self.told.get(at as usize) != Some(part) {
                writes.push(RATE_COUNTS.put(&(self.node, at), part));
            }
        }
        for at in parts.len()..self.told.len() {
            writes.push(RATE_COUNTS.delete(&(self.node, at as u32)));
        }
        if !writes.is_empty() {
            let (tell, told) = oneshot::channel();
            store.commit(writes, |outcome| drop(tell.send(outcome)));
            told.await.unwrap_or(Err(EngineError::Stopped))?;
        }
        self.told = parts;
        Ok(())
    }

    async fn hear(&mut self, store: &Store, limits: &CallLimits) -> Result<(), StoreError> {
        let all = RATE_COUNTS.range(&All);
        let parts = RATE_COUNTS
            .scan(store, &all, Direction::Rising, usize::MAX)
            .await?;
        let mut heard = HashMap::new();
        for ((node, _), part) in parts.into_iter().filter(|((it, _), _)| *it != self.node) {
            for count in part.counts {
                let place = (node, count.limited, count.id);
                let calls = match self.heard.get(&place) {
                    Some(before) if *before <= count.admitted => count.admitted - before,
                    Some(_) => count.admitted,
                    // What came before this node was there has passed, but for what fills a bucket.
                    None => count.admitted.min(u64::from(count.rate.burst)),
                };
                heard.insert(place, count.admitted);
                limits.charge(&RateCount {
                    admitted: calls,
                    ..count
                });
            }
        }
        self.heard = heard;
        Ok(())
    }
}
