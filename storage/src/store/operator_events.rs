//! Events for the operator.

use super::deliveries::delivery_writes;
use super::tables::OPERATOR_EVENTS;
use super::{DueIndex, Store, Writes};
use crate::domain::delivery::Delivery;
use crate::domain::operator_event::{EventSubject, OperatorEvent};

impl Store {
    pub fn add_operator_event(&self, delivery: &Delivery, subject: EventSubject) -> Writes {
        with_event(self.due_index(), delivery, subject)
    }
}

pub(super) fn with_event(index: DueIndex, delivery: &Delivery, subject: EventSubject) -> Writes {
    let event = OperatorEvent {
        created_at: delivery.created_at,
        subject,
    };
    let mut writes = delivery_writes(index, delivery);
    writes.push(OPERATOR_EVENTS.put(&delivery.id, &event));
    writes
}
