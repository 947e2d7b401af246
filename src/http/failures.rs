//! How failures of the parts below are told to callers.

use super::problem::{Code, Problem};
use crate::images::serve::FileError;
use actix_web::http::header::{CONTENT_RANGE, HeaderValue};
use tintype_storage::domain::caller::CallerRefusal;
use tintype_storage::domain::pause::Paused;
use tintype_storage::engine::EngineError;
use tintype_storage::store::{AcceptError, DepositError, StoreError};

/// The program itself is at fault, and the log has why.
pub fn fault_of_ours() -> Problem {
    let detail = "the service failed to answer this; tell its operator the request id";
    Problem::new(Code::Internal, detail)
}

/// A key has outlived its account.
pub fn account_is_gone() -> Problem {
    let detail = "the account of this API key no longer exists";
    Problem::new(Code::Unauthorized, detail)
}

/// The answer to everything once storage has failed.
pub fn stopping() -> Problem {
    let detail = "the service is stopping after a storage failure and will be back once it has been restarted";
    Problem::new(Code::Overloaded, detail).retry_after(5)
}

/// The account's actor has more to do than it can.
pub fn busy() -> Problem {
    Problem::new(
        Code::Overloaded,
        "too many calls of this account are under way; repeat it in a moment",
    )
}

/// The accounts have more to do than they can, all together.
pub fn crowded() -> Problem {
    Problem::new(
        Code::Overloaded,
        "the service has more calls under way than it can answer in time; repeat it in a moment",
    )
}

/// The actor of the deliveries has more to do than it can.
pub fn busy_delivering() -> Problem {
    Problem::new(
        Code::Overloaded,
        "too many deliveries are being added or sent again; repeat it in a moment",
    )
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Engine(error) => error.into(),
            StoreError::Damaged { .. } | StoreError::Books { .. } => {
                tracing::error!(%error, "a record is wrong");
                Problem::new(
                    Code::Internal,
                    "a record of the service is damaged; tell its operator",
                )
            }
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        tracing::error!(%error, "storage");
        stopping()
    }
}

impl From<AcceptError> for Problem {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::KeyReused => Problem::new(Code::IdempotencyKeyReused, error.to_string()),
            AcceptError::Caller(refusal) => refusal.into(),
            AcceptError::Paused(paused) => paused.into(),
            AcceptError::RateLowered => Problem::new(Code::RateLimited, error.to_string()),
            AcceptError::TooManyLive(_) => Problem::new(
                Code::RateLimited,
                format!("{error}; wait for some of them to finish"),
            )
            .retry_after(5),
            AcceptError::KeyLimit(_) => Problem::new(Code::KeyLimitReached, error.to_string()),
            AcceptError::Ledger(error) => {
                Problem::new(Code::InsufficientBalance, error.to_string())
            }
            AcceptError::Store(error) => error.into(),
        }
    }
}

impl From<CallerRefusal> for Problem {
    fn from(refusal: CallerRefusal) -> Self {
        let code = match refusal {
            CallerRefusal::Unknown | CallerRefusal::Key(_) => Code::Unauthorized,
            // Not 401: the key is a good one, and another would be refused there as well.
            CallerRefusal::Address(_) => Code::AddressNotAllowed,
            CallerRefusal::Model(_) => Code::ModelNotAllowed,
        };
        Self::new(code, refusal.to_string())
    }
}

impl From<Paused> for Problem {
    fn from(paused: Paused) -> Self {
        let detail = format!("{paused}; try again later with the same Idempotency-Key");
        Self::new(Code::Paused, detail)
    }
}

impl From<DepositError> for Problem {
    fn from(error: DepositError) -> Self {
        match error {
            DepositError::KeyReused => Problem::new(Code::IdempotencyKeyReused, error.to_string()),
            DepositError::Ledger(error) => Problem::field("amount", error.to_string()),
            DepositError::Store(error) => error.into(),
        }
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
                tracing::error!(error = %cause, "a file could not be read");
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
