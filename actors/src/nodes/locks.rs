//! Locks: what one node at a time may do.
//!
//! A node takes a lock in a round, and gives it back in the commit of what it did under the lock. A lock has no time at which it ends:
//! it falls to another node when its holder is off the record or was declared dead. Nothing of such a node is committed any more, so
//! what was decided under a lock is never committed after another node has taken the lock over.

use crate::round::{Decided, Decision, decide, value_of};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::lock::{Lock, LockName};
use tintype_storage::domain::node::Node;
use tintype_storage::domain::time::Timestamp;
use tintype_storage::engine::{Ask, Direction, Key, Seen};
use tintype_storage::store::tables::{LOCKS, NODES};
use tintype_storage::store::{All, Store, StoreError, Write, Writes};

/// What came of an attempt to take a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The node has it. No id that was made under the lock before is from a later moment.
    Yes { newest: Option<Timestamp> },
    /// A living node has it.
    Held,
    /// The node that asks has not joined yet, has left, or was taken for dead.
    NotJoined,
}

/// Takes a lock for a node, if it is free. A node that has it already keeps it.
///
/// # Errors
/// The engine fails, or a record is damaged.
pub async fn take(store: &Store, node: NodeId, name: LockName) -> Result<Taken, StoreError> {
    decide(store, TakeLock { node, name }).await
}

/// The write that gives a lock back. It belongs to a commit of the node that has the lock. `newest`: no id that was made under it is
/// from a later moment.
pub fn release(name: LockName, newest: Option<Timestamp>) -> Write {
    let free = Lock {
        holder: None,
        newest,
    };
    match name {
        // There are many, and nothing of one is remembered.
        LockName::File(_) => LOCKS.delete(&name),
        _ => LOCKS.put(&name, &free),
    }
}

struct TakeLock {
    node: NodeId,
    name: LockName,
}

impl Decision for TakeLock {
    type Outcome = Taken;

    /// The record of the own node too: a node that is about to leave looks for its locks under it.
    fn holds(&self) -> Vec<Key> {
        vec![LOCKS.key(&self.name), NODES.key(&self.node)]
    }

    fn needs(&self) -> Vec<Ask> {
        self.holds().into_iter().map(Ask::Get).collect()
    }

    fn decide(&self, seen: &Seen) -> Result<Decided<Taken>, StoreError> {
        let nothing = |outcome| Ok(Decided::Write(Writes::new(), outcome));
        let is_alive = |node: Option<Node>| node.is_some_and(|it| !it.has_ended);
        let node = |id: NodeId| value_of(seen, &NODES.key(&id), |it| NODES.decode(it));
        if !is_alive(node(self.node)?) {
            return nothing(Taken::NotJoined);
        }
        let lock = value_of(seen, &LOCKS.key(&self.name), |it| LOCKS.decode(it))?;
        let lock = lock.unwrap_or_default();
        let newest = lock.newest;
        if lock.holder == Some(self.node) {
            return nothing(Taken::Yes { newest });
        }
        if let Some(holder) = lock.holder {
            if seen.value(&NODES.key(&holder)).is_none() {
                return Ok(Decided::Ask(vec![Ask::Get(NODES.key(&holder))]));
            }
            if is_alive(node(holder)?) {
                return nothing(Taken::Held);
            }
        }
        let taken = Lock {
            holder: Some(self.node),
            newest,
        };
        let writes = vec![LOCKS.put(&self.name, &taken)];
        Ok(Decided::Write(writes, Taken::Yes { newest }))
    }
}

/// Asks for all locks, for [`has_any`].
pub fn all() -> Ask {
    Ask::Scan(LOCKS.range(&All), Direction::Rising, usize::MAX)
}

/// Does a node have a lock under which it may commit something yet?
///
/// # Errors
/// The locks were not read, or are damaged.
pub fn has_any(seen: &Seen, node: NodeId) -> Result<bool, StoreError> {
    for (key, value) in seen.pairs(&all()).ok_or(StoreError::NotRead)? {
        // The other nodes lose nothing where two of them maintain the store for a moment.
        let lock = LOCKS.entry(key, value)?;
        let lock = lock.filter(|(name, _)| *name != LockName::Maintenance);
        if lock.is_some_and(|(_, it)| it.holder == Some(node)) {
            return Ok(true);
        }
    }
    Ok(false)
}
