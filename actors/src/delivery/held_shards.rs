//! The shards that this node holds, if several nodes share the store: the progress of the reads of their due indexes, and the scheduled
//! entries.
//!
//! Other nodes add entries too, so the indexes are polled. Only entries that are due within a second are scheduled.

use super::scheduler::ScheduledDelivery;
use crate::node::NodeContext;
use futures_util::future::try_join_all;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::{DueList, Store, StoreError};
use uuid::Uuid;

pub(super) const POLL: Duration = Duration::from_millis(250);
/// Entries that are due within this time are scheduled.
const AHEAD: Duration = Duration::from_secs(1);
/// Entries of one shard per read.
const STEP: usize = 500;
/// While a long index is read step by step, entries that became due within this time are read concurrently, so that they do not wait
/// for the rest.
const RECENT_MILLIS: i64 = 5_000;

/// The key of an entry within the due index of a shard.
type DueKey = (Timestamp, DeliveryId);

pub(super) struct HeldShards {
    node: Arc<NodeContext>,
    /// The held shards. Each has the entry at which the read of a long index goes on; `None` stands for the first entry.
    held: HashMap<Shard, Option<DueKey>>,
    /// The scheduled deliveries with their due times. A schedule entry with another due time is stale.
    scheduled: HashMap<DeliveryId, Timestamp>,
    /// Deliveries with an attempt that is in flight or being recorded.
    attempted: HashMap<DeliveryId, Shard>,
    is_reading: bool,
}

/// One read of a due index.
#[derive(Clone, Copy)]
pub(super) struct DueRead {
    shard: Shard,
    from: DueKey,
    /// True for the read that goes through the whole index, false for the read of recent entries.
    is_next: bool,
}

impl HeldShards {
    pub fn new(node: Arc<NodeContext>) -> Self {
        Self {
            node,
            held: HashMap::new(),
            scheduled: HashMap::new(),
            attempted: HashMap::new(),
            is_reading: false,
        }
    }

    /// May the node begin attempts? If not, another node may have declared it dead and may send in its place.
    pub fn is_trusted(&self) -> bool {
        self.node.is_trusted()
    }

    /// Sets the held shards. Returns the other shards that still have attempts in flight.
    pub fn hold(&mut self, shards: &HashSet<Shard>) -> HashSet<Shard> {
        self.held.retain(|shard, _| shards.contains(shard));
        for shard in shards {
            self.held.entry(*shard).or_default();
        }
        let attempted = self.attempted.values().copied();
        attempted.filter(|it| !shards.contains(it)).collect()
    }

    /// Does the node send to this receiver?
    pub fn sends_to(&self, webhook: WebhookId) -> bool {
        self.held.contains_key(&Shard::of(webhook))
    }

    /// Adds a delivery to the schedule. Returns false if it is scheduled already, or belongs to another node, or is due later: then it
    /// is read again when it is due.
    pub fn add(&mut self, delivery: &ScheduledDelivery, now: Timestamp) -> bool {
        let ScheduledDelivery {
            id, due, webhook, ..
        } = *delivery;
        self.sends_to(webhook)
            && due < now.plus(AHEAD)
            && self.scheduled.insert(id, due) != Some(due)
    }

    /// Removes an entry of the schedule. Returns false if the entry is stale, or belongs to another node now.
    pub fn take(&mut self, delivery: &ScheduledDelivery) -> bool {
        let is_current = self.scheduled.get(&delivery.id) == Some(&delivery.due);
        if is_current {
            self.scheduled.remove(&delivery.id);
        }
        is_current && self.sends_to(delivery.webhook)
    }

    pub fn attempt_begins(&mut self, id: DeliveryId, webhook: WebhookId) {
        self.attempted.insert(id, Shard::of(webhook));
    }

    /// The attempt is recorded, or needs no record.
    pub fn attempt_ended(&mut self, id: DeliveryId) {
        self.attempted.remove(&id);
    }

    /// The next reads; `None` while the last ones are in flight.
    pub fn next_reads(&mut self, now: Timestamp) -> Option<Vec<DueRead>> {
        if self.is_reading || self.held.is_empty() || !self.node.is_trusted() {
            return None;
        }
        self.is_reading = true;
        let start = |millis| (Timestamp::from_millis(millis), DeliveryId(Uuid::nil()));
        let mut reads = Vec::new();
        for (shard, next) in &self.held {
            let read = |from, is_next| DueRead {
                shard: *shard,
                from,
                is_next,
            };
            reads.push(read(next.unwrap_or(start(0)), true));
            if next.is_some() {
                let recent = (now.millis() - RECENT_MILLIS).max(0);
                reads.push(read(start(recent), false));
            }
        }
        Some(reads)
    }

    /// Records the progress of finished reads.
    pub fn read(&mut self, found: &[(DueRead, DueList)]) {
        self.is_reading = false;
        for (read, due) in found.iter().filter(|(read, _)| read.is_next) {
            if let Some(next) = self.held.get_mut(&read.shard) {
                let last = due.last().map(|(due, id, _)| (*due, *id));
                *next = last.filter(|_| due.len() == STEP);
            }
        }
    }
}

pub(super) async fn read(
    store: Store,
    reads: Vec<DueRead>,
    now: Timestamp,
) -> Result<Vec<(DueRead, DueList)>, StoreError> {
    let until = now.plus(AHEAD);
    let reads = reads.into_iter().map(|read| {
        let store = &store;
        async move {
            let due = store.due_of_shard(read.shard, read.from, until, STEP);
            Ok((read, due.await?))
        }
    });
    try_join_all(reads).await
}
