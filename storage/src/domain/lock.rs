//! Locks: what one node at a time may do, where several nodes share a store.
//!
//! The lock of a node that is off the record, or was declared dead, is free: nothing of such a node is committed any more.

use super::ids::{FileId, NodeId};
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

/// What a lock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockName {
    /// To change keys, webhooks and switches.
    Operator,
    /// To change people and their sessions.
    People,
    /// To make favourites, and to remove pictures that are none.
    Favourites,
    /// To sweep the store, to build the search index, and to look for what the operator is to hear of.
    Maintenance,
    /// To submit an uploaded file as a batch.
    File(FileId),
}

/// A lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The node that has it; `None` where it is free.
    pub holder: Option<NodeId>,
    /// No id that was made under the lock is from a later moment, also none that another node made by its own clock.
    pub newest: Option<Timestamp>,
}
