//! Schedules every pending delivery of the store after a restart.

use super::scheduler::{DeliveryScheduler, ScheduledDelivery};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{Store, StoreError};

/// Entries per read of the due index.
const STEP: usize = 1_000;
/// The time between overdue deliveries, so that a restart does not flood the receivers.
const SPREAD: Duration = Duration::from_millis(2);

/// Reads the whole due index. Spreads overdue deliveries over time, with their receivers in turn: a receiver with a hundred thousand
/// deliveries must not delay one with a single delivery. Receivers with failed attempts start as failing.
pub(super) fn recover(
    store: &Store,
    scheduler: &mut DeliveryScheduler,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut overdue = Overdue::default();
    let mut after = None;
    loop {
        let step = store.due(after, STEP).wait()?;
        let Some((due, id, _)) = step.last() else {
            break;
        };
        after = Some((*due, *id));
        for (due, id, entry) in step {
            let scheduled = ScheduledDelivery::new(id, due, entry);
            if entry.failures > 0 {
                scheduler.mark_failing(entry.webhook);
            }
            if due < now {
                overdue.add(scheduled);
            } else {
                scheduler.schedule(due, scheduled);
            }
        }
    }
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
    receivers: HashMap<WebhookId, VecDeque<ScheduledDelivery>>,
    turns: VecDeque<WebhookId>,
}

impl Overdue {
    fn add(&mut self, scheduled: ScheduledDelivery) {
        let queue = self.receivers.entry(scheduled.webhook).or_default();
        if queue.is_empty() {
            self.turns.push_back(scheduled.webhook);
        }
        queue.push_back(scheduled);
    }

    fn next(&mut self) -> Option<ScheduledDelivery> {
        let webhook = self.turns.pop_front()?;
        let queue = self.receivers.get_mut(&webhook)?;
        let scheduled = queue.pop_front();
        if !queue.is_empty() {
            self.turns.push_back(webhook);
        }
        scheduled
    }
}
