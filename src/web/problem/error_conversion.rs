//! Converts errors of the layers below into problems.

use crate::application::error::{Error, ErrorKind, FieldFault};
use crate::objects::UrlFault;
use crate::web::body::BodyFault;
use crate::web::problem::{Code, Problem};

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

/// Converts through the application's error.
impl<E: Into<Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        let error = error.into();
        let mut problem = Self::new(error.kind.into(), error.detail);
        problem.advice = error.advice;
        problem.errors = error.faults;
        problem.retry_after = error.retry_after.or(problem.retry_after);
        problem
    }
}

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

impl From<UrlFault> for Problem {
    fn from(fault: UrlFault) -> Self {
        let code = match fault {
            UrlFault::InvalidSignature => Code::InvalidSignature,
            UrlFault::Expired => Code::UrlExpired,
        };
        Self::new(code, fault.to_string())
    }
}
