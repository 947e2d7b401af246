//! Deleted deliveries, and the mark that distinguishes them from lost ones.

use super::Model;
use super::deliveries::{KnownDelivery, State, Step};
use tintype_storage::domain::delivery::DeliveryId;

impl Model {
    /// Checks that the mark is just after the newest end of a deleted delivery.
    pub(super) fn forgotten_before(&mut self, mark: Option<i64>) {
        let deliveries = &mut self.deliveries;
        let newest = deliveries.newest_forgotten;
        deliveries.mark = mark.or(deliveries.mark);
        let mark = deliveries.mark;
        if mark != (newest > i64::MIN).then_some(newest + 1) {
            self.fault(format!(
                "deliveries before {mark:?} are marked as deleted, but the newest deleted one is of {newest}"
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
            // Or the end of its job, if that is later.
            State::Delivered { at } | State::Failed { at, .. } => at.max(before.created_at),
        };
        self.deliveries.newest_forgotten = self.deliveries.newest_forgotten.max(ended);
        let mut whole = step.accounts.remove(&id) == Some(None);
        for number in 0..before.attempts {
            whole &= matches!(step.attempts.remove(&(id, number)), Some(None));
        }
        if ended >= self.deliveries.forget_before || !whole {
            self.fault(format!(
                "delivery {id} was deleted too early or incompletely: {before:?}"
            ));
        }
        self.count("deliveries forgotten");
        self.deliveries.owed.remove(&id);
    }
}
