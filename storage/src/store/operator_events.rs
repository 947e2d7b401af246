//! Events for the operator, and the active alarms.

use super::deliveries::delivery_writes;
use super::tables::{ALARMS, OPERATOR_EVENTS};
use super::{DueIndex, Store, StoreError, Writes};
use crate::domain::delivery::{Delivery, DeliveryId};
use crate::domain::operator_event::{Alarms, EventSubject, OperatorEvent};

impl Store {
    /// The event of the delivery with this id.
    pub async fn operator_event(
        &self,
        id: DeliveryId,
    ) -> Result<Option<OperatorEvent>, StoreError> {
        OPERATOR_EVENTS.get(self, &id).await
    }

    pub fn add_operator_event(&self, delivery: &Delivery, subject: EventSubject) -> Writes {
        with_event(self.due_index(), delivery, subject)
    }

    pub async fn alarms(&self) -> Result<Alarms, StoreError> {
        Ok(ALARMS.get(self, &()).await?.unwrap_or_default())
    }

    pub fn set_alarms(&self, alarms: &Alarms) -> Writes {
        vec![ALARMS.put(&(), alarms)]
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
