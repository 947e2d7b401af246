//! Refusals and failures of use cases. Each interface renders them in its own format.

use crate::inputs::{MemoryUnavailable, UploadFault};
use crate::objects::{FAULT_TARGET, ObjectError};
use std::fmt::Display;
use tintype_actors::account::NoReply;
use tintype_actors::delivery::DeliveryError;
use tintype_storage::domain::caller::CallerRefusal;
use tintype_storage::domain::pause::ActivePause;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{DepositError, RefundError, StoreError};

pub use tintype_api::FieldFault;

/// The field name of faults in this header.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

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
    DeadlineExceeded,
    /// The caller disconnected.
    Canceled,
    Paused,
    Overloaded,
}

#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}{advice}")]
pub struct Error {
    pub kind: ErrorKind,
    /// What failed and what to do.
    pub detail: String,
    /// The end of the detail for callers that choose their idempotency keys; may be empty.
    pub advice: &'static str,
    /// All faulty fields, for [`ErrorKind::Invalid`].
    pub faults: Vec<FieldFault>,
    /// Seconds before a retry; `None`: the default of the kind.
    pub retry_after: Option<u32>,
}

impl Error {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            advice: "",
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

    pub fn invalid(faults: Vec<FieldFault>) -> Self {
        let detail = match faults.as_slice() {
            [one] => format!("{}: {}", one.field, one.message),
            many => format!("{} fields are invalid; see `errors`", many.len()),
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

    pub fn with_same_key(mut self) -> Self {
        self.advice = " with the same Idempotency-Key";
        self
    }
}

/// A bug or a failure whose cause is in the log.
pub fn internal() -> Error {
    let detail = "the service failed to process the call; report the request id to its operator";
    Error::new(ErrorKind::Internal, detail)
}

pub fn account_is_gone() -> Error {
    let detail = "the account of this API key no longer exists";
    Error::new(ErrorKind::Unauthorized, detail)
}

/// The same text for an unknown id and for a malformed id.
pub fn no_webhook() -> Error {
    Error::not_found("there is no such webhook")
}

/// The error of every call after a storage failure.
pub fn stopping() -> Error {
    let detail =
        "the service is stopping after a storage failure; it is available again after a restart";
    Error::new(ErrorKind::Overloaded, detail).retry_after(5)
}

/// The error while the database does not respond.
pub fn database_unavailable() -> Error {
    let detail = "the database of the service does not respond; try again in a moment. Repeat a creation with the same Idempotency-Key: \
                  the service may have accepted it";
    Error::new(ErrorKind::Overloaded, detail).retry_after(2)
}

/// The inbox of the account's actor is full.
pub fn busy() -> Error {
    Error::new(
        ErrorKind::Overloaded,
        "too many calls of this account are in progress; try again in a moment",
    )
}

pub fn overloaded() -> Error {
    Error::new(
        ErrorKind::Overloaded,
        "the service has more calls in progress than it can answer in time; try again in a moment",
    )
}

/// The inbox of the delivery actor is full.
pub fn busy_delivering() -> Error {
    Error::new(
        ErrorKind::Overloaded,
        "too many deliveries are being added or redelivered; try again in a moment",
    )
}

/// Logs what failed, with the cause. `detail` is for the caller.
pub fn object_store_fault(error: impl Display, failed: &str, detail: impl Into<String>) -> Error {
    tracing::error!(target: FAULT_TARGET, %error, "{failed}");
    Error::new(ErrorKind::StorageUnavailable, detail)
}

/// An input image could not be stored. `field` names the image.
pub fn upload_fault(fault: UploadFault, field: &str) -> Error {
    match fault {
        UploadFault::Image(message) => Error::invalid(vec![FieldFault::new(field, message)]),
        UploadFault::MemoryUnavailable(fault) => fault.into(),
        UploadFault::Store(error) => {
            let detail = "the input images could not be stored; try again";
            object_store_fault(error, "could not store an input image", detail)
        }
    }
}

/// The image of a job, or a thumbnail of it, could not be read.
pub fn image_fault(error: ObjectError) -> Error {
    if let ObjectError::NotFound { .. } = error {
        return Error::new(ErrorKind::Gone, "the image was deleted");
    }
    let detail = "the image could not be read; try again";
    object_store_fault(error, "could not read an image", detail)
}

/// An earlier call used the idempotency key for another request.
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
            StoreError::NewerFormat { .. } => {
                tracing::error!(%error, "record of a newer version");
                Self::new(
                    ErrorKind::Internal,
                    "a newer version of the service wrote a record of this call; report the request id to its operator",
                )
            }
            StoreError::NotRead | StoreError::Damaged { .. } | StoreError::Inconsistent { .. } => {
                tracing::error!(%error, "corrupt record");
                Self::new(
                    ErrorKind::Internal,
                    "a record of the service is damaged; report the request id to its operator",
                )
            }
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            // The log has the reason.
            EngineError::Fenced | EngineError::Stopped => tracing::debug!(%error, "storage failed"),
            _ => tracing::error!(%error, "storage failed"),
        }
        stopping()
    }
}

impl From<CallerRefusal> for Error {
    fn from(refusal: CallerRefusal) -> Self {
        let kind = match refusal {
            CallerRefusal::Unknown | CallerRefusal::Key(_) => ErrorKind::Unauthorized,
            // Not 401: the key is valid, and any other key would be refused from this address too.
            CallerRefusal::Address(_) => ErrorKind::AddressNotAllowed,
            CallerRefusal::Model(_) => ErrorKind::ModelNotAllowed,
        };
        Self::new(kind, refusal.to_string())
    }
}

impl From<ActivePause> for Error {
    fn from(paused: ActivePause) -> Self {
        let detail = format!("{paused}; try again later");
        Self::new(ErrorKind::Paused, detail)
            .with_same_key()
            .retry_after(30)
    }
}

impl From<NoReply> for Error {
    fn from(cause: NoReply) -> Self {
        match cause {
            NoReply::Overloaded(_) => busy(),
            NoReply::Stopping => stopping(),
        }
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

impl From<RefundError> for Error {
    fn from(error: RefundError) -> Self {
        match error {
            RefundError::KeyReused => key_reused(error.to_string()),
            RefundError::UnknownJob | RefundError::NotCharged(_) => {
                Self::field("job_id", error.to_string())
            }
            RefundError::ExceedsCharge { .. } => Self::conflict(error.to_string()),
            RefundError::Ledger(error) => Self::field("amount", error.to_string()),
            RefundError::Store(error) => error.into(),
        }
    }
}

impl From<DeliveryError> for Error {
    fn from(error: DeliveryError) -> Self {
        match error {
            DeliveryError::NotFound => Self::not_found("there is no such delivery"),
            DeliveryError::NoReceiver(_) | DeliveryError::TooManyAttempts => {
                Self::conflict(error.to_string())
            }
            DeliveryError::Store(error) => error.into(),
        }
    }
}
