//! The changes of the shared queue by a commit.

use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::node::TakenJob;
use tintype_storage::domain::queue_entry::QueueEntry;
use tintype_storage::store::tables::{QUEUE, TAKEN_JOBS};
use tintype_storage::store::{StoreError, Writes};

/// A change of the queue by a commit of this node.
#[derive(Clone, Debug)]
pub enum QueueChange {
    Queued(QueueEntry, AccountId),
    Left(QueueEntry),
    Taken(JobId, TakenJob),
    Released(JobId),
}

impl QueueChange {
    /// The changes of the queue that `writes` make.
    ///
    /// # Errors
    /// A record is damaged.
    pub fn of(writes: &Writes) -> Result<Vec<Self>, StoreError> {
        let mut changes = Vec::new();
        for (key, value) in writes {
            let change = match value {
                Some(value) => match QUEUE.entry(key, value)? {
                    Some((entry, account)) => Some(Self::Queued(entry, account)),
                    None => TAKEN_JOBS
                        .entry(key, value)?
                        .map(|((_, job), taken)| Self::Taken(job, taken)),
                },
                None => match QUEUE.read_key(key) {
                    Some(entry) => Some(Self::Left(entry)),
                    None => TAKEN_JOBS.read_key(key).map(|(_, job)| Self::Released(job)),
                },
            };
            changes.extend(change);
        }
        Ok(changes)
    }
}
