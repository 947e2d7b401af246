//! What a start finds: every pending delivery, put back into the schedule.

use crate::outbox::{Outbox, Parcel};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::WebhookId;
use tintype_storage::store::{Store, StoreError};

/// Deliveries read from the due index at a time.
const STEP: usize = 1_000;
/// Deliveries that were overdue at the start are begun this far apart, so that a restart is no storm.
const SPREAD: Duration = Duration::from_millis(2);

/// Reads the whole due index. What is overdue is spread over the next moments, its receivers in turns: one with a hundred
/// thousand of them is not to be served before one with a single one. Receivers that have failed lately are known as such.
pub(super) fn recover(
    store: &Store,
    outbox: &mut Outbox,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut overdue = Overdue::default();
    let mut after = None;
    loop {
        let step = store.due(after, STEP)?;
        let Some((due, id, _)) = step.last() else {
            break;
        };
        after = Some((*due, *id));
        for (due, id, entry) in step {
            let parcel = Parcel {
                id,
                account: entry.account,
                webhook: entry.webhook,
                due,
            };
            if entry.failures > 0 {
                outbox.suspect(entry.webhook);
            }
            if due < now {
                overdue.add(parcel);
            } else {
                outbox.schedule(due, parcel);
            }
        }
    }
    let mut moment = now;
    while let Some(parcel) = overdue.next() {
        outbox.schedule(moment, parcel);
        moment = moment.plus(SPREAD);
    }
    Ok(())
}

/// Overdue deliveries by their receivers, who take turns in the order of their first ones.
#[derive(Default)]
struct Overdue {
    lines: HashMap<WebhookId, VecDeque<Parcel>>,
    turns: VecDeque<WebhookId>,
}

impl Overdue {
    fn add(&mut self, parcel: Parcel) {
        let line = self.lines.entry(parcel.webhook).or_default();
        if line.is_empty() {
            self.turns.push_back(parcel.webhook);
        }
        line.push_back(parcel);
    }

    fn next(&mut self) -> Option<Parcel> {
        let webhook = self.turns.pop_front()?;
        let line = self.lines.get_mut(&webhook)?;
        let parcel = line.pop_front();
        if !line.is_empty() {
            self.turns.push_back(webhook);
        }
        parcel
    }
}
