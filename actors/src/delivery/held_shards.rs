//! The shards that this node holds, if several nodes share the store: the progress of the reads of their due entries, and the scheduled
//! ones.
//!
//! Other nodes add entries too, so the node polls them. Only entries that are due within a second are scheduled, and those that are
//! due later than any delay allows.

use crate::node::NodeContext;
use futures_util::future::try_join_all;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tintype_storage::domain::delivery::DeliveryId;
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::Direction;
use tintype_storage::store::{DueEntry, Store, StoreError};
use tokio::time::Instant;
use uuid::Uuid;

pub(super) const POLL: Duration = Duration::from_millis(250);
/// Entries that are due within this time are scheduled.
const AHEAD: Duration = Duration::from_secs(1);
/// Entries of one shard per read.
const STEP: usize = 500;
/// While a long index is read step by step, entries that became due within this time are read concurrently, so that they do not wait
/// for the rest. The newest are read first: a receiver with more entries than a step holds must not delay the others.
const RECENT_MILLIS: i64 = 5_000;

/// How often the entries are read that were recorded before the clock was set back.
const BEYOND_INTERVAL: Duration = Duration::from_secs(30);

/// The key of an entry within the due index of a shard.
type DueKey = (Timestamp, DeliveryId);

pub(super) struct HeldShards {
    node: Arc<NodeContext>,
    /// The held shards. Each has the entry at which the read of a long index goes on; `None` stands for the first entry.
    held: HashMap<Shard, Option<DueKey>>,
    /// The scheduled deliveries with their due times. A schedule entry with another due time is stale.
    scheduled: HashMap<DeliveryId, Timestamp>,
    is_reading: bool,
    /// When the entries beyond the horizon were last read.
    read_beyond: Option<Instant>,
}

/// One read of a due index.
#[derive(Clone, Copy)]
pub(super) struct DueRead {
    shard: Shard,
    from: DueKey,
    until: Timestamp,
    part: Part,
}

/// A part of a due index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The next entries of a read that goes through all due ones.
    Next,
    Recent,
    /// The entries beyond the horizon, which are due at once.
    Beyond,
}

impl DueRead {
    fn direction(&self) -> Direction {
        match self.part {
            Part::Next | Part::Beyond => Direction::Rising,
            Part::Recent => Direction::Falling,
        }
    }

    /// When an entry that this read has found is due.
    pub fn due(&self, recorded: Timestamp, now: Timestamp) -> Timestamp {
        match self.part {
            Part::Next | Part::Recent => recorded,
            Part::Beyond => now,
        }
    }
}

impl HeldShards {
    pub fn new(node: Arc<NodeContext>) -> Self {
        Self {
            node,
            held: HashMap::new(),
            scheduled: HashMap::new(),
            is_reading: false,
            read_beyond: None,
        }
    }

    /// May the node begin attempts? If not, another node may have declared it dead and may send in its place.
    pub fn is_trusted(&self) -> bool {
        self.node.is_trusted()
    }

    /// Sets the held shards. Returns the other shards that still have attempts in flight, which are those to `attempted`.
    pub fn hold(
        &mut self,
        shards: &HashSet<Shard>,
        attempted: impl Iterator<Item = WebhookId>,
    ) -> HashSet<Shard> {
        self.held.retain(|shard, _| shards.contains(shard));
        for shard in shards {
            self.held.entry(*shard).or_default();
        }
        let attempted = attempted.map(Shard::of);
        attempted.filter(|it| !shards.contains(it)).collect()
    }

    /// Does the node send to this receiver?
    pub fn sends_to(&self, webhook: WebhookId) -> bool {
        self.held.contains_key(&Shard::of(webhook))
    }

    /// Adds a delivery to the schedule, for `at`. Returns false if it is scheduled already, or belongs to another node, or is due later:
    /// then it is read again when it is due.
    pub fn add(&mut self, at: Timestamp, delivery: &DueEntry, now: Timestamp) -> bool {
        let DueEntry {
            id, due, webhook, ..
        } = *delivery;
        self.sends_to(webhook)
            && due.min(at) < now.plus(AHEAD)
            && self.scheduled.insert(id, due) != Some(due)
    }

    /// Removes an entry of the schedule. Returns false if the entry is stale, or belongs to another node now.
    pub fn take(&mut self, delivery: &DueEntry) -> bool {
        let is_current = self.scheduled.get(&delivery.id) == Some(&delivery.due);
        if is_current {
            self.scheduled.remove(&delivery.id);
        }
        is_current && self.sends_to(delivery.webhook)
    }

