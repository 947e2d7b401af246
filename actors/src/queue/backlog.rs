//! What has happened to a queue since it was last empty.

use tintype_storage::domain::ids::JobId;

/// Turns of a tier since the start of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnCounts {
    pub begun: usize,
    pub ended: usize,
}

/// The state of a tier when its queue was last found empty.
#[derive(Default)]
pub struct BacklogStart {
    /// The job that found the queue empty.
    job: Option<JobId>,
    turns: TurnCounts,
}

/// What has happened to a queue since it was last empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The job that found it empty.
    pub first: JobId,
    /// Turns that have begun.
    pub begun: usize,
    /// Turns that have ended. While none has, nothing tells how fast the backends are.
    pub ended: usize,
}

impl BacklogStart {
    /// `job` finds the queue empty after so many turns.
    pub fn at(job: JobId, turns: TurnCounts) -> Self {
        Self {
            job: Some(job),
            turns,
        }
    }

    /// What has happened until now.
    pub fn until(&self, now: TurnCounts) -> Option<Backlog> {
        Some(Backlog {
            first: self.job?,
            begun: now.begun.saturating_sub(self.turns.begun),
            ended: now.ended.saturating_sub(self.turns.ended),
        })
    }
}
