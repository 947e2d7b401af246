//! Deliveries that are over and forgotten, and the mark that tells them from lost ones.

use super::Model;
use super::deliveries::{KnownDelivery, State, Step};
use tintype_storage::domain::delivery::DeliveryId;

impl Model {
    /// The mark tells a forgotten delivery from a lost one: it rises with what is forgotten and no further.
    pub(super) fn forgotten_before(&mut self, mark: Option<i64>) {
        let deliveries = &mut self.deliveries;
        let newest = deliveries.newest_forgotten;
        deliveries.mark = mark.or(deliveries.mark);
        let said = deliveries.mark;
        if said != (newest > i64::MIN).then_some(newest + 1) {
            self.fault(format!(
                "deliveries before {said:?} are said to be forgotten, the newest that was is of {newest}"
            ));
        }
    }

    pub(super) fn forgotten(
        &mut self,
        id: DeliveryId,
        before: &KnownDelivery,
        step: &mut Step<'_>,
    ) {
        let ended = match before.state {
            State::Pending { .. } => i64::MAX,
            // Of the moment of its job's end, should that be the later one.
            State::Delivered { at } | State::Failed { at, .. } => at.max(before.created_at),
        };
        self.deliveries.newest_forgotten = self.deliveries.newest_forgotten.max(ended);
        let mut whole = step.accounts.remove(&id) == Some(None);
        for number in 0..before.attempts {
            whole &= matches!(step.attempts.remove(&(id, number)), Some(None));
        }
        if ended >= self.deliveries.forget_before || !whole {
            self.fault(format!(
                "delivery {id} was forgotten too early, or not whole: {before:?}"
            ));
        }
        self.count("deliveries forgotten");
        self.deliveries.owed.remove(&id);
    }
}