    /// The next reads; `None` while the last ones are in flight. No delivery that was recorded under the current clock is due after
    /// `horizon`.
    pub fn next_reads(&mut self, now: Timestamp, horizon: Timestamp) -> Option<Vec<DueRead>> {
        if self.is_reading || self.held.is_empty() || !self.node.is_trusted() {
            return None;
        }
        self.is_reading = true;
        let start = |at| (at, DeliveryId(Uuid::nil()));
        let reads_beyond = self
            .read_beyond
            .is_none_or(|it| it.elapsed() >= BEYOND_INTERVAL);
        if reads_beyond {
            self.read_beyond = Some(Instant::now());
        }
        let mut reads = Vec::new();
        for (shard, next) in &self.held {
            let read = |from, until, part| DueRead {
                shard: *shard,
                from,
                until,
                part,
            };
            let (first, soon) = (start(Timestamp::EPOCH), now.plus(AHEAD));
            reads.push(read(next.unwrap_or(first), soon, Part::Next));
            if next.is_some() {
                let recent = (now.millis() - RECENT_MILLIS).max(0);
                let recent = start(Timestamp::from_millis(recent));
                reads.push(read(recent, soon, Part::Recent));
            }
            if reads_beyond {
                let end = Timestamp::from_millis(i64::MAX);
                reads.push(read(start(horizon), end, Part::Beyond));
            }
        }
        Some(reads)
    }

    /// Records the progress of finished reads.
    pub fn read(&mut self, found: &[(DueRead, Vec<DueEntry>)]) {
        self.is_reading = false;
        for (read, due) in found.iter().filter(|(read, _)| read.part == Part::Next) {
            if let Some(next) = self.held.get_mut(&read.shard) {
                let last = due.last().map(|it| (it.due, it.id));
                *next = last.filter(|_| due.len() == STEP);
            }
        }
    }
}

pub(super) async fn read(
    store: Store,
    reads: Vec<DueRead>,
) -> Result<Vec<(DueRead, Vec<DueEntry>)>, StoreError> {
    let reads = reads.into_iter().map(|read| {
        let store = &store;
        async move {
            let DueRead {
                shard, from, until, ..
            } = read;
            let due = store.due_of_shard(shard, from, until, read.direction(), STEP);
            Ok((read, due.await?))
        }
    });
    try_join_all(reads).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;
    use tintype_storage::domain::ids::{AccountId, NodeId};

    const DAY: i64 = 86_400_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn trusted_node() -> Arc<NodeContext> {
        let node = NodeContext::new(NodeId(Uuid::nil()), Duration::from_secs(3));
        node.confirm(Instant::now());
        Arc::new(node)
    }

    fn entry(webhook: WebhookId, due: i64) -> DueEntry {
        DueEntry {
            due: at(due),
            id: DeliveryId(Uuid::nil()),
            account: AccountId(Uuid::nil()),
            webhook,
            failures: 0,
        }
    }

    /// How many of the next reads go beyond the horizon.
    fn beyond(shards: &mut HeldShards) -> usize {
        let reads = shards.next_reads(at(DAY), at(2 * DAY)).expect("reads");
        shards.read(&[]);
        let beyond = reads.iter().filter(|it| it.part == Part::Beyond);
        beyond.count()
    }

    #[tokio::test(start_paused = true)]
    async fn hostile_109_a_retry_recorded_under_a_later_clock_is_due_at_the_next_read_beyond_the_horizon()
     {
        let node = trusted_node();
        let mut shards = HeldShards::new(Arc::clone(&node));
        let webhook = WebhookId(Uuid::nil());
        shards.hold(&HashSet::from([Shard::of(webhook)]), iter::empty());
        assert_eq!((beyond(&mut shards), beyond(&mut shards)), (1, 0));
        tokio::time::advance(BEYOND_INTERVAL).await;
        node.confirm(Instant::now());
        let reads = shards.next_reads(at(DAY), at(2 * DAY)).expect("reads");
        let found = entry(webhook, 365 * DAY);
        let now = at(DAY);
        assert!(!shards.add(found.due, &found, now), "due in a year");
        let read = reads.iter().find(|it| it.part == Part::Beyond);
        let due = read.expect("a read").due(found.due, now);
        assert!(shards.add(due, &found, now), "due at once");
        assert!(!shards.add(due, &found, now), "scheduled already");
        assert!(shards.take(&found));
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_entries_do_not_wait_for_the_read_of_a_long_index() {
        let mut shards = HeldShards::new(trusted_node());
        let webhook = WebhookId(Uuid::nil());
        shards.hold(&HashSet::from([Shard::of(webhook)]), iter::empty());
        let mut directions = || {
            let reads = shards.next_reads(at(DAY), at(2 * DAY)).expect("reads");
            let full = vec![entry(webhook, 0); STEP];
            let found = reads.iter().map(|it| (*it, full.clone()));
            shards.read(&found.collect::<Vec<_>>());
            let due = reads.iter().filter(|it| it.part != Part::Beyond);
            due.map(|it| (it.part, it.direction())).collect::<Vec<_>>()
        };
        let next = (Part::Next, Direction::Rising);
        assert_eq!(directions(), [next]);
        assert_eq!(directions(), [next, (Part::Recent, Direction::Falling)]);
    }
}
