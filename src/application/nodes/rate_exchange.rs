//! Rate limits over several nodes. Each node admits calls from its own buckets at the full rate. Four times a second it publishes the
//! calls it has admitted, for limits of which at least a quarter is used, and charges the calls of the other nodes to its buckets.
//!
//! So the limits hold in the long run. Before an exchange, each node may admit a burst. The excess becomes a debt that must be paid
//! before the next call is admitted. A node that starts has no debt: it charges the calls before its start only to full buckets.

use crate::application::core::Core;
use crate::application::limits::call_limits::CallLimits;
use crate::application::limits::rate_limit::Excess;
use crate::application::services::AccountService;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::Node;
use tintype_storage::domain::rate_count::{LimitKind, RateCount, RateCounts};
use tintype_storage::engine::{Direction, EngineError};
use tintype_storage::store::tables::{NODES, RATE_COUNTS};
use tintype_storage::store::{All, Store, StoreError, Writes};
use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

const EXCHANGE_INTERVAL: Duration = Duration::from_millis(250);

/// A limit at another node.
type RemoteLimit = (NodeId, LimitKind, Uuid);

/// The counts that a node has published and received.
pub struct RateExchange {
    node: NodeId,
    published: Vec<RateCounts>,
    /// `None` before the first exchange.
    received: Option<HashMap<RemoteLimit, u64>>,
}

/// Runs until the process stops.
pub async fn run(accounts: Arc<AccountService>) {
    let core = &accounts.core;
    let Some(node) = core.system.node() else {
        return;
    };
    let mut exchange = RateExchange::new(node.id);
    let mut stopping = core.stopping.subscribe();
    let mut tick = interval(EXCHANGE_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let is_stopping = tokio::select! {
            _ = tick.tick() => false,
            _ = stopping.wait_for(|it| *it) => true,
        };
        if is_stopping {
            // If this fails, the others ignore the counts once the node has left.
            drop(exchange.withdraw(&core.store).await);
            return;
        }
        if let Err(error) = exchange.exchange(&core.store, &accounts.limits).await {
            if !core.is_ending() {
                tracing::error!(%error, "rate limits are no longer shared with the other nodes");
            }
            return;
        }
    }
}

/// Deletes the counts of nodes that have left the cluster.
pub async fn delete_counts_of_gone_nodes(core: &Core) -> Result<(), StoreError> {
    let (mut published, mut living) = (HashSet::new(), HashSet::new());
    // In this order: a node is registered before it publishes counts.
    let add = |part: (NodeId, u32), _: RateCounts| {
        published.insert(part);
        Ok(())
    };
    RATE_COUNTS.each(&core.store, &All, add).await?;
    let add = |node: NodeId, _| {
        living.insert(node);
        Ok(())
    };
    NODES.each(&core.store, &All, add).await?;
    let gone = published.iter().filter(|(node, _)| !living.contains(node));
    let writes: Writes = gone.map(|part| RATE_COUNTS.delete(part)).collect();
    if !writes.is_empty() {
        core.commit(writes).await?;
    }
    Ok(())
}

impl RateExchange {
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            published: Vec::new(),
            received: None,
        }
    }

    /// Publishes the calls of this node and charges those of the others.
    pub async fn exchange(&mut self, store: &Store, limits: &CallLimits) -> Result<(), StoreError> {
        self.publish(store, &limits.counts()).await?;
        self.receive(store, limits).await
    }

    /// Deletes the published counts of this node, which stops.
    async fn withdraw(&mut self, store: &Store) -> Result<(), StoreError> {
        self.publish(store, &[]).await
    }

    async fn publish(&mut self, store: &Store, counts: &[RateCount]) -> Result<(), StoreError> {
        let parts: Vec<RateCounts> = counts
            .chunks(RateCounts::MAX)
            .map(|counts| RateCounts {
                counts: counts.to_vec(),
            })
            .collect();
        let mut writes = Writes::new();
        for (part, at) in parts.iter().zip(0u32..) {
            if self.published.get(at as usize) != Some(part) {
                writes.push(RATE_COUNTS.put(&(self.node, at), part));
            }
        }
        for at in parts.len()..self.published.len() {
            writes.push(RATE_COUNTS.delete(&(self.node, at as u32)));
        }
        if !writes.is_empty() {
            let (sender, outcome) = oneshot::channel();
            store.commit(writes, |result| drop(sender.send(result)));
            outcome.await.unwrap_or(Err(EngineError::Stopped))?;
        }
        self.published = parts;
        Ok(())
    }

    async fn receive(&mut self, store: &Store, limits: &CallLimits) -> Result<(), StoreError> {
        let all = RATE_COUNTS.range(&All);
        let parts = RATE_COUNTS
            .scan(store, &all, Direction::Rising, usize::MAX)
            .await?;
        // After the counts: a node is registered before it publishes counts.
        let others = self.living_others(store).await?;
        let excess = match self.received {
            None => Excess::IsForgiven,
            Some(_) => Excess::BecomesDebt,
        };
        let before = self.received.take().unwrap_or_default();
        let mut received = HashMap::new();
        for ((node, _), part) in parts.into_iter().filter(|((it, _), _)| others.contains(it)) {
            for count in part.counts {
                let limit = (node, count.limited, count.id);
                let calls = match before.get(&limit) {
                    Some(before) if *before <= count.admitted => count.admitted - before,
                    Some(_) => count.admitted,
                    // First count of that node: calls beyond a full bucket are too old to matter.
                    None => count.admitted.min(u64::from(count.rate.burst)),
                };
                received.insert(limit, count.admitted);
                let new = RateCount {
                    admitted: calls,
                    ..count
                };
                limits.charge(&new, excess);
            }
        }
        self.received = Some(received);
        Ok(())
    }

    /// The other nodes that have neither left nor been declared dead.
    async fn living_others(&self, store: &Store) -> Result<HashSet<NodeId>, StoreError> {
        let mut living = HashSet::new();
        let add = |id: NodeId, node: Node| {
            if id != self.node && !node.has_ended {
                living.insert(id);
            }
            Ok(())
        };
        NODES.each(store, &All, add).await?;
        Ok(living)
    }
}

#[cfg(test)]
mod tests;
