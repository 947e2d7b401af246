//! The entries of the queue that several nodes share: start-time fair queuing.
//!
//! A job gets its turn at acceptance: after the newest turn of its account and after the turn being served. An account's jobs
//! are served in order of acceptance, and accounts alternate, over all nodes.

use super::ids::JobId;
use super::job::Job;
use super::tier::Tier;
use serde::{Deserialize, Serialize};

/// The priority of a job within its tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum QueueClass {
    /// Their node left or died after their first run had begun. They go on during a pause.
    Resumed,
    /// Submitted one by one.
    Single,
    /// Jobs of batches.
    Batch,
}

impl QueueClass {
    /// In the order in which they are served.
    pub const ALL: [Self; 3] = [Self::Resumed, Self::Single, Self::Batch];

    /// The class of a job before its first run.
    pub fn of_new(job: &Job) -> Self {
        match job.member() {
            Some(_) => Self::Batch,
            None => Self::Single,
        }
    }
}

/// A job in the queue. Entries of a tier are served in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueEntry {
    pub tier: Tier,
    pub class: QueueClass,
    pub turn: u64,
    pub job: JobId,
}

/// The newest turns of an account or of a tier's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    pub single: u64,
    pub batch: u64,
}

impl Turns {
    pub fn of(&self, class: QueueClass) -> u64 {
        match class {
            QueueClass::Resumed => 0,
            QueueClass::Single => self.single,
            QueueClass::Batch => self.batch,
        }
    }

    pub fn raise(&mut self, class: QueueClass, turn: u64) {
        match class {
            QueueClass::Resumed => {}
            QueueClass::Single => self.single = self.single.max(turn),
            QueueClass::Batch => self.batch = self.batch.max(turn),
        }
    }

    /// The turn of the account's next job. `self` holds the account's newest turns, `served` the queue's.
    pub fn next(&self, class: QueueClass, served: &Self) -> u64 {
        self.of(class).max(served.of(class)).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_account_is_served_next_and_a_busy_account_after_its_own_jobs() {
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
