//! What the delivery actor is asked for.

use actix::Message;
use std::collections::HashSet;
use tintype_storage::domain::audit_log::Note;
use tintype_storage::domain::delivery::{Delivery, DeliveryId, NoReceiver};
use tintype_storage::domain::shard::Shard;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::store::{StoreError, Writes};
use tokio::sync::oneshot;

/// Where the outcome of a command goes.
pub type Reply<T, E> = oneshot::Sender<Result<T, E>>;

/// A command to the delivery actor. Each that changes something is answered once that is durable.
#[derive(Message)]
#[rtype(result = "()")]
pub enum DeliveryCommand {
    /// Hint: these deliveries are in the store, due at once.
    Queued(Vec<Delivery>),
    /// Adds a delivery that no job owes, such as a test.
    Add {
        delivery: Delivery,
        /// What adds it, and what is to be true with it.
        writes: Writes,
        reply: Reply<Delivery, DeliveryError>,
    },
    /// Sends a delivery again, with a fresh set of attempts.
    Redeliver {
        id: DeliveryId,
        /// Writes the line of the audit log.
        note: Option<Note<Redelivered>>,
        reply: Reply<Delivery, DeliveryError>,
    },
    /// Removes deliveries that ended before a moment, with their attempts. Looks at the next `limit` deliveries from `cursor` on and
    /// answers with the next cursor, which is empty at the end.
    Forget {
        older_than: Timestamp,
        /// Empty at the start.
        cursor: Vec<u8>,
        limit: usize,
        reply: Reply<Vec<u8>, StoreError>,
    },
    /// From now on the node sends to the receivers of these shards alone. Answers with the other shards that still have attempts. Only
    /// where several nodes share the store.
    Hold {
        shards: HashSet<Shard>,
        reply: oneshot::Sender<HashSet<Shard>>,
    },
    /// Begins no more attempts.
    Stop,
    /// How many deliveries wait, and how many attempts are in flight?
    Depths(oneshot::Sender<DeliveryDepths>),
}

/// A delivery before and after it was sent again.
#[derive(Clone, Debug)]
pub struct Redelivered {
    pub before: Delivery,
    pub after: Delivery,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryDepths {
    /// Deliveries that wait for their time or their turn.
    pub waiting: usize,
    pub in_flight: usize,
}

/// Why a delivery was not added or sent again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeliveryError {
    #[error("there is no such delivery")]
    NotFound,
    #[error(transparent)]
    NoReceiver(#[from] NoReceiver),
    #[error(transparent)]
    Store(#[from] StoreError),
}
