//! The events that reads, attempts and commits send to the delivery actor.

use super::command::{DeliveryError, RedeliveryChange, Reply};
use super::held_shards::DueRead;
use super::receiver::FindResult;
use super::receiver_health::ReceiverHealth;
use super::scheduler::ScheduledDelivery;
use crate::ports::AttemptOutcome;
use actix::Message;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{Delivery, DeliveryId};
use tintype_storage::store::{DueList, StoreError};

#[derive(Message)]
#[rtype(result = "()")]
pub(super) enum Event {
    AttemptEnded {
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        outcome: AttemptOutcome,
    },
    /// The delivery and receiver of an attempt have been read.
    AttemptRead {
        scheduled: ScheduledDelivery,
        health: ReceiverHealth,
        found: FindResult,
    },
    /// A delivery to send again has been read, with its receiver.
    RedeliveryRead {
        id: DeliveryId,
        note: Option<Note<RedeliveryChange>>,
        reply: Reply<Delivery, DeliveryError>,
        found: FindResult,
    },
    /// A delivery that the service failed to send has been read.
    PostponedRead(Result<Option<Delivery>, StoreError>),
    /// The due indexes of the held shards have been read.
    DueRead(Result<Vec<(DueRead, DueList)>, StoreError>),
    /// A commit about this delivery is durable. `None` if it was deleted.
    Committed(DeliveryId, Option<Delivery>),
}
