//! Why a generator returned no image, and the one table of the consequences.

use super::outcome::BackendAttemptOutcome;
use futures_util::future::LocalBoxFuture;
use std::time::Duration;
use tintype_storage::domain::job::FailureKind;

/// The work of a port for a job.
pub type PortFuture<T> = LocalBoxFuture<'static, Result<T, GenerateError>>;

/// Why there is no image. The caller reads the texts: they are sentences without secrets, addresses or stack traces.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GenerateError {
    /// The request is at fault: every backend would refuse it.
    #[error("{0}")]
    Refused(String),
    /// The request is at fault, which was found before a backend was asked.
    #[error("{0}")]
    InvalidRequest(String),
    /// The prompt or the image was blocked.
    #[error("blocked for safety: {0}")]
    Blocked(String),
    /// The backend is healthy but returned no image. Another attempt may succeed.
    #[error("{0}")]
    NoImage(String),
    /// The request may succeed later, or on another backend. The request itself may be the cause.
    #[error("{reason}")]
    Transient {
        reason: String,
        /// How long the backend asks callers to wait.
        retry_after: Option<Duration>,
    },
    /// The backend accepts no request at the moment. The request may succeed later, or on another backend.
    #[error("{reason}")]
    Overloaded {
        reason: String,
        /// How long the backend asks callers to wait.
        retry_after: Option<Duration>,
    },
    /// No connection to the backend, so nothing was sent. The request may succeed later, or on another backend.
    #[error("{0}")]
    Unreachable(String),
    /// The backend took too long. The request may succeed later, or on another backend. The request itself may be the cause.
    #[error("{0}")]
    TimedOut(String),
    /// The backend returned nothing usable. Another one may serve the request, which may itself be the cause.
    #[error("{0}")]
    BackendFault(String),
    /// The backend lacks something that its configuration needs, such as a model, and fails most requests. Another one may serve the
    /// request, which may itself be the cause.
    #[error("{0}")]
    Misconfigured(String),
    /// The backend rejects every request: its key, its account or its address is wrong. Another one may serve the request.
    #[error("{0}")]
    BackendRejectsAll(String),
    /// The backend refuses the request because of its own limits, such as the size of a body. Another one may accept it.
    #[error("{0}")]
    BackendLimit(String),
    /// The backend does not support this request and was not asked. Another one may support it.
    #[error("{0}")]
    Unsupported(String),
    /// The service's own storage failed. No other backend would help.
    #[error("{0}")]
    Storage(String),
}

/// The effect of a failed attempt on the backend's breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerEffect {
    /// The backend answered, if only with a refusal.
    Success,
    /// The backend would have failed any request.
    Failure,
    /// The backend failed, perhaps because of this request.
    DoubtfulFailure,
    /// The backend was not asked.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FailureRule {
    kind: FailureKind,
    outcome: BackendAttemptOutcome,
    retryable: bool,
    failover: bool,
    breaker: BreakerEffect,
}

impl GenerateError {
    #[rustfmt::skip]
    fn rule(&self) -> FailureRule {
        use {BreakerEffect as B, FailureKind as K, BackendAttemptOutcome as O};
        let (kind, outcome, retryable, failover, breaker) = match self {
            //                             recorded        counted       retry  failover  breaker
            Self::Refused(_)           => (K::Refused,     O::Refused,   false, false,    B::Success),
            Self::InvalidRequest(_)    => (K::Refused,     O::NotAsked,  false, false,    B::None),
            Self::Blocked(_)           => (K::Blocked,     O::Blocked,   false, false,    B::Success),
            Self::NoImage(_)           => (K::Broken,      O::NoImage,   true,  true,     B::Success),
            Self::Transient { .. }     => (K::Unavailable, O::Transient, true,  true,     B::DoubtfulFailure),
            Self::Overloaded { .. }    => (K::Unavailable, O::Transient, true,  true,     B::Failure),
            Self::Unreachable(_)       => (K::Unavailable, O::Transient, true,  true,     B::Failure),
            Self::TimedOut(_)          => (K::TimedOut,    O::TimedOut,  true,  true,     B::DoubtfulFailure),
            Self::BackendFault(_)      => (K::Broken,      O::Broken,    false, true,     B::DoubtfulFailure),
            Self::Misconfigured(_)     => (K::Broken,      O::Broken,    false, true,     B::DoubtfulFailure),
            Self::BackendRejectsAll(_) => (K::Broken,      O::Broken,    false, true,     B::Failure),
            Self::BackendLimit(_)      => (K::Refused,     O::Refused,   false, true,     B::Success),
            Self::Unsupported(_)       => (K::Refused,     O::NotAsked,  false, true,     B::None),
            Self::Storage(_)           => (K::Unavailable, O::NotAsked,  true,  false,    B::None),
        };
        FailureRule { kind, outcome, retryable, failover, breaker }
    }

    pub fn kind(&self) -> FailureKind {
        self.rule().kind
    }

    pub(crate) fn outcome(&self) -> BackendAttemptOutcome {
        self.rule().outcome
    }

    /// May another attempt on the same backend succeed?
    pub(crate) fn is_retryable(&self) -> bool {
        self.rule().retryable
    }

    /// May another backend succeed?
    pub(crate) fn allows_failover(&self) -> bool {
        self.rule().failover
    }

    /// Of the errors of a run's backends, the job fails with the one that ranks highest: one that ends the run, else one that may pass,
    /// else a backend's fault. So the request is at fault only if every backend says so.
    pub(crate) fn rank(&self) -> u8 {
        match self {
            Self::BackendLimit(_) | Self::Unsupported(_) => 0,
            error if error.allows_failover() => 1 + u8::from(error.is_retryable()),
            _ => 3,
        }
    }

    /// Can the backend have received the request?
    pub(crate) fn has_reached_backend(&self) -> bool {
        !matches!(self, Self::Unreachable(_)) && self.outcome() != BackendAttemptOutcome::NotAsked
    }

    pub(crate) fn breaker_effect(&self) -> BreakerEffect {
        self.rule().breaker
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                *retry_after
            }
            _ => None,
        }
    }
}
