//! Why a use case refuses a call or fails. Each interface renders it in the form that its clients read.

use crate::inputs::MemoryUnavailable;
use std::fmt;
use tintype_actors::delivery::DeliveryError;
use tintype_storage::domain::caller::CallerRefusal;
use tintype_storage::domain::pause::Paused;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{AcceptError, DepositError, StoreError};

pub use tintype_api::FieldFault;

/// The header that names a request, as faults of it are told.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// What kind of refusal or failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    Unauthorized,
    InsufficientBalance,
    KeyLimitReached,
    AccountLimitReached,
    ModelNotAllowed,
    AddressNotAllowed,
    Forbidden,
    NotFound,
    Conflict,
    Gone,
    Invalid,
    IdempotencyKeyReused,
    RateLimited,
    Internal,
    StorageUnavailable,
    /// The caller's time was up.
    DeadlineExceeded,
    /// The caller has left.
    Canceled,
    Paused,
    Overloaded,
}

/// A refusal or a failure, with its explanation.
#[derive(Clone, Debug)]
pub struct Error {
    pub kind: ErrorKind,
    /// What was wrong this time, and what to do.
    pub detail: String,
    /// Every faulty field, of [`ErrorKind::Invalid`].
    pub faults: Vec<FieldFault>,
    /// Seconds after which a repeat makes sense, where the kind's own time does not fit.
    pub retry_after: Option<u32>,
}

impl Error {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            faults: Vec::new(),
            retry_after: None,
        }
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, detail)
    }

    /// These fields are faulty.
    pub fn invalid(faults: Vec<FieldFault>) -> Self {
        let detail = match faults.as_slice() {
            [one] => format!("{}: {}", one.field, one.message),
            many => format!("{} fields are faulty; see `errors`", many.len()),
        };
        Self {
            faults,
            ..Self::new(ErrorKind::Invalid, detail)
        }
    }

    pub fn field(field: &str, message: impl Into<String>) -> Self {
        Self::invalid(vec![FieldFault::new(field, message)])
    }

    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Error {}

/// The program itself is at fault, and the log says why.
pub fn internal() -> Error {
    let detail = "the service failed to answer this; tell its operator the request id";
    Error::new(ErrorKind::Internal, detail)
}

/// A key has outlived its account.
pub fn account_is_gone() -> Error {
    let detail = "the account of this API key no longer exists";
    Error::new(ErrorKind::Unauthorized, detail)
}

/// One text for an unknown id and for no id at all.
pub fn no_webhook() -> Error {
    Error::not_found("there is no such webhook")
}

/// The answer to everything once storage has failed.
pub fn stopping() -> Error {
    let detail = "the service is stopping after a storage failure and will be back once it has been restarted";
    Error::new(ErrorKind::Overloaded, detail).retry_after(5)
}

/// The answer while the database does not answer.
pub fn database_away() -> Error {
    let detail = "the database of the service does not answer; try again in a moment, a creation with the same Idempotency-Key, because it \
                  may have been accepted";
    Error::new(ErrorKind::Overloaded, detail).retry_after(2)
}

/// The inbox of the account's actor is full.
pub fn busy() -> Error {
    Error::new(
        ErrorKind::Overloaded,
        "too many calls of this account are under way; repeat it in a moment",
    )
}

/// All accounts together have more calls under way than can be answered in time.
pub fn overloaded() -> Error {
    Error::new(
        ErrorKind::Overloaded,
        "the service has more calls under way than it can answer in time; repeat it in a moment",
    )
}

/// The inbox of the delivery actor is full.
pub fn busy_delivering() -> Error {
    Error::new(
        ErrorKind::Overloaded,
        "too many deliveries are being added or sent again; repeat it in a moment",
    )
}

/// An idempotency key stands for another request.
pub fn key_reused(detail: impl Into<String>) -> Error {
    let detail = detail.into();
    Error {
        faults: vec![FieldFault::new(IDEMPOTENCY_KEY, detail.clone())],
        ..Error::new(ErrorKind::IdempotencyKeyReused, detail)
    }
}

impl From<MemoryUnavailable> for Error {
    fn from(fault: MemoryUnavailable) -> Self {
        Self::new(ErrorKind::Overloaded, fault.to_string()).retry_after(5)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Engine(error) => error.into(),
            StoreError::NotRead | StoreError::Damaged { .. } | StoreError::Inconsistent { .. } => {
                tracing::error!(%error, "corrupt record");
                Self::new(
                    ErrorKind::Internal,
                    "a record of the service is damaged; tell its operator",
                )
            }
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        tracing::error!(%error, "storage failed");
        stopping()
    }
}

impl From<AcceptError> for Error {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::KeyReused => key_reused(error.to_string()),
            AcceptError::Caller(refusal) => refusal.into(),
            AcceptError::Paused(paused) => paused.into(),
            AcceptError::RateLowered => Self::new(ErrorKind::RateLimited, error.to_string()),
            AcceptError::TooManyLive { .. } | AcceptError::TooManyLiveOfKey { .. } => Self::new(
                ErrorKind::RateLimited,
                format!("{error}; wait for some of them to finish"),
            )
            .retry_after(5),
            AcceptError::AccountLimit(_) => {
                Self::new(ErrorKind::AccountLimitReached, error.to_string())
            }
            AcceptError::KeyLimit(_) => Self::new(ErrorKind::KeyLimitReached, error.to_string()),
            AcceptError::Ledger(error) => {
                Self::new(ErrorKind::InsufficientBalance, error.to_string())
            }
            AcceptError::Store(error) => error.into(),
        }
    }
}

impl From<CallerRefusal> for Error {
    fn from(refusal: CallerRefusal) -> Self {
        let kind = match refusal {
            CallerRefusal::Unknown | CallerRefusal::Key(_) => ErrorKind::Unauthorized,
            // Not 401: the key is a good one, and another would be refused there as well.
            CallerRefusal::Address(_) => ErrorKind::AddressNotAllowed,
            CallerRefusal::Model(_) => ErrorKind::ModelNotAllowed,
        };
        Self::new(kind, refusal.to_string())
    }
}

impl From<Paused> for Error {
    fn from(paused: Paused) -> Self {
        let detail = format!("{paused}; try again later with the same Idempotency-Key");
        Self::new(ErrorKind::Paused, detail)
    }
}

impl From<DepositError> for Error {
    fn from(error: DepositError) -> Self {
        match error {
            DepositError::KeyReused => key_reused(error.to_string()),
            DepositError::Ledger(error) => Self::field("amount", error.to_string()),
            DepositError::Store(error) => error.into(),
        }
    }
}

impl From<DeliveryError> for Error {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::NotFound => Self::not_found("there is no such delivery"),
            DeliveryError::NoReceiver(reason) => Self::conflict(reason.to_string()),
            DeliveryError::Store(error) => error.into(),
        }
    }
}
