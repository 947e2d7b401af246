//! Errors of the synchronous APIs, independent of the dialect that formats them.

use crate::application::error::{Error, ErrorKind, FieldFault, IDEMPOTENCY_KEY};
use crate::inputs;
use crate::web::body::BodyFault;
use crate::web::problem::Problem;
use actix_web::{HttpResponse, ResponseError};
use tintype_storage::engine::EngineError;
use tintype_storage::json::JsonFault;
use tintype_storage::store::StoreError;

/// Each dialect maps each kind to a status and a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No API key was sent.
    MissingKey,
    /// The API key is unknown, inactive or expired.
    InvalidKey,
    /// The key is not scoped for the model.
    NotAllowed,
    /// The key does not allow the IP address of the caller.
    WrongAddress,
    /// The model does not exist.
    UnknownModel,
    /// The path does not exist.
    NotFound,
    /// The account has no file, batch or response with this id.
    NoSuchObject,
    /// The account has no response with the id of the previous one.
    NoSuchPrevious,
    /// The state of the file or batch does not allow the request.
    Conflict,
    /// The path exists, but not for this method.
    WrongMethod,
    /// The request is malformed, too large, or refused by the backend.
    Invalid,
    /// A compression for PNG.
    PngCompression,
    /// A required field is missing.
    MissingField,
    /// The idempotency key belongs to another request.
    KeyReused,
    /// The balance or a spend limit does not cover the price.
    NoFunds,
    /// A rate limit or a limit of live jobs is exceeded.
    TooMany,
    /// Paused, full, stopping, or the backends are unreachable.
    Unavailable,
    /// The deadline has passed.
    Deadline,
    /// The job was canceled before it started.
    Canceled,
    /// A safety filter blocked the prompt or the image.
    Blocked,
    /// A failure of the server, or an unusable response of a backend.
    Internal,
}

/// What the handlers return. The outermost middleware renders a refusal in the dialect of the path.
pub type CompatResult = Result<HttpResponse, Refusal>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub kind: Kind,
    /// One sentence: what is wrong and what to do.
    pub message: String,
    /// The invalid field, if there is one.
    pub field: Option<String>,
    /// Seconds after which a retry may succeed.
    pub retry_after: Option<u32>,
}

impl Refusal {
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

    /// An invalid field. `message` is a sentence without its subject.
    pub fn field(field: impl Into<String>, message: impl std::fmt::Display) -> Self {
        let field = field.into();
        Self {
            message: format!("{field} {message}"),
            field: Some(field),
            ..Self::new(Kind::Invalid, String::new())
        }
    }

    /// A required field is missing. `advice` says how to send it, and may be empty.
    pub fn missing(field: impl Into<String>, advice: &str) -> Self {
        let separator = if advice.is_empty() { "" } else { "; " };
        Self {
            kind: Kind::MissingField,
            ..Self::field(field, format_args!("is required{separator}{advice}"))
        }
    }

    /// An invalid request without an invalid field.
    pub fn body(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }
}

impl ResponseError for Refusal {
    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::new(self.status_code());
        response.extensions_mut().insert(self.clone());
        response
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
            ErrorKind::NotFound => Kind::NotFound,
            ErrorKind::Gone => Kind::NoSuchObject,
            ErrorKind::Conflict | ErrorKind::Invalid => Kind::Invalid,
            ErrorKind::IdempotencyKeyReused => Kind::KeyReused,
            ErrorKind::RateLimited => Kind::TooMany,
            ErrorKind::Internal => Kind::Internal,
            ErrorKind::DeadlineExceeded => Kind::Deadline,
            ErrorKind::Canceled => Kind::Canceled,
            ErrorKind::StorageUnavailable | ErrorKind::Paused | ErrorKind::Overloaded => {
                Kind::Unavailable
            }
        };
        // These APIs report only the first error.
        let first = error.faults.into_iter().next();
        let refusal = match first.filter(|_| error.kind == ErrorKind::Invalid) {
            // These APIs have no field for all images.
            Some(fault) if fault.field == inputs::FIELD => {
                Self::body(format!("the input images {}", fault.message))
            }
            Some(fault) => fault.into(),
            None => Self {
                field: (kind == Kind::KeyReused).then(|| IDEMPOTENCY_KEY.to_owned()),
                ..Self::new(kind, error.detail + error.advice)
            },
        };
        Self {
            retry_after: error.retry_after.or(refusal.retry_after),
            ..refusal
        }
    }
}

impl From<JsonFault> for Refusal {
    /// A body that is not JSON, or a fault of one of its members.
    fn from(fault: JsonFault) -> Self {
        match fault.path.trim_start_matches('.') {
            "" => Self::body(format!("the request body is not JSON: {}", fault.kind)),
            path => Self::field(path, fault.kind.to_string()),
        }
    }
}

impl From<FieldFault> for Refusal {
    fn from(fault: FieldFault) -> Self {
        Self::field(fault.field, fault.message)
    }
}

impl From<BodyFault> for Refusal {
    fn from(fault: BodyFault) -> Self {
        match fault {
            BodyFault::Incomplete(_) => Self::field("body", fault),
            BodyFault::TooLarge(_) | BodyFault::TimedOut(_) | BodyFault::Unsupported(_) => {
                Self::body(fault.to_string())
            }
        }
    }
}

impl From<Problem> for Refusal {
    /// The middleware refuses requests of every interface.
    fn from(problem: Problem) -> Self {
        let kind = match problem.code.status().as_u16() {
            404 => Kind::NotFound,
            503 => Kind::Unavailable,
            400..500 => Kind::Invalid,
            _ => Kind::Internal,
        };
        Self {
            retry_after: problem.retry_after,
            ..Self::new(kind, problem.detail + problem.advice)
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
