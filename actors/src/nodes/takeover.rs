//! Takeover: the jobs of a node that died or leaves go back to the front of their queues.
//!
//! The first step declares the node dead and fences it, so that it can commit nothing more. The second step reads its jobs: by then a
//! take that was in flight has been committed, or never will be.

use super::locks;
use std::collections::HashSet;
use tintype_storage::domain::ids::NodeId;
use tintype_storage::domain::job::JobState;
use tintype_storage::domain::node::Node;
use tintype_storage::domain::queue_entry::{QueueClass, QueueEntry};
use tintype_storage::engine::{Direction, Key, ReadRequest};
use tintype_storage::store::tables::{LIVE_JOBS, LOCKS, NODES, QUEUE, TAKEN_JOBS};
use tintype_storage::store::{Decision, RoundReads, StoreError, Writes};

/// Jobs per round.
const STEP: usize = 500;

/// Declares a node dead, if its heartbeat counter is still `beat`.
pub struct DeclareDead {
    pub dead: NodeId,
    pub beat: u64,
    /// The declaring node, which must be alive itself.
    pub by: NodeId,
}

impl Decision for DeclareDead {
    /// Is the node dead?
    type Outcome = bool;

    fn locked_keys(&self) -> Vec<Key> {
        vec![NODES.key(&self.dead)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        vec![NODES.request(&self.dead), NODES.request(&self.by)]
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, bool), StoreError> {
        let by = reads.get(&NODES, &self.by)?;
        let is_silent = |it: &Node| it.beat == self.beat && !it.has_ended;
        let dead = reads.get(&NODES, &self.dead)?.filter(is_silent);
        let (Some(dead), Some(_)) = (dead, by.filter(|it| !it.has_ended)) else {
            return Ok((Writes::new(), false));
        };
        let ended = Node {
            has_ended: true,
            ..dead
        };
        let writes = vec![NODES.put(&self.dead, &ended)];
        Ok((writes, true))
    }

    fn fences(&self, is_dead: &bool) -> Option<NodeId> {
        is_dead.then_some(self.dead)
    }
}

/// Puts the jobs that a node has taken back into their queues.
pub struct Requeue {
    pub node: NodeId,
    pub departure: Departure,
}

/// Why a node gives its jobs back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It was declared dead.
    Dead,
    /// It takes no more jobs, but still answers calls. Its record stays.
    Stopping,
    /// It has answered its last call.
    Leaving,
}

/// The outcome of [`Requeue`], with the number of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequeueOutcome {
    /// The node may have more jobs.
    Partial(usize),
    /// The node has no more jobs. Its record is deleted, unless the node still answers calls.
    Complete(usize),
    /// The node has no more jobs. It holds a lock, so its record stays.
    CompleteButLocked(usize),
    /// The node has no record, or is alive.
    NotRequeued,
}

impl Decision for Requeue {
    type Outcome = RequeueOutcome;

    fn locked_keys(&self) -> Vec<Key> {
        vec![NODES.key(&self.node)]
    }

    fn initial_reads(&self) -> Vec<ReadRequest> {
        let mut needs = vec![NODES.request(&self.node), self.taken_request()];
        if self.departure == Departure::Leaving {
            needs.push(LOCKS.request_all());
        }
        needs
    }

    fn decide(&mut self, reads: &RoundReads<'_>) -> Result<(Writes, RequeueOutcome), StoreError> {
        let found = reads.get(&NODES, &self.node)?;
        if found.is_none_or(|it| it.has_ended != (self.departure == Departure::Dead)) {
            return Ok((Writes::new(), RequeueOutcome::NotRequeued));
        }
        let taken = reads.scan(&TAKEN_JOBS, &self.taken_request())?;
        let jobs = taken.iter().map(|((_, job), taken)| (taken.account, *job));
        let jobs = reads.get_all(&LIVE_JOBS, jobs.collect::<HashSet<_>>())?;
        let mut writes = Writes::new();
        for (key, taken) in &taken {
            // A job whose run had not begun is still queued, and must not begin during a pause.
            let job = jobs.get(&(taken.account, key.1));
            let queued = job.filter(|it| it.state == JobState::Queued);
            let entry = QueueEntry {
                tier: taken.tier,
                class: queued.map_or(QueueClass::Resumed, QueueClass::of_new),
                turn: 0,
                job: key.1,
            };
            writes.push(TAKEN_JOBS.delete(key));
            writes.push(QUEUE.put(&entry, &taken.account));
        }
        let count = taken.len();
        let outcome = match self.departure {
            _ if count == STEP => RequeueOutcome::Partial(count),
            // Without the record another node would take the lock over before the work under it is committed.
            Departure::Leaving if locks::has_any(reads, self.node)? => {
                RequeueOutcome::CompleteButLocked(count)
            }
            Departure::Stopping => RequeueOutcome::Complete(count),
            Departure::Dead | Departure::Leaving => {
                writes.push(NODES.delete(&self.node));
                RequeueOutcome::Complete(count)
            }
        };
        Ok((writes, outcome))
    }
}

impl Requeue {
    fn taken_request(&self) -> ReadRequest {
        let range = TAKEN_JOBS.range(&self.node);
        ReadRequest::Scan(range, Direction::Rising, STEP)
    }
}
