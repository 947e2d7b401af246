//! The outcomes of attempts and jobs.

use tintype_storage::domain::job::{FailureKind, Job, JobState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    Done,
    Failed(FailureKind),
}

impl JobOutcome {
    pub const COUNT: usize = 1 + FailureKind::ALL.len();

    /// In the order of [`JobOutcome::index`].
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Done).chain(FailureKind::ALL.map(Self::Failed))
    }

    /// `None` while the job is live.
    pub fn of(job: &Job) -> Option<Self> {
        match &job.state {
            JobState::Queued | JobState::Processing { .. } => None,
            JobState::Done { .. } => Some(Self::Done),
            JobState::Failed { kind, .. } => Some(Self::Failed(*kind)),
        }
    }

    /// Below [`JobOutcome::COUNT`].
    pub fn index(self) -> usize {
        match self {
            Self::Done => 0,
            Self::Failed(kind) => 1 + kind as usize,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(kind) => kind.as_str(),
        }
    }
}

/// The outcome of an attempt on a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendAttemptOutcome {
    Image,
    Refused,
    Blocked,
    /// The backend is healthy but returned no image.
    NoImage,
    Transient,
    TimedOut,
    Broken,
    /// The request or the service's own storage was at fault before the backend was asked.
    NotAsked,
}

impl BackendAttemptOutcome {
    pub const ALL: [Self; 8] = [
        Self::Image,
        Self::Refused,
        Self::Blocked,
        Self::NoImage,
        Self::Transient,
        Self::TimedOut,
        Self::Broken,
        Self::NotAsked,
    ];

    /// Is the backend at fault?
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Transient | Self::TimedOut | Self::Broken)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "picture",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
            Self::NoImage => "no_picture",
            Self::Transient => "transient",
            Self::TimedOut => "timed_out",
            Self::Broken => "broken",
            Self::NotAsked => "not_asked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_of_a_job_has_its_own_index_and_word() {
        for (at, outcome) in JobOutcome::all().enumerate() {
            assert_eq!(outcome.index(), at);
        }
        let mut words: Vec<_> = JobOutcome::all().map(JobOutcome::as_str).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), JobOutcome::COUNT);
    }
}
