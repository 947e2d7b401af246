//! Converts errors of the layers below into problems.

use super::body::BodyFault;
use super::problem::{Code, Problem};
use crate::application::error::{Error, ErrorKind, FieldFault};
use crate::images::{FAULT_TARGET, FileError};
use actix_web::http::header::{CONTENT_RANGE, HeaderValue};
use tintype_actors::delivery::DeliveryError;
use tintype_storage::domain::caller::CallerRefusal;
use tintype_storage::domain::pause::ActivePause;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{DepositError, StoreError};

impl From<ErrorKind> for Code {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Unauthorized => Self::Unauthorized,
            ErrorKind::InsufficientBalance => Self::InsufficientBalance,
            ErrorKind::KeyLimitReached => Self::KeyLimitReached,
            ErrorKind::AccountLimitReached => Self::AccountLimitReached,
            ErrorKind::ModelNotAllowed => Self::ModelNotAllowed,
            ErrorKind::AddressNotAllowed => Self::AddressNotAllowed,
            ErrorKind::Forbidden => Self::Forbidden,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::Gone => Self::Gone,
            ErrorKind::Invalid => Self::ValidationFailed,
            ErrorKind::IdempotencyKeyReused => Self::IdempotencyKeyReused,
            ErrorKind::RateLimited => Self::RateLimited,
            ErrorKind::Internal => Self::Internal,
            // Only callers who wait for an image get these.
            ErrorKind::DeadlineExceeded | ErrorKind::Canceled => Self::RequestTimeout,
            ErrorKind::StorageUnavailable => Self::StorageUnavailable,
            ErrorKind::Paused => Self::Paused,
            ErrorKind::Overloaded => Self::Overloaded,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let mut problem = Self::new(error.kind.into(), error.detail);
        problem.errors = error.faults;
        problem.retry_after = error.retry_after.or(problem.retry_after);
        problem
    }
}

/// Converts through the application's error.
macro_rules! through_application {
    ($($error:ty),+) => {$(
        impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                Error::from(error).into()
            }
        }
    )+};
}

through_application!(
    CallerRefusal,
    ActivePause,
    StoreError,
    EngineError,
    DepositError,
    DeliveryError
);

impl From<FieldFault> for Problem {
    fn from(fault: FieldFault) -> Self {
        Self::validation(vec![fault])
    }
}

impl From<BodyFault> for Problem {
    fn from(fault: BodyFault) -> Self {
        let code = match fault {
            BodyFault::TooLarge(_) => Code::PayloadTooLarge,
            BodyFault::TimedOut(_) => Code::RequestTimeout,
            BodyFault::Unsupported(_) => Code::UnsupportedMediaType,
            BodyFault::Incomplete(_) => return Self::field("body", fault.to_string()),
        };
        Self::new(code, fault.to_string())
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        let code = match &error {
            FileError::InvalidSignature => Code::InvalidSignature,
            FileError::UrlExpired => Code::UrlExpired,
            FileError::NotFound => Code::NotFound,
            FileError::Gone => Code::Gone,
            FileError::RangeNotSatisfiable { .. } => Code::RangeNotSatisfiable,
            FileError::Storage(cause) => {
                tracing::error!(target: FAULT_TARGET, error = %cause, "could not read a file");
                Code::StorageUnavailable
            }
        };
        let problem = Problem::new(code, error.to_string());
        match error {
            FileError::RangeNotSatisfiable { size } => {
                match HeaderValue::from_str(&format!("bytes */{size}")) {
                    Ok(value) => problem.with_header(CONTENT_RANGE, value),
                    Err(_) => problem,
                }
            }
            _ => problem,
        }
    }
}
