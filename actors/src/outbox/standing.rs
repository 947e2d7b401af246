//! What is known of a receiver, and what an attempt teaches of it.

use std::time::Duration;

/// An answer that takes longer is a slow one: it is a success, but holds its place as long as many brisk ones do.
pub const BRISK: Duration = Duration::from_secs(1);

/// What the last attempt says of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It succeeded within [`BRISK`].
    Brisk,
    /// None has ended yet.
    #[default]
    Untried,
    /// It succeeded, and took its time.
    Slow,
    /// It failed.
    Ailing,
}

/// Receivers that share a bound and take turns with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Brisk,
    Unknown,
    /// Dead, or slow: they hold a place for seconds, and must not take those of the others.
    Doubtful,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Brisk, Self::Unknown, Self::Doubtful];
}

impl Standing {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Brisk => Kind::Brisk,
            Self::Untried => Kind::Unknown,
            Self::Slow | Self::Ailing => Kind::Doubtful,
        }
    }

    pub(super) fn after(self, ending: Ending) -> Self {
        match ending {
            Ending::Succeeded(took) if took < BRISK => Self::Brisk,
            Ending::Succeeded(_) => Self::Slow,
            Ending::Failed => Self::Ailing,
            Ending::Unsent | Ending::Gone => self,
        }
    }
}

/// How an attempt has ended, as far as its receiver is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With success after this time.
    Succeeded(Duration),
    /// Otherwise.
    Failed,
    /// Nothing was sent, so nothing is known of the receiver.
    Unsent,
    /// Nothing was sent, because the receiver is no more.
    Gone,
}
