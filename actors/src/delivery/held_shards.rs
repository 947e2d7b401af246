//! What the actor of a node knows of the shards that the node holds, where several share the store: how far their due indexes have been
//! read, and what of them is scheduled.
//!
//! Other nodes add to the index too, so it is read again and again. Only what is due within a second is scheduled.

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
use tintype_storage::store::{Due, Store, StoreError};
use uuid::Uuid;

/// How often the due indexes are read.
pub(super) const POLL: Duration = Duration::from_millis(250);
/// What is due within this time is scheduled.
const AHEAD: Duration = Duration::from_secs(1);
/// Entries of one shard that are read at a time.
const STEP: usize = 500;
/// While a long index is read step by step, what has become due within this time is read beside it, so that it does not wait for
/// the rest.
const RECENT_MILLIS: i64 = 5_000;

/// An entry of a due index.
type Place = (Timestamp, DeliveryId);

pub(super) struct HeldShards {
    node: Arc<NodeContext>,
    /// The shards that the node holds. Where the reading of a long index goes on; `None` for its first entry.
    held: HashMap<Shard, Option<Place>>,
    /// What the schedule contains, and when it is due. An entry that says otherwise is stale.
    scheduled: HashMap<DeliveryId, Timestamp>,
    /// Deliveries with an attempt that is under way, or that is being recorded.
    attempted: HashMap<DeliveryId, Shard>,
    is_reading: bool,
}

/// One read of a due index.
#[derive(Clone, Copy)]
pub(super) struct DueRead {
    shard: Shard,
    from: Place,
    /// It goes on where the last one ended, or begins anew.
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

    /// May the node begin attempts? Otherwise another node may have taken it for dead, and makes them.
    pub fn is_trusted(&self) -> bool {
        self.node.is_trusted()
    }

    /// From now on the node sends to these shards alone. Returns the others that still have attempts.
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

    /// Is this delivery to be scheduled now? One that is due later is read again when its time has come.
    pub fn add(&mut self, delivery: &ScheduledDelivery, now: Timestamp) -> bool {
        let ScheduledDelivery {
            id, due, webhook, ..
        } = *delivery;
        self.sends_to(webhook)
            && due < now.plus(AHEAD)
            && self.scheduled.insert(id, due) != Some(due)
    }

    /// Takes an entry of the schedule. `false` for one that is stale, or not of this node any more.
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

    /// An attempt is on record, or there is nothing to record of it.
    pub fn attempt_ended(&mut self, id: DeliveryId) {
        self.attempted.remove(&id);
    }

    /// What is to be read now; `None` while the last reads are under way.
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

    /// Takes note of what was read.
    pub fn read(&mut self, found: &[(DueRead, Due)]) {
        self.is_reading = false;
        for (read, due) in found.iter().filter(|(read, _)| read.is_next) {
            if let Some(next) = self.held.get_mut(&read.shard) {
                let last = due.last().map(|(due, id, _)| (*due, *id));
                *next = last.filter(|_| due.len() == STEP);
            }
        }
    }
}

/// Reads what is due soon.
pub(super) async fn read(
    store: Store,
    reads: Vec<DueRead>,
    now: Timestamp,
) -> Result<Vec<(DueRead, Due)>, StoreError> {
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
