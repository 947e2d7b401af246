//! The commands of the delivery actor.

use actix::Message;
use std::collections::HashSet;
use tintype_storage::domain::audit_log::ToAuditEntry;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, MAX_ATTEMPTS, NoReceiver};
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::oneshot;

pub type ReplySender<T, E> = oneshot::Sender<Result<T, E>>;

/// A command to the delivery actor. The actor replies once a change is durable.
#[derive(Message)]
#[rtype(result = "()")]
pub enum DeliveryCommand {
    /// Hint: these deliveries are in the store and due at once.
    Queued(Vec<Delivery>),
    /// Adds a delivery that does not belong to a job, such as a test.
    Add {
        delivery: Delivery,
        /// Add the delivery, and change further records in the same commit.
        writes: Writes,
        reply: ReplySender<Delivery, DeliveryError>,
    },
    /// Makes a delivery pending again, with a fresh set of attempts.
    Redeliver {
        id: DeliveryId,
        /// Builds the audit log entry.
        to_entry: Option<ToAuditEntry<RedeliveryChange>>,
        reply: ReplySender<Delivery, DeliveryError>,
    },
    /// Deletes deliveries that ended before `older_than`, with their attempts. Checks the next `limit` deliveries from `cursor` on, and
    /// replies with the next cursor, which is empty at the end.
    Delete {
        older_than: Timestamp,
        /// Empty at the start.
        cursor: Vec<u8>,
        limit: usize,
        reply: ReplySender<Vec<u8>, StoreError>,
    },
    /// Sets the shards to whose receivers this node sends, if several nodes share the store. Replies with the other shards that still
    /// have attempts in flight.
    Hold {
        shards: HashSet<Shard>,
        reply: oneshot::Sender<HashSet<Shard>>,
    },
    /// Begins no more attempts.
    Stop,
    Depths(oneshot::Sender<DeliveryDepths>),
}

/// A delivery before and after its redelivery.
#[derive(Clone, Debug)]
pub struct RedeliveryChange {
    pub before: Delivery,
    pub after: Delivery,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryDepths {
    /// Deliveries that wait for their due time or their turn.
    pub waiting: usize,
    /// Attempts in flight.
    pub in_flight: usize,
}

/// Why a delivery was not added or redelivered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeliveryError {
    #[error("there is no such delivery")]
    NotFound,
    #[error(transparent)]
    NoReceiver(#[from] NoReceiver),
    #[error("this delivery already has {MAX_ATTEMPTS} attempts, the maximum; it is not sent again")]
    TooManyAttempts,
    #[error(transparent)]
    Store(#[from] StoreError),
}
