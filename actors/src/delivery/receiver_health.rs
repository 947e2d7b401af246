//! The health of a webhook receiver, as its last attempt showed it.

use std::time::Duration;

/// A success that takes longer is slow: it holds its slot for as long as many fast ones do.
pub const FAST: Duration = Duration::from_secs(1);

/// What the last attempt says of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiverHealth {
    /// It succeeded within [`FAST`].
    Fast,
    /// No attempt has ended yet.
    #[default]
    Unknown,
    /// It succeeded, but not within [`FAST`].
    Slow,
    Failing,
}

/// Receivers that take turns with each other and share a bound of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Fast,
    Unknown,
    /// Slow and failing receivers. They hold a slot for seconds, and must not take those of the others.
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

/// How an attempt ended, as far as its receiver is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// With success after this time.
    Succeeded(Duration),
    Failed,
    /// Nothing was sent, which says nothing of the receiver.
    Unsent,
    /// Nothing was sent, because the webhook has been deleted.
    Gone,
}
