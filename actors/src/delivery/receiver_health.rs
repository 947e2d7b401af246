//! The health of a webhook receiver, by its last attempt.

use std::time::Duration;

/// A success that takes longer is slow: it holds its slot as long as many fast ones.
pub const FAST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiverHealth {
    /// The last attempt succeeded within [`FAST`].
    Fast,
    /// No attempt has ended yet.
    #[default]
    Unknown,
    /// The last attempt succeeded, but took longer than [`FAST`].
    Slow,
    Failing,
}

/// Receivers that take turns and share a limit of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Fast,
    Unknown,
    /// Slow and failing receivers. They hold slots for seconds, and must not starve the others.
    Degraded,
}

impl Group {
    pub const ALL: [Self; 3] = [Self::Fast, Self::Unknown, Self::Degraded];
}

impl ReceiverHealth {
    pub(super) fn group(self) -> Group {
        match self {
            Self::Fast => Group::Fast,
            Self::Unknown => Group::Unknown,
            Self::Slow | Self::Failing => Group::Degraded,
        }
    }

    pub(super) fn after(self, end: AttemptEnd) -> Self {
        match end {
            AttemptEnd::Succeeded(took) if took < FAST => Self::Fast,
            AttemptEnd::Succeeded(_) => Self::Slow,
            AttemptEnd::Failed => Self::Failing,
            AttemptEnd::Unsent | AttemptEnd::Gone => self,
        }
    }
}

/// The end of an attempt, from the receiver's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// After this time.
    Succeeded(Duration),
    Failed,
    /// Nothing was sent, so the receiver's health stays.
    Unsent,
    /// Nothing was sent, because the webhook has been deleted.
    Gone,
}
