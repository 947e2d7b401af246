//! Locks for work that only one node may do at a time.
//!
//! A node takes a lock in a round, and releases it in the commit of the work. A lock does not expire: another node takes it over once
//! its holder has left or was declared dead. A dead node is fenced, so work under a lock never commits after another node has taken the
//! lock over.

use crate::round::decide;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::lock::{Lock, LockName};
use tintype_storage::domain::node::Node;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Key, ReadRequest};
use tintype_storage::store::tables::{LOCKS, NODES};
use tintype_storage::store::{Decision, RoundReads, Store, StoreError, Write, Writes};

/// The outcome of [`take`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOutcome {
    /// The node holds the lock. `newest` is the newest time of an id that was generated under it.
    Yes { newest: Option<Timestamp> },
    /// Another living node holds the lock.
    Held,
    /// The asking node has not joined yet, has left, or was declared dead.
    NotJoined,
}

/// Takes a lock for a node, if it is free. Taking a lock again succeeds.
pub async fn take(store: &Store, node: NodeId, name: LockName) -> Result<LockOutcome, StoreError> {
    decide(store, TakeLock { node, name }).await
}

/// The write that releases a lock, for a commit of its holder. `newest` is the newest time of an id that was generated under the lock.
pub fn release(name: LockName, newest: Option<Timestamp>) -> Write {
    let free = Lock {
        holder: None,
        newest,
    };
    match name {
        // These locks are many, and their `newest` is not needed.
        LockName::File(_) | LockName::Uploads(_) => LOCKS.delete(&name),
        _ => LOCKS.put(&name, &free),
    }
}

struct TakeLock {
    node: NodeId,
    name: LockName,
}

impl Decision for TakeLock {
    type Outcome = LockOutcome;

    /// Holds the record of the node too, because a leaving node checks its locks while it holds that record. It does not check the
    /// lock of maintenance, which every node asks for once a second: a node that has stopped in the middle of that must not delay the
    /// heartbeats of the others, which hold the records of their nodes.
    fn locked_keys(&self) -> Vec<Key> {
        let lock = LOCKS.key(&self.name);
        match self.name {
            LockName::Maintenance => vec![lock],
            _ => vec![lock, NODES.key(&self.node)],
        }
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![LOCKS.request(&self.name), NODES.request(&self.node)]
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, LockOutcome), StoreError> {
        let unchanged = |outcome| Ok((Writes::new(), outcome));
        let is_alive = |node: Option<Node>| node.is_some_and(|it| !it.has_ended);
        if !is_alive(reads.get(&NODES, &self.node)?) {
            return unchanged(LockOutcome::NotJoined);
        }
        let lock = reads.get(&LOCKS, &self.name)?.unwrap_or_default();
        let newest = lock.newest;
        if lock.holder == Some(self.node) {
            return unchanged(LockOutcome::Yes { newest });
        }
        if let Some(holder) = lock.holder
            && is_alive(reads.get(&NODES, &holder)?)
        {
            return unchanged(LockOutcome::Held);
        }
        let taken = Lock {
            holder: Some(self.node),
            newest,
        };
        let writes = vec![LOCKS.put(&self.name, &taken)];
        Ok((writes, LockOutcome::Yes { newest }))
    }
}

/// Does a node hold a lock under which it may still commit?
///
/// # Errors
/// The locks were not read, or are damaged.
pub fn has_any(reads: &RoundReads<'_>, node: NodeId) -> Result<bool, StoreError> {
    let mut locks = reads.scan(&LOCKS, &LOCKS.request_all())?;
    // Two nodes may maintain the store at the same time for a moment.
    locks.retain(|(name, _)| *name != LockName::Maintenance);
    Ok(locks.iter().any(|(_, it)| it.holder == Some(node)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::heartbeat::Heartbeat;
    use uuid::Uuid;

    #[test]
    fn a_heartbeat_does_not_wait_for_the_lock_of_maintenance() {
        let node = NodeId(Uuid::from_u128(1));
        let heartbeat = Heartbeat {
            node,
            is_leaving: false,
            running: 0,
        };
        let taken = |name| TakeLock { node, name }.locked_keys();
        let is_shared = |name| {
            taken(name)
                .iter()
                .any(|it| heartbeat.locked_keys().contains(it))
        };
        assert!(!is_shared(LockName::Maintenance));
        assert!(is_shared(LockName::Operator), "a node may leave meanwhile");
    }
}
