//! Events for the operator.

use super::deliveries::delivery_writes;
use super::tables::OPERATOR_EVENTS;
use super::{Store, Writes};
use crate::domain::delivery::Delivery;
use crate::domain::operator_event::{EventSubject, OperatorEvent};

impl Store {
    pub fn add_operator_event(&self, delivery: &Delivery, subject: EventSubject) -> Writes {
        with_event(delivery, subject)
    }
}

pub(super) fn with_event(delivery: &Delivery, subject: EventSubject) -> Writes {
    let event = OperatorEvent {
        created_at: delivery.created_at,
        subject,
    };
    let mut writes = delivery_writes(delivery);
    writes.push(OPERATOR_EVENTS.put(&delivery.id, &event));
    writes
}
