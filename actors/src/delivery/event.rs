//! What comes back to the delivery actor from its reads, its attempts and its commits.

use super::command::{DeliveryError, Redelivered, Reply};
use super::held_shards::DueRead;
use super::receiver::Found;
use super::receiver_health::ReceiverHealth;
use super::scheduler::ScheduledDelivery;
use crate::ports::AttemptOutcome;
use actix::Message;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::store::{Due, StoreError};

#[derive(Message)]
#[rtype(result = "()")]
pub(super) enum Event {
    AttemptEnded {
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        outcome: AttemptOutcome,
    },
    /// What an attempt needs has been read.
    Found {
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        found: Found,
    },
    /// What is to be sent again has been read.
    RedeliveryRead {
        id: DeliveryId,
        note: Option<Note<Redelivered>>,
        reply: Reply<Delivery, DeliveryError>,
        found: Found,
    },
    /// A delivery that could not be sent has been read.
    PutOff(Result<Option<Delivery>, StoreError>),
    /// What is due soon has been read, where several nodes share the store.
    DueRead(Result<Vec<(DueRead, Due)>, StoreError>),
    /// A commit about this delivery is durable. `None`: it has been removed.
    Committed(DeliveryId, Option<Delivery>),
}
