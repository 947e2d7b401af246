//! Locks that keep an operation to one node at a time when several nodes share a store.
//!
//! A node that left or was declared dead holds no lock: nothing of such a node is committed any more.

use super::ids::{AccountId, FileId, NodeId};
use super::time::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockName {
    /// Changes of keys, webhooks, pauses and alarms, new accounts, test deliveries and the tokens of the object store. The key of an upload
    /// is checked under it too.
    Operator,
    /// Changes of people and their sessions.
    People,
    /// Changes of what ended jobs leave: favourites, deletion of other images, of old jobs and batches and of result files, erasure, and
    /// writes to the search index.
    Content,
    /// Sweeps of the store, the search index, and checks for operator events.
    Maintenance,
    /// Submission of an uploaded file as a batch.
    File(FileId),
    /// Uploads of an account, and its batches whose file is invalid: both are counted.
    Uploads(AccountId),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// `None` if the lock is free.
    pub holder: Option<NodeId>,
    /// An upper bound of the times in ids created under the lock, including ids of other nodes with other clocks.
    pub newest: Option<Timestamp>,
}
