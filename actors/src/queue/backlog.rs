//! The turns of a queue since it was last empty.

use tintype_storage::domain::ids::JobId;

/// Turns of a tier since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnCounts {
    pub begun: usize,
    pub ended: usize,
}

/// The state of a tier when its queue last stopped being empty.
#[derive(Default)]
pub struct BacklogStart {
    /// The job that entered the empty queue.
    job: Option<JobId>,
    turns: TurnCounts,
}

/// The turns of a queue since it was last empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The job that entered the empty queue.
    pub first: JobId,
    pub begun: usize,
    /// While this is 0, the speed of the backends is unknown.
    pub ended: usize,
}

impl BacklogStart {
    /// `job` enters the empty queue after `turns`.
    pub fn at(job: JobId, turns: TurnCounts) -> Self {
        Self {
            job: Some(job),
            turns,
        }
    }

    pub fn until(&self, now: TurnCounts) -> Option<Backlog> {
        Some(Backlog {
            first: self.job?,
            begun: now.begun.saturating_sub(self.turns.begun),
            ended: now.ended.saturating_sub(self.turns.ended),
        })
    }
}
