//! Schedules every pending delivery of the store after a restart.

use super::scheduler::DeliveryScheduler;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::tables::DUE_DELIVERIES;
use tintype_storage::store::{All, DueEntry, Store, StoreError};

/// The time between overdue deliveries, so that a restart does not flood the receivers.
const SPREAD: Duration = Duration::from_millis(2);

/// Reads the whole due index. Spreads overdue deliveries over time, with their receivers in turn: a receiver with a hundred thousand
/// deliveries must not delay one with a single delivery.
pub(super) fn recover(
    store: &Store,
    scheduler: &mut DeliveryScheduler,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut overdue = Overdue::default();
    let read = DUE_DELIVERIES.each(store, &All, |_, entry| {
        match entry.due < now {
            true => overdue.add(entry),
            false => scheduler.schedule(entry.due, entry),
        }
        Ok(())
    });
    read.wait()?;
    overdue.sort_turns();
    let mut moment = now;
    while let Some(scheduled) = overdue.next() {
        scheduler.schedule(moment, scheduled);
        moment = moment.plus(SPREAD);
    }
    Ok(())
}

/// Overdue deliveries, round robin between receivers.
#[derive(Default)]
struct Overdue {
    receivers: HashMap<WebhookId, VecDeque<DueEntry>>,
    turns: VecDeque<WebhookId>,
}

impl Overdue {
    fn add(&mut self, scheduled: DueEntry) {
        let queue = self.receivers.entry(scheduled.webhook).or_default();
        if queue.is_empty() {
            self.turns.push_back(scheduled.webhook);
        }
        queue.push_back(scheduled);
    }

    /// The receiver of the oldest delivery first: the index is sorted by shards.
    fn sort_turns(&mut self) {
        let oldest = |webhook: &WebhookId| {
            let first = self.receivers.get(webhook)?.front()?;
            Some((first.due, first.id))
        };
        self.turns.make_contiguous().sort_by_key(oldest);
    }

    fn next(&mut self) -> Option<DueEntry> {
        let webhook = self.turns.pop_front()?;
        let queue = self.receivers.get_mut(&webhook)?;
        let scheduled = queue.pop_front();
        if !queue.is_empty() {
            self.turns.push_back(webhook);
        }
        scheduled
    }
}
