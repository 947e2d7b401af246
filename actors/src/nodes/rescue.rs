//! A node that died, or leaves: the jobs that it has taken go back to the front of their queues.
//!
//! This takes two steps. The first declares the node dead and fences it, so that it commits nothing any more. Only then are its jobs
//! looked for: a take of it that was under way has been committed by then, or never will be.

use super::locks;
use crate::round::{Decided, Decision, value_of};
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::node::Node;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::engine::{Ask, Direction, Key, Seen};
use tintype_storage::store::tables::{NODES, QUEUE, TAKEN_JOBS};
use tintype_storage::store::{StoreError, Writes};

/// Jobs that one round puts back.
const STEP: usize = 500;

/// Declares a node dead whose beat still stands where it was seen to stand still.
pub struct Declare {
    pub dead: NodeId,
    pub beat: u64,
    /// The node that says so, which must live itself.
    pub by: NodeId,
}

impl Decision for Declare {
    /// Is it dead?
    type Outcome = bool;

    fn holds(&self) -> Vec<Key> {
        vec![NODES.key(&self.dead)]
    }

    fn needs(&self) -> Vec<Ask> {
        vec![
            Ask::Get(NODES.key(&self.dead)),
            Ask::Get(NODES.key(&self.by)),
        ]
    }

    fn decide(&self, seen: &Seen) -> Result<Decided<bool>, StoreError> {
        let by = node(seen, self.by)?;
        let stands_still = |it: &Node| it.beat == self.beat && !it.has_ended;
        let dead = node(seen, self.dead)?.filter(stands_still);
        let (Some(dead), Some(_)) = (dead, by.filter(|it| !it.has_ended)) else {
            return Ok(Decided::Write(Writes::new(), false));
        };
        let ended = Node {
            has_ended: true,
            ..dead
        };
        let writes = vec![NODES.put(&self.dead, &ended)];
        Ok(Decided::Write(writes, true))
    }

    fn fences(&self, is_dead: &bool) -> Option<NodeId> {
        is_dead.then_some(self.dead)
    }
}

/// Puts jobs back that a node had taken.
pub struct PutBack {
    /// A node that was declared dead, or that leaves and takes no more.
    pub node: NodeId,
    pub is_leaving: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// That many jobs were put back; there may be more.
    Some(usize),
    /// All have been, and the node's record is gone.
    All(usize),
    /// All have been. The node's record is still there, because it has a lock.
    Locked(usize),
    /// The node is off the record, or lives.
    None,
}

impl Decision for PutBack {
    type Outcome = Moved;

    fn holds(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn needs(&self) -> Vec<Ask> {
        let mut needs = vec![Ask::Get(NODES.key(&self.node)), self.taken()];
        if self.is_leaving {
            needs.push(locks::all());
        }
        needs
    }

    fn decide(&self, seen: &Seen) -> Result<Decided<Moved>, StoreError> {
        let found = node(seen, self.node)?;
        if found.is_none_or(|it| it.has_ended == self.is_leaving) {
            return Ok(Decided::Write(Writes::new(), Moved::None));
        }
        let taken = seen.pairs(&self.taken()).ok_or(StoreError::NotRead)?;
        let mut writes = Writes::new();
        for (key, value) in taken {
            let Some(((_, job), taken)) = TAKEN_JOBS.entry(key, value)? else {
                continue;
            };
            let place = QueueEntry {
                tier: taken.tier,
                class: QueueClass::Resumed,
                turn: 0,
                job,
            };
            writes.push((key.clone(), None));
            writes.push(QUEUE.put(&place, &taken.account));
        }
        let is_last = taken.len() < STEP;
        let outcome = match is_last && self.is_leaving && locks::has_any(seen, self.node)? {
            // Another node would take the lock over, and what is decided under it is not committed yet.
            true => Moved::Locked(taken.len()),
            false if is_last => {
                writes.push(NODES.delete(&self.node));
                Moved::All(taken.len())
            }
            false => Moved::Some(taken.len()),
        };
        Ok(Decided::Write(writes, outcome))
    }
}

impl PutBack {
    fn taken(&self) -> Ask {
        let range = TAKEN_JOBS.range(&self.node);
        Ask::Scan(range, Direction::Rising, STEP)
    }
}

fn node(seen: &Seen, id: NodeId) -> Result<Option<Node>, StoreError> {
    value_of(seen, &NODES.key(&id), |it| NODES.decode(it))
}
