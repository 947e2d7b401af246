//! Why a generator made no picture, and the one table of what follows from that.

use super::outcome::TryOutcome;
use std::time::Duration;
use tintype_storage::domain::job::FailureKind;

/// Why there is no picture. The caller reads the texts: they are sentences without secrets, addresses or stacks.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The request itself is at fault: every try on every backend would refuse it.
    #[error("{0}")]
    Refused(String),
    /// The request is at fault, and that was seen before a backend was asked.
    #[error("{0}")]
    Unsound(String),
    /// The prompt or the picture was blocked.
    #[error("blocked for safety: {0}")]
    Blocked(String),
    /// The backend is healthy and made nothing of this request. Another try may.
    #[error("{0}")]
    NoPicture(String),
    /// It may work later or elsewhere.
    #[error("{reason}")]
    Transient {
        reason: String,
        /// How long the backend asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// The backend took too long. It may work later or elsewhere.
    #[error("{0}")]
    TimedOut(String),
    /// The backend is of no use for this request. Another one may be.
    #[error("{0}")]
    Broken(String),
    /// The backend cannot be given this request and was not asked. Another one may be.
    #[error("{0}")]
    NotAsked(String),
    /// What the service itself stores could not be read or written. No other backend would help.
    #[error("{0}")]
    Storage(String),
}

/// What a failed try says of the backend's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerEffect {
    /// The backend answered, if only with a refusal.
    Success,
    Failure,
    /// The backend was not asked.
    None,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FailureRule {
    kind: FailureKind,
    outcome: TryOutcome,
    retryable: bool,
    failover: bool,
    breaker: BreakerEffect,
}

impl GenerateError {
    #[rustfmt::skip]
    fn rule(&self) -> FailureRule {
        use {BreakerEffect as B, FailureKind as K, TryOutcome as O};
        let (kind, outcome, retryable, failover, breaker) = match self {
            //                          recorded        counted       retry  failover  breaker
            Self::Refused(_)        => (K::Refused,     O::Refused,   false, false,    B::Success),
            Self::Unsound(_)        => (K::Refused,     O::NotAsked,  false, false,    B::None),
            Self::Blocked(_)        => (K::Blocked,     O::Blocked,   false, false,    B::Success),
            Self::NoPicture(_)      => (K::Broken,      O::NoPicture, true,  true,     B::Success),
            Self::Transient { .. }  => (K::Unavailable, O::Transient, true,  true,     B::Failure),
            Self::TimedOut(_)       => (K::TimedOut,    O::TimedOut,  true,  true,     B::Failure),
            Self::Broken(_)         => (K::Broken,      O::Broken,    false, true,     B::Success),
            Self::NotAsked(_)       => (K::Broken,      O::NotAsked,  false, true,     B::None),
            Self::Storage(_)        => (K::Unavailable, O::NotAsked,  true,  false,    B::None),
        };
        FailureRule { kind, outcome, retryable, failover, breaker }
    }

    /// What the job's record says beside the sentence.
    pub fn kind(&self) -> FailureKind {
        self.rule().kind
    }

    /// What the try counts as.
    pub(crate) fn outcome(&self) -> TryOutcome {
        self.rule().outcome
    }

    /// May another try on the same backend succeed?
    pub(crate) fn is_retryable(&self) -> bool {
        self.rule().retryable
    }

    /// May another backend succeed?
    pub(crate) fn allows_failover(&self) -> bool {
        self.rule().failover
    }

    /// What the try says of the backend's health.
    pub(crate) fn breaker_effect(&self) -> BreakerEffect {
        self.rule().breaker
    }

    /// How long the backend asks to be left alone.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
