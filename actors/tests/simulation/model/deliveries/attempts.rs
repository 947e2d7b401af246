//! Attempts: which ones may begin, and how they change a delivery.

use super::super::Model;
use super::{KnownDelivery, SLACK, State, fits};
use tintype_storage::domain::delivery::{Attempt, Delivery, DeliveryId};
use tintype_storage::domain::ids::{BatchId, JobId};
use tintype_storage::domain::webhook::WebhookId;

fn succeeded(attempt: &Attempt) -> bool {
    attempt.status_code.is_some_and(|it| it / 100 == 2)
}

impl Model {
    /// Was this attempt made in this life, and not recorded yet?
    pub(super) fn was_made(&mut self, id: DeliveryId, attempt: &Attempt) -> bool {
        let returned = self.deliveries.returned.entry(id).or_default();
        if let Some(at) = returned.iter().position(|it| it == attempt) {
            returned.remove(at);
            return true;
        }
        match self.deliveries.panicked.get_mut(&id) {
            Some(count) if *count > 0 && attempt.status_code.is_none() => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    pub(super) fn after(&self, before: &KnownDelivery, attempt: &Attempt, at: i64) -> State {
        match before.state {
            State::Delivered { .. } => before.state,
            _ if succeeded(attempt) => State::Delivered { at },
            State::Pending { failures, .. } if attempt.round == before.round => {
                match self.rules.delays.get(failures as usize) {
                    Some(delay) => State::Pending {
                        due: at + delay,
                        failures: failures + 1,
                    },
                    None => State::Failed {
                        at,
                        exhausted: true,
                    },
                }
            }
            state => state,
        }
    }

    /// From when the delay after an attempt counts: from its end, or from the moment at which it was recorded if the clock, set back by
    /// `set_back` meanwhile, shows a time before its start. `now` is the state that was recorded.
    pub(super) fn counts_from(&self, attempt: &Attempt, now: State, set_back: i64) -> i64 {
        let began = attempt.at.millis();
        let recorded = match now {
            State::Delivered { at } | State::Failed { at, .. } => at,
            State::Pending { due, failures } => {
                let delay = self.rules.delays.get((failures as usize).wrapping_sub(1));
                due - delay.copied().unwrap_or_default()
            }
        };
        match (began - set_back..began).contains(&recorded) {
            true => recorded,
            false => began + i64::try_from(attempt.duration_ms).unwrap_or(i64::MAX),
        }
    }

    /// An attempt begins.
    pub fn attempt_begins(&mut self, delivery: &Delivery, webhook: WebhookId, now: i64) {
        self.count("attempts");
        let id = delivery.id;
        let longest = self.rules.delays.iter().max().copied().unwrap_or(0);
        let fault = match self.deliveries.owed.get(&id) {
            None => Some("is not durable".to_owned()),
            Some(owed) => match owed.state {
                // Deliveries that were scheduled before the clock was set back have moved with it.
                State::Pending { due, .. }
                    if now + self.set_back - owed.set_back < due
                        && due <= now + longest + SLACK =>
                {
                    Some(format!("is due only at {due}, it is {now}"))
                }
                State::Pending { .. } => {
                    let registered = self
                        .hooks_of(owed.account)
                        .iter()
                        .any(|it| it.id == webhook && fits(owed.named.as_ref(), it));
                    let of_job = self.jobs.get(&JobId(owed.subject));
                    let of_batch = self.batches.get(&BatchId(owed.subject));
                    let is_known = owed.is_test
                        || of_job.is_some_and(|it| it.status.is_terminal())
                        || of_batch.is_some_and(|it| it.ended);
                    let is_known = is_known && !self.is_forgotten(owed.subject);
                    let as_recorded =
                        delivery.round == owed.round && delivery.attempts == owed.attempts;
                    let ours = webhook == owed.webhook && registered;
                    (!is_known || !as_recorded || !ours)
                        .then(|| format!("is not as recorded: {owed:?}"))
                }
                state => Some(format!("is {state:?}")),
            },
        };
        if let Some(fault) = fault {
            self.fault(format!("delivery {id} is sent, which {fault}"));
        }
        self.deliveries.began.insert(id, self.set_back);
        if !self.deliveries.in_flight.insert(id) {
            self.fault(format!("delivery {id} is sent twice at a time"));
        }
    }
}
