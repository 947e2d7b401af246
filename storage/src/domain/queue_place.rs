//! Where a job waits in the queue that several nodes share.
//!
//! A job gets its turn when it is accepted: the turn after its account's newest one and after the one that is served. So an account's jobs
//! are served in the order of acceptance, and accounts take turns, over all nodes. This is start-time fair queuing.

use super::ids::JobId;
use super::job::{Job, Origin};
use super::tier::Tier;
use serde::{Deserialize, Serialize};

/// Which jobs of a tier go before which others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum QueueClass {
    /// Their node has left them, or died: their turn had come before.
    Resumed,
    /// Those that were submitted one by one.
    Single,
    /// Those of batches.
    Batch,
}

impl QueueClass {
    /// Every one, in the order in which they are served.
    pub const ALL: [Self; 3] = [Self::Resumed, Self::Single, Self::Batch];

    /// Of a job that waits for its first run.
    pub fn of_new(job: &Job) -> Self {
        match job.origin {
            Origin::Native | Origin::Synchronous => Self::Single,
            Origin::Batch(_) => Self::Batch,
        }
    }
}

/// A place in the queue. Places are served in their order within a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePlace {
    pub tier: Tier,
    pub class: QueueClass,
    pub turn: u64,
    pub job: JobId,
}

/// The newest turns, of an account or of a tier's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    pub single: u64,
    pub batch: u64,
}

impl Turns {
    /// That of a class.
    pub fn of(&self, class: QueueClass) -> u64 {
        match class {
            QueueClass::Resumed => 0,
            QueueClass::Single => self.single,
            QueueClass::Batch => self.batch,
        }
    }

    /// Raises that of a class.
    pub fn raise(&mut self, class: QueueClass, turn: u64) {
        match class {
            QueueClass::Resumed => {}
            QueueClass::Single => self.single = self.single.max(turn),
            QueueClass::Batch => self.batch = self.batch.max(turn),
        }
    }

    /// The turn of the next job of an account, whose newest turns these are; `served` are those of the queue.
    pub fn next(&self, class: QueueClass, served: &Self) -> u64 {
        self.of(class).max(served.of(class)).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newcomer_is_served_next_and_a_busy_account_after_its_own() {
        let served = Turns {
            single: 7,
            batch: 2,
        };
        let (newcomer, busy) = (
            Turns::default(),
            Turns {
                single: 30,
                batch: 2,
            },
        );
        assert_eq!(newcomer.next(QueueClass::Single, &served), 8);
        assert_eq!(busy.next(QueueClass::Single, &served), 31);
        assert_eq!(busy.next(QueueClass::Batch, &served), 3);
    }
}
