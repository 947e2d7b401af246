//! What the delivery actor is told and asked.

use actix::Message;
use tintype_storage::domain::audit_log::{AuditEntry, Note};
use tintype_storage::domain::delivery::{Delivery, DeliveryId, NoReceiver};
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::StoreError;
use tokio::sync::oneshot;

/// Hint: these deliveries are in the store, due at once.
#[derive(Message)]
#[rtype(result = "()")]
pub struct DeliveriesQueued(pub Vec<Delivery>);

/// Adds a delivery that no job owes, such as a test. Answered once it is on the disk.
#[derive(Message)]
#[rtype(result = "()")]
pub struct AddDelivery {
    /// The delivery.
    pub delivery: Delivery,
    /// The line of the audit log.
    pub audit: Option<AuditEntry>,
    /// Hears of the outcome.
    pub reply: oneshot::Sender<Result<Delivery, DeliveryError>>,
}

/// Sends a delivery again, with a fresh set of attempts. Answered once that is on the disk.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Redeliver {
    /// The delivery.
    pub id: DeliveryId,
    /// Writes the line of the audit log.
    pub note: Option<Note<Redelivered>>,
    /// Hears of the outcome.
    pub reply: oneshot::Sender<Result<Delivery, DeliveryError>>,
}

/// A delivery before and after it was sent again.
#[derive(Clone, Debug)]
pub struct Redelivered {
    /// As it was.
    pub before: Delivery,
    /// As it is.
    pub after: Delivery,
}

/// Removes deliveries that ended before a moment, with their attempts, among the next `limit` from `cursor` on. Answered once
/// that is on the disk, with where to go on from: an empty cursor at the end.
#[derive(Message)]
#[rtype(result = "()")]
pub struct ForgetDeliveries {
    /// Those that ended before this.
    pub older_than: Timestamp,
    /// Where to begin; empty at the start.
    pub cursor: Vec<u8>,
    /// Deliveries looked at, at the most.
    pub limit: usize,
    /// Hears of the outcome.
    pub reply: oneshot::Sender<Result<Vec<u8>, StoreError>>,
}

/// Begins no more attempts.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopDelivering;

/// How many deliveries wait and are under way.
#[derive(Message)]
#[rtype(result = "OutboxDepths")]
pub struct GetOutboxDepths;

/// Figures of the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, actix::MessageResponse)]
pub struct OutboxDepths {
    /// Wait for their moment or their turn.
    pub waiting: usize,
    /// Attempts under way.
    pub under_way: usize,
}

/// Why the operator's wish was not granted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeliveryError {
    /// There is no such delivery.
    #[error("there is no such delivery")]
    NotFound,
    /// Its webhook is no more.
    #[error("the webhook of this delivery has been deleted")]
    WebhookDeleted,
    /// Its webhook has another URL than the one that its job named.
    #[error(
        "the webhook of this delivery has been given another URL, and its job asked for the one that the delivery names"
    )]
    WebhookMoved,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NoReceiver> for DeliveryError {
    fn from(reason: NoReceiver) -> Self {
        match reason {
            NoReceiver::WebhookDeleted => Self::WebhookDeleted,
            NoReceiver::WebhookMoved => Self::WebhookMoved,
        }
    }
}
