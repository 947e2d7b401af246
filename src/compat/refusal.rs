//! Every way in which a call of the synchronous interfaces can end without a picture, before it is put into the words of one
//! of them.

use crate::application::error::{Error, ErrorKind};
use crate::application::input_ingestion::ALL_INPUTS;
use crate::images::FAULT_TARGET;
use crate::inputs::UploadFault;
use crate::web::problem::{Code, Problem};
use tintype_storage::engine::EngineError;
use tintype_storage::store::{AcceptError, StoreError};

/// Seconds after which a paused model may be open again.
const PAUSED_RETRY_AFTER: u32 = 30;

/// What is wrong. Each dialect has one row for each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No API key was sent.
    MissingKey,
    /// The API key is unknown, inactive or expired.
    InvalidKey,
    /// The key is not scoped for the model.
    NotAllowed,
    /// The key may not be used from where the call comes.
    WrongAddress,
    /// There is no such model.
    UnknownModel,
    /// There is nothing at this path.
    NotFound,
    /// The account has no file or batch of this id.
    NoSuchObject,
    /// The file or batch is not in a state for it.
    Conflict,
    /// The path is there, for another method.
    WrongMethod,
    /// The request is at fault: malformed, too large, or refused by the back end.
    Invalid,
    /// The balance or the key's own limit does not cover the price.
    NoFunds,
    /// Too many jobs of this account.
    TooMany,
    /// Paused, full, stopping, or the back ends are out of reach.
    Unavailable,
    /// It took too long.
    Deadline,
    /// The job was canceled before it had started.
    Canceled,
    /// The prompt or the picture was blocked.
    Blocked,
    /// Our fault, or a back end gave something that is of no use.
    Internal,
}

/// A refusal, told to people in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong.
    pub kind: Kind,
    /// What was wrong this time, and what to do.
    pub message: String,
    /// The field at fault, where it is one.
    pub field: Option<String>,
    /// Seconds after which a repeat makes sense.
    pub retry_after: Option<u32>,
}

impl Refusal {
    /// A refusal with its explanation.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            field: None,
            retry_after: match kind {
                Kind::TooMany | Kind::Unavailable => Some(1),
                _ => None,
            },
        }
    }

    /// A field that is at fault. `message` goes on after its name.
    pub fn field(field: impl Into<String>, message: impl std::fmt::Display) -> Self {
        let field = field.into();
        Self {
            message: format!("{field} {message}"),
            field: Some(field),
            ..Self::new(Kind::Invalid, String::new())
        }
    }

    /// The body as a whole is at fault.
    pub fn body(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::Unauthorized => Kind::InvalidKey,
            ErrorKind::InsufficientBalance
            | ErrorKind::KeyLimitReached
            | ErrorKind::AccountLimitReached => Kind::NoFunds,
            ErrorKind::AddressNotAllowed => Kind::WrongAddress,
            ErrorKind::ModelNotAllowed | ErrorKind::Forbidden => Kind::NotAllowed,
            ErrorKind::NotFound | ErrorKind::Gone => Kind::NotFound,
            ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::IdempotencyKeyReused => {
                Kind::Invalid
            }
            ErrorKind::RateLimited => Kind::TooMany,
            ErrorKind::Internal => Kind::Internal,
            ErrorKind::DeadlineExceeded => Kind::Deadline,
            ErrorKind::Canceled => Kind::Canceled,
            ErrorKind::StorageUnavailable | ErrorKind::Paused | ErrorKind::Overloaded => {
                Kind::Unavailable
            }
        };
        // These interfaces tell one fault: the first.
        let first = error.faults.into_iter().next();
        let refusal = match first.filter(|_| error.kind == ErrorKind::Invalid) {
            Some(fault) if fault.field == ALL_INPUTS => {
                Self::body(format!("{} {}", fault.field, fault.message))
            }
            Some(fault) => Self::field(fault.field, fault.message),
            None => Self::new(kind, error.detail),
        };
        let of_kind = match error.kind {
            ErrorKind::Paused => Some(PAUSED_RETRY_AFTER),
            _ => refusal.retry_after,
        };
        Self {
            retry_after: error.retry_after.or(of_kind),
            ..refusal
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let kind = match problem.code {
            Code::Unauthorized => Kind::InvalidKey,
            Code::InsufficientBalance | Code::KeyLimitReached | Code::AccountLimitReached => {
                Kind::NoFunds
            }
            Code::AddressNotAllowed => Kind::WrongAddress,
            Code::ModelNotAllowed | Code::Forbidden | Code::InvalidSignature | Code::UrlExpired => {
                Kind::NotAllowed
            }
            Code::NotFound | Code::Gone => Kind::NotFound,
            Code::MethodNotAllowed => Kind::WrongMethod,
            Code::RequestTimeout
            | Code::Conflict
            | Code::PayloadTooLarge
            | Code::UnsupportedMediaType
            | Code::RangeNotSatisfiable
            | Code::ValidationFailed
            | Code::IdempotencyKeyReused => Kind::Invalid,
            Code::RateLimited => Kind::TooMany,
            Code::Internal => Kind::Internal,
            Code::StorageUnavailable | Code::Paused | Code::Overloaded => Kind::Unavailable,
        };
        let retry_after = problem.retry_after_seconds();
        let field = problem.errors.first().map(|fault| fault.field.clone());
        Self {
            field,
            retry_after,
            ..Self::new(kind, problem.detail)
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Error::from(error).into()
    }
}

impl From<AcceptError> for Refusal {
    fn from(error: AcceptError) -> Self {
        Error::from(error).into()
    }
}

impl From<UploadFault> for Refusal {
    /// Of the service's doing; what is the caller's is told with the name of its field.
    fn from(fault: UploadFault) -> Self {
        if let UploadFault::MemoryUnavailable(fault) = fault {
            return Error::from(fault).into();
        }
        tracing::error!(target: FAULT_TARGET, error = %fault, "an input image could not be stored");
        Self::new(
            Kind::Unavailable,
            "the input images could not be stored; try again",
        )
    }
}
